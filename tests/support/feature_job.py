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
from tests.conformance import array_groups, cases, wide_groups
from tests.conformance.cases import CASES, Case, us
from tests.conformance.cases_arrays import GROUP_CASES
from tests.conformance.cases_wide import WIDE_CASES

STREAMED = [case for case in CASES if all(f.freshness == "realtime" for f in case.group.features)]
ARRAYS = [case for case in GROUP_CASES if all(f.freshness == "realtime" for f in case.group.features)]
WIDE = list(WIDE_CASES)
DEFINITIONS = (Path(cases.__file__), Path(array_groups.__file__), Path(wide_groups.__file__))


def tagged(parts: tuple[Any, ...], tag: str, read: int) -> tuple[Any, ...]:
    """The key of one read: its first part gets a tag, an integer goes down by a thousand for each read."""
    first = parts[0] - 1000 * read if isinstance(parts[0], int) else f"{tag}r{read}:{parts[0]}"
    return (first, *parts[1:])


def records(case: Case, tag: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(topic, event) of every read of a case: the events before the read, under the read's own keys."""
    name = case.group.entity[0][0]
    for read, (_, seconds, _) in enumerate(case.reads):
        for source, rows in case.events.items():
            for at, columns in rows:
                if us(at) < us(seconds):
                    event = columns | {"ts": us(at)}
                    if event[name] is not None:
                        (event[name],) = tagged((event[name],), tag, read)
                    yield source, event


def publish(settings: Settings, cases: Sequence[Case] = STREAMED, tag: str = "c") -> dict[str, int]:
    """Send every event, and one broken line per topic; returns how many good events each topic got.

    Cases that share topics are told apart by their tag.
    """
    sent: dict[str, int] = {}
    out = producer(settings.require("kafka"))
    for number, case in enumerate(cases):
        for topic, event in records(case, f"{tag}{number}"):
            out.produce(settings.prefix + topic, json.dumps(event).encode())
            sent[topic] = sent.get(topic, 0) + 1
    for topic in sent:
        out.produce(settings.prefix + topic, b'{"u": "broken", "ts": ')
    out.flush(30)
    return sent


def publish_in_order(settings: Settings, cases: Sequence[Case], tag: str) -> None:
    """Send every event of the cases by time, to one partition: none is late."""
    found = [record for number, case in enumerate(cases) for record in records(case, f"{tag}{number}")]
    out = producer(settings.require("kafka"))
    for topic, event in sorted(found, key=lambda record: int(record[1]["ts"])):
        out.produce(settings.prefix + topic, json.dumps(event).encode(), partition=0)
    out.flush(30)


def expected_and_found(
    settings: Settings, registry: Registry, cases: Sequence[Case] = STREAMED, tag: str = "c"
) -> Iterator[tuple[str, Any, FeatureValue]]:
    """(what, expected value, value read) of every streamed feature of every read by a whole key."""
    with OnlineStore(settings.require("redis"), namespace=settings.prefix) as store:
        reader = FeatureReader(store, registry)
        for number, case in enumerate(cases):
            streamed = {feature.name for feature in case.group.features if feature.freshness == "realtime"}
            for read, (parts, seconds, values) in enumerate(case.reads):
                if None in parts:
                    continue
                key = tagged(parts, f"{tag}{number}", read)
                row = reader.get([(case.group.name, key)], us(seconds))[0]
                for name in values.keys() & streamed:
                    yield f"{case.name}: {name} of {parts} at {seconds}", values[name], row[name]


def apply_cases(settings: Settings) -> Registry:
    """Make the groups of the streamed cases current."""
    for file in DEFINITIONS:
        apply(settings.registry, file, store_suffix="it")
    return Registry.load(settings.registry)
