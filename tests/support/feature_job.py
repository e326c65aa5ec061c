"""The conformance cases through Kafka, Flink and Redis: every read has keys of its own, with the events before it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from featuredsl.finalize import FeatureValue
from featuredsl.online.store import OnlineStore
from featuredsl.reader import FeatureReader, Registry
from featuredsl.registry import apply
from featuredsl.settings import Settings
from jobs.kafka import producer
from tests.conformance import array_groups, cases
from tests.conformance.cases import CASES, Case, us
from tests.conformance.cases_arrays import GROUP_CASES

STREAMED = [case for case in CASES if all(f.freshness == "realtime" for f in case.group.features)]
ARRAYS = [case for case in GROUP_CASES if all(f.freshness == "realtime" for f in case.group.features)]
DEFINITIONS = (Path(cases.__file__), Path(array_groups.__file__))


def tagged(parts: tuple[Any, ...], tag: str) -> tuple[Any, ...]:
    """The key of one read: its first part gets a tag."""
    return (f"{tag}:{parts[0]}", *parts[1:])


def records(case: Case, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """(topic, event) of every read of a case: the events before the read, under the read's own keys."""
    for read, (_, seconds, _) in enumerate(case.reads):
        for source, rows in case.events.items():
            for at, columns in rows:
                if us(at) < us(seconds):
                    event = columns | {"ts": us(at)}
                    if event["u"] is not None:
                        event["u"] = f"c{number}r{read}:{event['u']}"
                    yield source, event


def publish(settings: Settings, cases: Sequence[Case] = STREAMED) -> dict[str, int]:
    """Send every event, and one broken line per topic; returns how many good events each topic got."""
    sent: dict[str, int] = {}
    out = producer(settings.require("kafka"))
    for number, case in enumerate(cases):
        for topic, event in records(case, number):
            out.produce(settings.prefix + topic, json.dumps(event).encode())
            sent[topic] = sent.get(topic, 0) + 1
    for topic in sent:
        out.produce(settings.prefix + topic, b'{"u": "broken", "ts": ')
    out.flush(30)
    return sent


def expected_and_found(
    settings: Settings, registry: Registry, cases: Sequence[Case] = STREAMED
) -> Iterator[tuple[str, Any, FeatureValue]]:
    """(what, expected value, value read) of every feature of every read."""
    with OnlineStore(settings.require("redis"), namespace=settings.prefix) as store:
        reader = FeatureReader(store, registry)
        for number, case in enumerate(cases):
            for read, (parts, seconds, values) in enumerate(case.reads):
                key = tagged(parts, f"c{number}r{read}")
                row = reader.get([(case.group.name, key)], us(seconds))[0]
                for name, value in values.items():
                    yield f"{case.name}: {name} of {parts} at {seconds}", value, row[name]


def apply_cases(settings: Settings) -> Registry:
    """Make the groups of the streamed cases current."""
    for file in DEFINITIONS:
        apply(settings.registry, file, store_suffix="it")
    return Registry.load(settings.registry)
