"""The feature job from the built wheel on a session cluster: Kafka to Redis, read back with statuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner

from featuredsl.cli.reading import explain_read, get
from featuredsl.generations import base_of
from featuredsl.online.store import OnlineStore
from featuredsl.reader import Registry
from featuredsl.settings import Settings
from featuredsl.times import format_time
from jobs.flink.handle import JobHandle
from jobs.flink.stream import start_stream
from jobs.kafka import read_all
from tests.conformance.cases import us
from tests.support.feature_job import ARRAYS, STREAMED, WIDE, apply_cases, expected_and_found, publish
from tests.support.stack import TestStack
from tests.support.wide_cases import same


@dataclass(frozen=True)
class Running:
    """A feature job that has seen the events of all cases."""

    settings: Settings
    registry: Registry
    sent: dict[str, int]
    handle: JobHandle


@pytest.fixture(scope="module")
def running(stack: TestStack) -> Iterator[Running]:
    settings = stack.need("kafka", "redis", "flink")
    registry = apply_cases(settings)
    handle = start_stream(settings, ",".join(dict.fromkeys(case.group.name for case in (*STREAMED, *WIDE))))
    try:
        sent = publish(settings)
        publish(settings, WIDE, "w")
        handle.wait_lag_zero()
        yield Running(settings, registry, sent, handle)
    finally:
        handle.cancel()


def test_every_case_reads_back_its_values(running: Running) -> None:
    found = list(expected_and_found(running.settings, running.registry))
    wrong = [(what, expected, value) for what, expected, value in found if value.value != expected]
    assert len(found) > 50
    assert wrong == []


def test_states_of_variable_width_read_back_their_values(running: Running) -> None:
    found = list(expected_and_found(running.settings, running.registry, WIDE, "w"))
    wrong = [(what, expected, value) for what, expected, value in found if not same(value.value, expected)]
    assert len(found) > 70
    assert wrong == []


def test_arrays_read_back_their_values(running: Running) -> None:
    handle = start_stream(running.settings, ",".join(dict.fromkeys(case.group.name for case in ARRAYS)))
    try:
        publish(running.settings, ARRAYS)
        handle.wait_lag_zero()
    finally:
        handle.cancel()
    found = list(expected_and_found(running.settings, running.registry, ARRAYS))
    wrong = [(what, expected, value) for what, expected, value in found if value.value != expected]
    assert len(found) > 50
    assert wrong == []


def test_statuses(running: Running) -> None:
    statuses = {value.status for _, _, value in expected_and_found(running.settings, running.registry)}
    assert {"OK", "NULL", "NOT_FOUND", "EXPIRED"} <= statuses


def test_broken_and_keyless_events_are_dead_letters(running: Running) -> None:
    reasons: dict[str, list[str]] = {}
    for topic in running.sent:
        records = read_all(running.settings.kafka, f"{running.settings.prefix}{topic}.dlq")
        letters = [json.loads(record.value or b"{}") for record in records]
        reasons[topic] = sorted(letter["reason"] for letter in letters)
        assert all(letter["payload"] and len(letter["sha256"]) == 64 for letter in letters)
    assert reasons["events"] == ["bad_json", "bad_json"]
    assert reasons["pairs"].count("bad_json") == 2
    assert set(reasons["pairs"]) == {"bad_json", "null_entity"}


def test_get_prints_the_contract(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("home", "registry", "prefix", "redis"):
        monkeypatch.setenv(f"FEATUREDSL_{name.upper()}", str(getattr(running.settings, name)))
    at = format_time(us(1200))
    reply = CliRunner().invoke(get, ["basic", "c0r0:a", "nobody", "--at", at, "--json"], catch_exceptions=False)
    data = json.loads(reply.output)
    assert data["group"] == "basic"
    assert data["rows"][0]["key"] == ["c0r0:a"]
    assert data["rows"][0]["features"]["total"] == {
        "value": 7,
        "status": "OK",
        "as_of": at,
        "event_time": format_time(us(960)),
    }
    assert data["rows"][1]["features"]["n"]["value"] == 0
    assert data["rows"][1]["features"]["n"]["status"] == "NOT_FOUND"
    why = CliRunner().invoke(explain_read, ["basic", "c0r0:a", "--at", at], catch_exceptions=False)
    assert "events in [2026-01-01T00:10:00.000000Z, 2026-01-01T00:20:00.000000Z)" in why.output


@pytest.mark.slow
def test_reading_the_topics_again_fills_the_same_bytes(running: Running) -> None:
    """A start without state never writes into what readers follow: it fills a store version of its own."""
    settings = running.settings

    def stored() -> tuple[dict[str, str], tuple[Any, ...]]:
        with OnlineStore(settings.redis, namespace=settings.prefix) as store:
            live = store.current(["basic", "lists"])
            ring, states = f"basic@{live['basic']}:{{c0r0:a}}:R", f"lists@{live['lists']}:{{w2r0:a}}:X"
            value, fields, *expiry = store.round_trip(
                [("GET", ring), ("HGETALL", states), ("PEXPIRETIME", ring), ("PEXPIRETIME", states)]
            )
            return live, (value, sorted(fields), *expiry)

    before = stored()
    assert before[1][0]
    assert len(before[1][1]) == 6  # three tiles: field, value
    start_stream(settings, "basic,lists").cancel()
    after = stored()
    for group, version in after[0].items():
        assert version != before[0][group] == base_of(version)
    assert after[1] == before[1]
