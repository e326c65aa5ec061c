"""The near-real-time tier on a session cluster: Kafka to Redis at the close of each minute, read back with statuses.

The tests share one job and run in their order. What they expect is counted from the events that were in time.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from featuredsl.cli.reading import explain_read
from featuredsl.finalize import FeatureValue
from featuredsl.online.store import OnlineStore
from featuredsl.reader import FeatureReader, Registry
from featuredsl.registry import apply
from featuredsl.session_tiers import session_features
from featuredsl.settings import Settings
from featuredsl.times import MINUTE, SECOND, format_time
from jobs.flink.handle import JobHandle
from jobs.flink.stream import start_stream
from jobs.flink.tuning import Tuning
from jobs.kafka import producer, read_all
from tests.conformance import session_groups
from tests.conformance.cases_wide_sessions import WIDE_SESSION_CASES
from tests.conformance.cases_windows import WINDOW_CASES, streamed_part
from tests.support import closed_groups
from tests.support.closed_oracle import (
    CLOSED,
    GAP,
    START,
    Event,
    expected,
    heartbeat,
    live,
    random_visits,
    rows_of,
    runs,
    visit,
)
from tests.support.feature_job import expected_and_found, publish_in_order
from tests.support.stack import TestStack
from tests.support.wide_cases import same

GROUP, TOPIC = "minutes", "visits"
CASES = [case for case in (*WINDOW_CASES, *WIDE_SESSION_CASES) if list(session_features(case.group))]
SESSIONS = [case for case in CASES if streamed_part(case).group == case.group]
BUNDLE = ",".join(dict.fromkeys([GROUP, *(case.group.name for case in SESSIONS)]))


@dataclass
class Running:
    """The job, and the events that it has counted."""

    settings: Settings
    registry: Registry
    job: JobHandle
    counted: list[Event] = field(default_factory=list)

    def send(self, *by_partition: list[Event]) -> None:
        """Send to the partitions, then wait until all that follows is published."""
        out = producer(self.settings.require("kafka"))
        for partition, events in enumerate(by_partition):
            for event in events:
                out.produce(self.settings.prefix + TOPIC, json.dumps(event).encode(), partition=partition)
        out.flush(30)
        self.job.wait_lag_zero()

    def marks(self) -> set[int]:
        """Up to when the tiers are closed, relative to the start."""
        with OnlineStore(self.settings.redis, namespace=self.settings.prefix) as store:
            meta = store.meta()
        found = meta.closed_marks(GROUP, meta.versions[GROUP])
        assert len(found) in (0, 8)
        return {time_us - START for times in found.values() for time_us in times}

    def read(self, u: str, at: int) -> dict[str, FeatureValue]:
        with OnlineStore(self.settings.redis, namespace=self.settings.prefix) as store:
            return FeatureReader(store, self.registry).get([(GROUP, (u,))], START + at)[0]

    def wrong(self, u: str, at: int, as_of: int) -> list[tuple[str, Any, FeatureValue]]:
        """What a read gives that is not the value as of a minute."""
        found = self.read(u, at)
        right = expected(self.counted, u, START + as_of)
        return [(name, right[name], found[name]) for name in CLOSED if found[name].value != right[name]]


@pytest.fixture(scope="module")
def running(stack: TestStack) -> Iterator[Running]:
    settings = stack.need("kafka", "redis", "flink")
    for module in (closed_groups, session_groups):
        apply(settings.registry, Path(module.__file__), store_suffix="it")
    made = Running(settings, Registry.load(settings.registry), start_stream(settings, BUNDLE, Tuning(parallelism=2)))
    try:
        yield made
    finally:
        made.job.cancel()


def test_a_minute_is_not_closed_before_the_delay_has_passed(running: Running) -> None:
    first = [
        visit(10 * SECOND, "a", 1, "p"),
        visit(MINUTE - 1, "a", 2, "q"),
        visit(MINUTE, "a", 4, "r"),
        visit(90 * SECOND - 1, "b", 8, "s"),
    ]
    running.counted += first
    running.send(first, [heartbeat(95 * SECOND)])
    assert running.marks() == {0}
    found = running.read("a", 91 * SECOND)
    assert (found["live"].value, found["newest"].value) == (3, "r")
    assert {(found[name].status, found[name].as_of_us) for name in CLOSED} == {("STALE", START)}
    assert (found["n"].value, found["last"].value) == (0, None)


def test_it_is_closed_by_the_event_at_which_the_tier_asks_for_it(running: Running) -> None:
    last = visit(90 * SECOND, "b", 16, "t")
    running.counted.append(last)
    running.send([last])
    assert running.marks() == {MINUTE}
    found = running.read("a", 90 * SECOND)
    assert (found["n"].value, found["pages"].value, found["last"].value) == (2, ["q", "p"], "q")
    assert running.wrong("a", 90 * SECOND, MINUTE) == []
    assert {(found[name].status, found[name].as_of_us) for name in ("n", "pages", "least", "last")} == {
        ("OK", START + MINUTE)
    }
    assert running.wrong("a", 150 * SECOND - 1, MINUTE) == []
    assert running.read("b", 90 * SECOND)["n"].value == 0


def test_a_reader_that_asks_for_more_gets_what_is_published_as_stale(running: Running) -> None:
    found = running.read("a", 150 * SECOND)
    assert {(found[name].status, found[name].as_of_us) for name in CLOSED} == {("STALE", START + MINUTE)}
    assert running.wrong("a", 150 * SECOND, MINUTE) == []
    assert found["live"].status == "OK"


def test_events_out_of_order_count_and_late_ones_are_kept_apart(running: Running) -> None:
    in_time = [visit(60_500_000, "a", 32, "u"), visit(MINUTE + 1, "a", 64, "v")]
    late = visit(MINUTE - 100_000, "a", 128, "w")
    keyless = visit(MINUTE - 100_000, None, 256, "x")
    running.counted += in_time
    running.send([*in_time, late, keyless], [heartbeat(MINUTE - 100_000)])
    assert running.marks() == {MINUTE}
    assert running.wrong("a", 90 * SECOND, MINUTE) == []
    letters = [json.loads(record.value or b"") for record in running_records(running, "late")]
    assert [(letter["reason"], json.loads(base64.b64decode(letter["payload"]))) for letter in letters] == [
        ("late", late)
    ]
    assert letters[0]["ts"] == late["ts"] // 1000
    assert [json.loads(record.value or b"")["reason"] for record in running_records(running, "dlq")] == ["null_entity"]


def running_records(running: Running, kind: str) -> list[Any]:
    return list(read_all(running.settings.require("kafka"), f"{running.settings.prefix}{TOPIC}.{kind}"))


def test_a_quiet_partition_holds_minutes_open_until_its_heartbeat(running: Running) -> None:
    later = visit(5 * MINUTE, "b", 1, "y")
    running.counted.append(later)
    running.send([later])
    assert running.marks() == {MINUTE}
    running.send([], [heartbeat(5 * MINUTE + 10 * SECOND)])
    assert running.marks() == {4 * MINUTE}
    for u in "ab":
        assert running.wrong(u, 4 * MINUTE + 30 * SECOND, 4 * MINUTE) == []
        assert running.wrong(u, 5 * MINUTE + 30 * SECOND - 1, 4 * MINUTE) == []
    assert running.read("a", 4 * MINUTE + 30 * SECOND)["n"].value == 5


def test_a_read_in_the_past_says_that_it_is_ahead(running: Running) -> None:
    found = running.read("b", 90 * SECOND)["n"]
    assert (found.value, found.as_of_us, found.status) == (2, START + 90 * SECOND + 1, "OK")
    found = running.read("b", 90 * SECOND - 1)["n"]
    assert (found.value, found.as_of_us, found.status) == (0, START, "OK")


def send_random(running: Running, rng: random.Random, start: int, minutes: int) -> int:
    """Events of some minutes, up to 30 s out of order, and heartbeats that close them; what is closed then."""
    end = start + minutes * MINUTE
    events = random_visits(rng, start, end, 25 * minutes, "abcd")
    running.counted += events
    parts: tuple[list[Event], list[Event]] = ([], [])
    for event in events:
        parts[rng.randrange(2)].append(event)
    closing = heartbeat(end + 30 * SECOND)
    running.send([*parts[0], closing], [*parts[1], closing])
    return end


def all_wrong(running: Running, closed: int) -> list[Any]:
    return [(u, *found) for u in "abcd" for found in running.wrong(u, closed + 30 * SECOND, closed)]


def live_wrong(running: Running) -> list[Any]:
    """Realtime sessions asked when the latest ones close, a microsecond before, and later. Where partitions are read
    one after the other, an older session may have had to make room, and a read says so; the newest is always there."""
    wrong: list[Any] = []
    for u in "abcd":
        closes = [run[-1][0] + GAP for run in runs(rows_of(running.counted, u, 2 * START))[-3:]]
        for at in (us for close in closes for us in (close - 1, close, close + 3 * MINUTE)):
            row, right = running.read(u, at - START), live(running.counted, u, at)
            wrong += [
                (u, at, row[name], value)
                for name, value in right.items()
                if row[name].value != value and (row[name].status != "DEGRADED" or at >= closes[-1])
            ]
    return wrong


def test_random_events_of_an_hour_and_more(running: Running) -> None:
    rng = random.Random(5)
    end = 5 * MINUTE
    for minutes in (9, 37, 33):
        end = send_random(running, rng, end + MINUTE, minutes)
        assert running.marks() == {end}
        assert all_wrong(running, end) == []
        assert live_wrong(running) == []
    assert end % (5 * MINUTE) == 2 * MINUTE
    assert len(running_records(running, "late")) == 1
    assert running.job.exceptions() == []


def test_a_session_is_closed_at_its_gap_to_the_microsecond(running: Running) -> None:
    (before,) = running.marks()
    end = before + 2 * MINUTE
    times = {
        "exact": [-20_000_000],
        "late by one": [-20_000_000 + 1],
        "two apart": [-50_000_000, -30_000_000],
        "one": [-50_000_000, -30_000_001],
        "two between reads": [-48_000_000, -27_000_000, -27_000_000],
        "joined": [-50_000_000, -25_000_000, -37_500_000],
    }
    events = [visit(end + at, u, 1, "p") for u, several in times.items() for at in several]
    running.counted += events
    closing = heartbeat(end + 30 * SECOND)
    running.send([*events, closing], [closing])
    found = {u: running.read(u, end + 30 * SECOND)["visit"] for u in times}
    assert {u: value.value for u, value in found.items()} == {
        "exact": 1,
        "late by one": 0,
        "two apart": 1,
        "one": 2,
        "two between reads": 2,
        "joined": 3,
    }
    assert {(value.status, value.as_of_us) for value in found.values()} == {("OK", START + end)}
    assert found["joined"].event_time_us == START + end - 25_000_000
    early = [running.wrong(u, end + 30 * SECOND - 1, end - MINUTE) for u in times]
    assert [found for wrong in early for found in wrong if found[0].startswith("visit")] == []
    for at, value in ((end - 1, 0), (end, 1)):
        assert running.read("exact", at)["live_visit"].value == value
    closing = heartbeat(end + 90 * SECOND)
    running.send([closing], [closing])
    assert running.read("late by one", end + 90 * SECOND)["visit"].value == 1
    assert [running.wrong(u, end + 90 * SECOND, end + MINUTE) for u in times] == [[]] * len(times)


def test_the_session_cases_read_back_their_values(running: Running) -> None:
    publish_in_order(running.settings, SESSIONS, "s")
    running.job.wait_lag_zero()
    found = list(expected_and_found(running.settings, running.registry, SESSIONS, "s"))
    wrong = [(what, expected, value) for what, expected, value in found if not same(value.value, expected)]
    assert len(found) > 90
    assert wrong == []
    assert {value.status for _, _, value in found} == {"OK", "NULL", "DEFAULT", "NOT_FOUND"}


@pytest.mark.slow
def test_a_restart_with_fewer_subtasks_goes_on_in_the_middle_of_a_tile(running: Running) -> None:
    (before,) = running.marks()
    running.job.cancel()
    running.job = start_stream(running.settings, BUNDLE, Tuning(parallelism=1))
    closed = send_random(running, random.Random(6), before + MINUTE, 6)
    assert running.marks() == {closed}
    assert all_wrong(running, closed) == []
    assert live_wrong(running) == []
    running.send([visit(closed - 61 * SECOND, "a", 999, "late")])
    assert all_wrong(running, closed) == []
    assert len(running_records(running, "late")) == 2


def test_explain_read_says_how_far_the_tier_is(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("home", "registry", "prefix", "redis"):
        monkeypatch.setenv(f"FEATUREDSL_{name.upper()}", str(getattr(running.settings, name)))
    (closed,) = running.marks()
    at = format_time(START + closed + 91 * SECOND)
    why = CliRunner().invoke(explain_read, [GROUP, "a", "--at", at], catch_exceptions=False).output
    assert f"closed visits/5m@5m: complete up to {format_time(START + closed)}" in why
    assert f"why: closed up to {format_time(START + closed)}, 1m behind what tier 5m promises; " in why
