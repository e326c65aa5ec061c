"""One stream job for the fault tests, its log, its Redis, and the table of what every fault did."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
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
from tests.support import closed_groups
from tests.support.closed_log import ClosedLog, MarksWatch
from tests.support.faulty import DEFINITIONS, Event, EventLog, RedisServer, Stored, recount
from tests.support.stack import ROOT, TestStack

WAIT_S = 180.0
BUNDLE = "faulty,minutes"


@dataclass
class Running:
    """The job under test and everything sent to it: taps for realtime features, visits for the tier 5m."""

    settings: Settings
    log: EventLog
    visits: ClosedLog
    marks: MarksWatch
    server: RedisServer
    job: JobHandle
    table: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def version(self, group: str) -> str:
        """Which store version the job that was started last fills."""
        record = Records(self.settings).read(self.job.name)
        assert record is not None
        return record.versions[group]

    @property
    def layout(self) -> StoreLayout:
        """Where the job writes what it makes of taps."""
        return store_layout(Registry.load(self.settings.registry).group("faulty"), self.version("faulty"))

    def send(self, taps: list[Event], partition: int | None = None) -> None:
        """Send taps, and two minutes of visits that are left open."""
        self.log.send(taps, partition)
        self.visits.minutes(2)

    def caught_up(self) -> Stored:
        """All keys of taps, once everything sent has been processed."""
        self.job.wait_lag_zero(WAIT_S)
        return self.server.stored(self.layout.key_prefix)

    def check(self, fault: str, ended: float | None = None) -> None:
        """Redis holds what a recount of the log gives: every byte, every expiry; readers get the values of closed
        minutes, and no minute was opened again. Notes the outcome of a fault.

        `ended` is when the fault was over (time.monotonic); the time until all was processed is noted.
        """
        self.visits.close()
        stored = self.caught_up()
        recovery = None if ended is None else round(time.monotonic() - ended, 1)
        expected = recount(self.layout, self.log.good)
        row = {
            "fault": fault,
            "events": len(self.log.good),
            "recovery_s": recovery,
            **difference(self.layout, expected, stored),
            "visits": len(self.visits.counted) + self.visits.sent_late,
            "wrong_closed": len(wrong := self.visits.wrong(self.server.url)),
        }
        self.table.append(row)
        assert stored == expected, row
        assert wrong == []
        self.check_marks()

    def check_marks(self) -> None:
        """All tiers are closed up to where they must be, and were never closed for less."""
        found = self.marks.of(self.version("minutes"))
        assert len(found) == 8
        assert set(found.values()) == {self.visits.closed}
        assert self.marks.wrong == []

    def check_no_failure(self) -> None:
        """The job has not failed since the last look."""
        before, self.failures = self.failures, self.job.exceptions()
        assert self.failures == before

    def progress(self, source: str = "taps") -> SourceProgress:
        """What the job has counted."""
        with OnlineStore(self.server.url) as store:
            replies = store.round_trip(read_commands(self.job.group_id, [source]))
        return parse_progress([source], replies)[source]

    def check_counts(self) -> None:
        """Exact counts by outcome, in the job's progress and in the topics of dead letters and of late visits."""
        visits = self.visits
        assert self.progress("visits").counts == {
            "accepted": len(visits.counted) + visits.sent_late,
            "heartbeat": visits.heartbeats,
        }
        assert sorted(visits.late_letters(), key=_x) == visits.late
        counts = dict(self.progress().counts)
        assert counts.pop("accepted", 0) == len(self.log.good) - self.log.late
        assert counts.pop("late", 0) == self.log.late
        assert counts.pop("heartbeat", 0) == self.log.heartbeats
        assert counts == dict(self.log.bad)
        letters = [json.loads(r.value or b"") for r in read_all(self.settings.kafka, f"{self.log.topic}.dlq")]
        places = {(letter["partition"], letter["offset"]): letter["reason"] for letter in letters}
        assert sorted(places.values()) == sorted(self.log.bad.elements())

    def restart(self, *, restore: str = "", fresh: bool = False, **tuning: Any) -> None:
        """Start the job again: from its newest checkpoint, from `restore`, or empty beside the live values."""
        if fresh:
            self.visits.forget_late()
        self.job = start_stream(self.settings, BUNDLE, Tuning(**tuning), restore=restore, fresh=fresh)
        self.failures = []


def _x(event: Event) -> int:
    return int(event["x"])


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


@pytest.fixture(scope="package")
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


@pytest.fixture(scope="package")
def running(stack: TestStack, server: RedisServer) -> Iterator[Running]:
    settings = replace(stack.need("kafka", "flink"), redis=server.url)
    for definitions in (DEFINITIONS, Path(closed_groups.__file__)):
        apply(settings.registry, definitions, store_suffix=settings.prefix.strip("_"))
    log = EventLog(settings, f"{settings.prefix}taps")
    visits = ClosedLog(settings, f"{settings.prefix}visits")
    ensure_topics(settings.kafka, [log.topic, visits.topic])
    marks = MarksWatch(server.url, settings.prefix)
    run = Running(settings, log, visits, marks, server, start_stream(settings, BUNDLE))
    marks.start()
    try:
        yield run
    finally:
        marks.stop()
        (ROOT / "build" / "faults.json").write_text(json.dumps(run.table, indent=2) + "\n")
        run.job.cancel()
