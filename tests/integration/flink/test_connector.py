"""Our Flink connector in a real job: strict JSON to dead letters, tiles and latest values to Redis, through its faults.

The tests of this module share one job and run in their order: each sends more events and compares all of Redis with a
recount of everything sent so far.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jobs.flink.handle import JobHandle
from jobs.flink.submit import submit
from jobs.kafka import ensure_topics, producer, read_all
from tests.support.connector_job import LAYOUT, START_MS, ConnectorJob, random_events, recount, wire
from tests.support.redis_process import RedisProcess, redis_process
from tests.support.stack import TestStack

JOB = "jobs.flink.sql_job"
RECORDS = Path(__file__).parents[2] / "golden" / "records"
WAIT_S = 240.0


@dataclass
class Running:
    """The job, its Redis, and all events sent to it."""

    where: ConnectorJob
    server: RedisProcess
    job: JobHandle
    rng: random.Random = field(default_factory=lambda: random.Random(11))
    sent: list[dict[str, Any]] = field(default_factory=list)

    def send(self, payloads: list[bytes | None]) -> None:
        out = producer(self.where.settings.kafka)
        for number, payload in enumerate(payloads):
            out.produce(self.where.topic, payload, partition=number % 2)
        out.flush(30)

    def send_events(self, count: int) -> None:
        events = random_events(self.rng, count)
        self.sent += events
        self.send([wire(event) for event in events])

    def caught_up(self) -> dict[bytes, object]:
        self.job.wait_lag_zero(WAIT_S)
        return self.server.dump()


@pytest.fixture(scope="module")
def running(stack: TestStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = stack.need("kafka", "flink")
    with redis_process(tmp_path_factory.mktemp("redis")) as server:
        where = ConnectorJob(settings, server.url, "first")
        ensure_topics(settings.kafka, [where.topic, f"{where.topic}.dlq"])
        job = submit(JOB, where.config, settings)
        try:
            yield Running(where, server, job)
        finally:
            job.cancel()


def bad_records() -> list[tuple[bytes | None, str]]:
    cases = [c for name in ("bad_json", "bad_columns") for c in json.loads((RECORDS / f"{name}.json").read_text())]
    return [(None if c["payload"] is None else bytes.fromhex(c["payload"]), c["reason"]) for c in cases]


def test_bad_records_are_dead_letters_and_neighbours_are_counted(running: Running) -> None:
    bad = [*bad_records(), (b'"' + b"x" * (1 << 20) + b'"', "too_large")]
    heartbeat = json.dumps({"heartbeat": True, "ts": START_MS + 10_000_000}).encode()
    good = random_events(running.rng, 2 * len(bad))
    running.sent += good
    mixed: list[bytes | None] = []
    for number, (payload, _) in enumerate(bad):
        mixed += [wire(good[2 * number]), payload, heartbeat, wire(good[2 * number + 1])]
    running.send([*mixed, *(wire(event) for event in good[2 * len(bad) :])])
    running.job.wait_running(WAIT_S)
    assert running.caught_up() == recount(running.sent)

    letters = [json.loads(r.value or b"") for r in read_all(running.where.settings.kafka, f"{running.where.topic}.dlq")]
    places = {(letter["partition"], letter["offset"]) for letter in letters}
    assert len(letters) == len(places) == len(bad)
    assert sorted(letter["reason"] for letter in letters) == sorted(reason for _, reason in bad)
    by_hash = {hashlib.sha256(payload).hexdigest(): (payload, reason) for payload, reason in bad if payload is not None}
    for letter in letters:
        assert letter["detail"]
        if letter["reason"] == "null_value":
            assert letter["payload"] is letter["sha256"] is None
            continue
        payload, reason = by_hash[letter["sha256"]]
        assert letter["reason"] == reason
        kept = base64.b64decode(letter["payload"])
        assert kept == payload[: len(kept)]
        assert len(kept) == min(len(payload), 700 * 1024)


def test_more_events_out_of_order_and_twice(running: Running) -> None:
    running.send_events(3000)
    assert running.caught_up() == recount(running.sent)


def test_script_flush(running: Running) -> None:
    running.server.client.script_flush()
    running.send_events(500)
    assert running.caught_up() == recount(running.sent)
    assert running.job.exceptions() == []


def test_frozen_server(running: Running) -> None:
    running.server.freeze()
    thaw = threading.Timer(3.0, running.server.thaw)
    thaw.start()
    running.send_events(1000)
    thaw.join()
    assert running.caught_up() == recount(running.sent)
    assert running.job.exceptions() == []


def test_a_key_of_another_type_is_skipped(running: Running) -> None:
    keys = [LAYOUT.key(("é", 0), "R"), LAYOUT.key(("é", 1), "X")]
    running.server.client.delete(*keys)
    for key in keys:
        running.server.client.sadd(key, "mine")
    running.send_events(500)
    expected = recount(running.sent)
    running.job.wait_lag_zero(WAIT_S)
    for key in keys:
        assert running.server.client.smembers(key) == {b"mine"}
        del expected[key.encode()]
        running.server.client.delete(key)
    assert running.server.dump() == expected
    assert running.job.exceptions() == []


def test_an_emptied_server_gets_back_the_tiles_that_change(running: Running) -> None:
    running.server.client.flushall()
    again = [event for event in running.sent if event["u"] == "é"]
    running.sent += again
    running.send([wire(event) for event in again])
    tiles = {key: value for key, value in recount(running.sent).items() if "é".encode() in key}
    for key, value in tiles.items():
        if isinstance(value, dict):
            tiles[key] = {field: state for field, state in value.items() if field.startswith(b"t:")}
    assert running.caught_up() == tiles


def test_a_start_without_state_from_the_first_offset_gives_the_same_bytes(running: Running) -> None:
    running.job.cancel()
    expected = recount(running.sent)
    second = ConnectorJob(running.where.settings, running.server.url, "second")
    job = submit(JOB, second.config, second.settings)
    try:
        job.wait_running(WAIT_S)
        job.wait_lag_zero(WAIT_S)
        assert running.server.dump() == expected
        assert job.exceptions() == []
    finally:
        job.cancel()
