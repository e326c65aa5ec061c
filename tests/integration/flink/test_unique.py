"""Sources whose duplicates are dropped, on a session cluster: Kafka to Redis, read back, through a restart.

The tests share one job and run in their order. Values are those of hand-computed cases, or of a loop over the records.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from featuredsl.finalize import FeatureValue
from featuredsl.online.progress import SourceProgress, parse_progress, read_commands
from featuredsl.online.store import OnlineStore
from featuredsl.reader import FeatureReader, Registry
from featuredsl.registry import apply
from featuredsl.settings import Settings
from featuredsl.times import MINUTE, SECOND
from jobs.flink.handle import JobHandle
from jobs.flink.stream import start_stream
from jobs.flink.tuning import Tuning
from jobs.kafka import producer, read_all
from tests.conformance.cases import Case, Row, plan_of, us
from tests.conformance.cases_sources import CASES
from tests.support import source_oracle, unique_groups
from tests.support.feature_job import tagged
from tests.support.source_oracle import Record, Stream
from tests.support.stack import TestStack

pytestmark = pytest.mark.timeout(600)

START = 1_767_261_600_000_000  # 2026-01-01T10:00:00Z
COPIES = Stream(("u", "id", "x"), sequence="n", unique=("id",), within=2 * MINUTE)
RESENDS = Stream(("u", "id", "x"), arrival=True, unique=("id", "u"), within=2 * MINUTE)
GROUPS = "copied,daily_unique,exact_times,resend,sent_again,spaced,visited"


STREAMED = {
    "unique": plan_of(unique_groups.DailyUnique),
    "exact_times": plan_of(unique_groups.ExactTimes),
    "spaced": plan_of(unique_groups.Spaced),
    "resend": plan_of(unique_groups.Resend),
}


def streamed_cases() -> Iterator[Case]:
    """The cases of duplicates; where one's keys would be kept for ever, they are kept for a day."""
    for case in CASES:
        if case.group.name in STREAMED:
            events = {source.replace("once", "once_a_day"): rows for source, rows in case.events.items()}
            yield replace(case, group=STREAMED[case.group.name], events=events)


@dataclass
class Running:
    """The job, and how many records each topic got."""

    settings: Settings
    registry: Registry
    job: JobHandle
    sent: dict[str, int]

    def send(self, topic: str, *by_partition: list[Record], timestamp_ms: int = 0) -> None:
        """Send to the partitions, by default as records of now, and do not wait."""
        out, to = producer(self.settings.require("kafka")), self.settings.prefix + topic
        for partition, records in enumerate(by_partition):
            for record in records:
                out.produce(to, json.dumps(record).encode(), partition=partition, timestamp=timestamp_ms)
            self.sent[topic] = self.sent.get(topic, 0) + len(records)
        out.flush(30)

    def read(self, group: str, u: str, t: int) -> dict[str, FeatureValue]:
        with OnlineStore(self.settings.redis, namespace=self.settings.prefix) as store:
            return FeatureReader(store, self.registry).get([(group, (u,))], t)[0]

    def progress(self, source: str) -> SourceProgress:
        with OnlineStore(self.settings.redis, namespace=self.settings.prefix) as store:
            replies = store.replies(read_commands(self.job.group_id, [source]))
        return parse_progress([source], replies)[source]


@pytest.fixture(scope="module")
def running(stack: TestStack) -> Iterator[Running]:
    settings = stack.need("kafka", "redis", "flink")
    apply(settings.registry, Path(unique_groups.__file__), store_suffix="it")
    tuning = Tuning(parallelism=2, checkpoint_interval_ms=60_000)
    made = Running(settings, Registry.load(settings.registry), start_stream(settings, GROUPS, tuning), {})
    try:
        yield made
    finally:
        made.job.cancel()


def record_of(row: Row, tag: str, read: int) -> Record:
    """A record of a case, under keys of the read's own."""
    at, columns = row
    made: Record = {name: value for name, value in columns.items() if name != "arrival"} | {"ts": us(at)}
    if "arrival" in columns:
        made["at"] = us(columns["arrival"])
    for name in ("u", "id"):
        if made.get(name) is not None:
            (made[name],) = tagged((made[name],), tag, read)
    return made


def order(record: Record) -> tuple[Any, ...]:
    """Records as they would come: by arrival, time, sequence and row."""
    row = [(record.get(name) is not None, record.get(name) or 0) for name in ("n", "x")]
    return (record.get("at", 0), record["ts"], *row)


def send_at_the_edge(running: Running) -> None:
    """The window of 6 h is read in tiles of 1 h, so at most 7 h back from the record's time, a millisecond: three of
    five events are not late, two are, and one of these comes twice."""
    sent_ms = START // 1000 + 7
    at = sent_ms * 1000 - 7 * 60 * MINUTE
    rows = [("b1", at), ("b2", at - 1), ("b2", at - 1), ("b3", at + 1), ("b4", at - 999), ("b5", at + 999)]
    running.send("within", [{"ts": ts, "u": "edge", "id": i, "x": 1} for i, ts in rows], timestamp_ms=sent_ms)


def test_the_cases_of_duplicates_read_back_their_values(running: Running) -> None:
    cases = list(streamed_cases())
    assert len(cases) == 5
    reads: list[tuple[str, str, int, dict[str, Any]]] = []
    for number, case in enumerate(cases):
        ((source, rows),) = case.events.items()
        for read, ((u, *_), seconds, values) in enumerate(case.reads):
            records = [record_of(row, f"q{number}", read) for row in rows]
            asked = us(seconds)
            known = [r for r in records if r["ts"] < asked and r.get("at", asked) <= asked]
            running.send(source, sorted(known, key=order))
            reads.append((case.group.name, tagged((u,), f"q{number}", read)[0], asked, values))
    send_at_the_edge(running)
    running.job.wait_lag_zero()
    found = [(*read, {name: running.read(*read[:3])[name].value for name in read[3]}) for read in reads]
    assert len(found) == 18
    assert [row for row in found if row[3] != row[4]] == []


def test_duplicates_are_counted_and_are_no_dead_letters(running: Running) -> None:
    """The four reads of the case `within` have 3, 5, 7 and 10 of its records: of today, with old events."""
    progress = running.progress("within")
    assert progress.counts == {"accepted": 3, "late": 1 + 2 + 3 + 6 + 2, "duplicate": 2 + 3 + 4 + 4 + 1}
    found = running.read("spaced", "edge", START - 60 * MINUTE)
    assert found["n"].value == 5, "late events are in their tiles all the same"
    assert sum(progress.counts.values()) == running.sent["within"]
    for source in ("exact", "once_a_day", "resent"):
        assert sum(running.progress(source).counts.values()) == running.sent[source]
    assert list(read_all(running.settings.require("kafka"), f"{running.settings.prefix}within.dlq")) == []


def closing(end: int) -> Record:
    return {"ts": START + end + 30 * SECOND, "heartbeat": True}


def test_closed_minutes_hold_the_first_by_time_whatever_came_first(running: Running) -> None:
    rng = random.Random(7)
    times = rng.choices(range(0, 20 * MINUTE, SECOND // 2), k=900)
    records: list[Record] = [
        {
            "ts": START + t,
            "u": rng.choice(["a", "b", None]),
            "id": rng.choice([None, *(f"i{i}" for i in range(25))]),
            "x": rng.randrange(-99, 99),
            "n": rng.choice([None, 1, 2]),
        }
        for t in times
    ]
    parts: tuple[list[Record], list[Record]] = ([], [])
    for record in sorted(records, key=lambda record: record["ts"] + rng.randrange(29 * SECOND)):
        parts[rng.randrange(2)].append(record)
    end = 20 * MINUTE
    running.send("copies", [*parts[0], closing(end)], [*parts[1], closing(end)])
    running.job.wait_lag_zero()
    check_closed(running, records, end)
    counts = running.progress("copies").counts
    assert counts["heartbeat"] == 2
    assert counts["duplicate_earlier"] > 0
    assert counts["null_entity"] == sum(r["u"] is None for r in records)
    assert sum(counts.values()) == running.sent["copies"]


def check_closed(running: Running, records: list[Record], end: int) -> None:
    """What readers get at the close of a minute is what a loop over all records keeps."""
    kept = COPIES.events([record for record in records if record["u"] is not None])
    t = START + end + 30 * SECOND
    for u in ("a", "b"):
        mine = [r for r in source_oracle.known(COPIES, kept, t, "5m") if r["u"] == u]
        hour = source_oracle.window(mine, t, "5m", 60 * MINUTE, 5 * MINUTE)
        last = source_oracle.latest(COPIES, mine, t, "5m", 60 * MINUTE)
        found = running.read("copied", u, t)
        expected = (len(hour), sum(r["x"] for r in hour), last and last["x"], "OK")
        assert (*(found[name].value for name in ("n", "total", "last")), found["n"].status) == expected


def test_closed_minutes_of_arrivals(running: Running) -> None:
    rng = random.Random(8)
    records = []
    for at in sorted(rng.choices(range(20 * MINUTE), k=400)):
        ts = START + max(at - rng.randrange(25 * SECOND), 0)
        ident = rng.choice([None, *(f"i{i}" for i in range(9))])
        records.append({"ts": ts, "at": START + at, "u": rng.choice("ab"), "id": ident, "x": rng.randrange(99)})
    running.send("resends", [*records, closing(20 * MINUTE) | {"at": START}], [closing(20 * MINUTE) | {"at": START}])
    running.job.wait_lag_zero()
    kept = RESENDS.events([record | {"arrival": record["at"]} for record in records])
    for u in "ab":
        mine = [record["x"] for record in kept if record["u"] == u]
        found = running.read("sent_again", u, START + 20 * MINUTE + 30 * SECOND)
        assert (found["arrived"].value, found["arrived_total"].value) == (len(mine), sum(mine))
    assert 100 < len(kept) < 300


def test_realtime_sessions_do_not_wait_for_the_watermark(running: Running) -> None:
    """Event time stands still before the first event, and a quiet partition has none."""
    rows = [("a", 0, 1), ("a", 5, 2), ("b", 20, 4), ("b", 19, 8), (None, 3, 16), (None, 3, 16)]
    records: list[Record] = [{"ts": START + ts * SECOND, "u": "s", "id": i, "x": x, "n": 1} for i, ts, x in rows]
    running.send("pages", records)
    running.job.wait_lag_zero()
    before, found = (running.read("visited", "s", START + 80 * SECOND - ago) for ago in (1, 0))
    assert [before[name].value for name in ("n", "total")] == [0, None]
    assert [(found[name].value, found[name].status) for name in ("n", "total")] == [(4, "OK"), (37, "OK")]
    running.send("pages", [closing(2 * MINUTE)], [closing(2 * MINUTE)])
    running.job.wait_lag_zero()
    closed = running.read("visited", "s", START + 2 * MINUTE + 30 * SECOND)
    assert [closed[name].value for name in ("n", "total", "closed_total")] == [4, 37, 41]


@pytest.mark.slow
def test_copies_before_and_after_a_restart_are_one_event(running: Running) -> None:
    """The first lies in the state of both functions: remembered by one, waiting in the other."""
    at, end = START + 25 * MINUTE, 26 * MINUTE
    first = {"ts": at + 5 * SECOND, "u": "r", "id": "r1", "x": 1, "n": 1}
    running.send("copies", [first])
    running.job.wait_lag_zero()
    running.job.checkpoint()
    before = dict(running.progress("copies").counts)
    running.job.cancel()
    running.job = start_stream(running.settings, GROUPS, Tuning(parallelism=1))
    again = [
        {**first, "ts": at + 9 * SECOND, "x": 2},
        {**first, "x": 1},
        {**first, "ts": at + 4 * SECOND, "x": 4},
        {**first, "id": "r2", "x": 8},
    ]
    running.send("copies", [*again, closing(end)], [closing(end)])
    running.job.wait_lag_zero()
    found = running.read("copied", "r", START + end + 30 * SECOND)
    assert (found["live"].value, found["n"].value, found["total"].value) == (2, 2, 12)
    after = running.progress("copies").counts
    grown = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    assert grown == {"late": 1, "duplicate": 2, "duplicate_earlier": 1, "heartbeat": 2}
    assert sum(after.values()) == running.sent["copies"]
    assert running.job.exceptions() == []
