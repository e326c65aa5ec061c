"""One stream job for the fault tests, its log, its Redis, and the table of what every fault did."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from featuredsl.online.codec import decode_ring
from featuredsl.online.layout import StoreLayout
from featuredsl.online.progress import SourceProgress, parse_progress, read_commands
from featuredsl.online.store import OnlineStore
from featuredsl.registry import Registry, apply
from featuredsl.settings import Settings
from featuredsl.tiles import store_layout
from jobs.flink.handle import JobHandle
from jobs.flink.records import Records
from jobs.flink.stream import start_stream
from jobs.flink.tuning import Tuning
from jobs.kafka import ensure_topics, read_all
from tests.support.faulty import DEFINITIONS, EventLog, RedisServer, Stored, recount
from tests.support.stack import ROOT, TestStack

WAIT_S = 180.0


@dataclass
class Running:
    """The job under test and everything sent to it."""

    settings: Settings
    log: EventLog
    server: RedisServer
    job: JobHandle
    table: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def layout(self) -> StoreLayout:
        """Where the job that was started last writes."""
        record = Records(self.settings).read(self.job.name)
        assert record is not None
        plan = Registry.load(self.settings.registry).group("faulty")
        return store_layout(plan, record.versions["faulty"])

    def caught_up(self) -> Stored:
        """All of the group's keys, once everything sent has been processed."""
        self.job.wait_lag_zero(WAIT_S)
        return self.server.stored(self.layout.key_prefix)

    def check(self, fault: str, ended: float | None = None) -> None:
        """Redis holds what a recount of the log gives: every byte, every expiry. Notes the outcome of a fault.

        `ended` is when the fault was over (time.monotonic); the time until all was processed is noted.
        """
        stored = self.caught_up()
        recovery = None if ended is None else round(time.monotonic() - ended, 1)
        expected = recount(self.layout, self.log.good)
        row = {
            "fault": fault,
            "events": len(self.log.good),
            "recovery_s": recovery,
            **difference(self.layout, expected, stored),
        }
        self.table.append(row)
        assert stored == expected, row

    def check_no_failure(self) -> None:
        """The job has not failed since the last look."""
        before, self.failures = self.failures, self.job.exceptions()
        assert self.failures == before

    def progress(self) -> SourceProgress:
        """What the job has counted."""
        with OnlineStore(self.server.url) as store:
            replies = store.round_trip(read_commands(self.job.group_id, ["taps"]))
        return parse_progress(["taps"], replies)["taps"]

    def check_counts(self) -> None:
        """Exact counts by outcome, in the job's progress and in the dead-letter topic."""
        counts = dict(self.progress().counts)
        assert counts.pop("accepted", 0) == len(self.log.good)
        assert counts.pop("heartbeat", 0) == self.log.heartbeats
        assert counts == dict(self.log.bad)
        letters = [json.loads(r.value or b"") for r in read_all(self.settings.kafka, f"{self.log.topic}.dlq")]
        places = {(letter["partition"], letter["offset"]): letter["reason"] for letter in letters}
        assert sorted(places.values()) == sorted(self.log.bad.elements())

    def restart(self, *, restore: str = "", parallelism: int = 1, fresh: bool = False) -> None:
        """Start the job again: from its newest checkpoint, from `restore`, or empty beside the live values."""
        tuning = Tuning(parallelism=parallelism)
        self.job = start_stream(self.settings, "faulty", tuning, restore=restore, fresh=fresh)
        self.failures = []


def difference(layout: StoreLayout, expected: Stored, stored: Stored) -> dict[str, int]:
    """Events lost and counted twice by tile, and keys whose bytes or expiry differ otherwise."""
    lost = twice = 0
    for key in {*expected, *stored}:
        if key.endswith(b":R"):
            wanted, found = (_rows(layout, side.get(key)) for side in (expected, stored))
            for tile in {*wanted, *found}:
                gap = wanted.get(tile, 0) - found.get(tile, 0)
                lost, twice = lost + max(gap, 0), twice + max(-gap, 0)
    wrong = sum(expected.get(key) != stored.get(key) for key in {*expected, *stored})
    return {"lost": lost, "duplicated": twice, "wrong_keys": wrong}


def _rows(layout: StoreLayout, value: tuple[object, int] | None) -> dict[int, int]:
    data = value[0] if value is not None and isinstance(value[0], bytes) else None
    return {tile.index: tile.rows for tile in decode_ring(layout, data)["taps/30s"]} if data else {}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """The Redis of the job, which the tests may kill."""
    made = RedisServer(tmp_path_factory.mktemp("redis"))
    made.start()
    try:
        yield made
    finally:
        if made.process is not None:
            made.process.kill()
            made.process.wait()


@pytest.fixture(scope="module")
def running(stack: TestStack, server: RedisServer) -> Iterator[Running]:
    settings = replace(stack.need("kafka", "flink"), redis=server.url)
    versions = apply(settings.registry, DEFINITIONS, store_suffix=settings.prefix.strip("_"))
    assert set(versions) == {"faulty"}
    log = EventLog(settings, f"{settings.prefix}taps")
    ensure_topics(settings.kafka, [log.topic])
    run = Running(settings, log, server, start_stream(settings, "faulty"))
    try:
        yield run
    finally:
        (ROOT / "build" / "faults.json").write_text(json.dumps(run.table, indent=2) + "\n")
        run.job.cancel()
