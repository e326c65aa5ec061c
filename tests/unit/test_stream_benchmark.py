"""The pure parts of the benchmarks of streams: events, checks of what peers wrote, programs, figures."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path

import pytest

from benchmarks.freshness import report
from benchmarks.stream import against_jobs, against_peer, in_turn, median_of
from benchmarks.stream_data import GROUP, PARTITIONS, SPAN_MS, TILE_MS, Events, definitions
from benchmarks.stream_flink import Spent, to_blackhole, without_progress_of
from benchmarks.stream_peers import differences
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.loader import load_definitions
from featuredsl.tiles import store_layout

START = 1_767_225_600_000


def test_expected_tiles_are_those_of_the_records() -> None:
    events = Events(5_000, 40, START, 3_000)
    counted: dict[tuple[str, int], list[int]] = {}
    last = 0
    for partition, key, text in events.records():
        record = json.loads(text)
        assert record["user_id"] == key.decode()
        assert partition == int(record["user_id"][1:]) % PARTITIONS
        assert last <= record["ts"]
        last = record["ts"]
        counted.setdefault((record["user_id"], record["ts"] // TILE_MS), []).append(round(record["amount"] * 100))
    assert START + SPAN_MS * 0.59 < last < START + SPAN_MS * 0.6
    expected = events.expected()
    assert {place: len(cents) for place, cents in counted.items()} == {place: n for place, (n, _) in expected.items()}
    for place, cents in counted.items():
        assert expected[place][1] == pytest.approx(sum(cents) / 100, rel=1e-12)


def test_the_first_events_are_those_of_all() -> None:
    first, every = Events(900, 40, START, 300), Events(900, 40, START, 900)
    assert list(first.records()) == list(every.records())[:300]


def test_differences_name_what_is_wrong() -> None:
    right = {("a", 1): (2, 3.5), ("a", 2): (1, 1.0)}
    assert differences(right, dict(right)) == []
    assert differences(right, {("a", 1): (2, 3.5)}) == ["('a', 2): None instead of (1, 1.0)"]
    assert differences(right, {**right, ("b", 1): (1, 1.0)}) == ["('b', 1): (1, 1.0) instead of None"]
    assert len(differences(right, {**right, ("a", 1): (1, 3.5)})) == 1
    assert len(differences(right, {**right, ("a", 1): (2, 3.6)})) == 1


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    plan = load_definitions(definitions(tmp_path, GROUP, "realtime"))[GROUP]
    target = GroupTarget(plan, store_layout(plan, "v"))
    return statements([target], StreamConfig("kafka:9092", "redis://redis:6379/0", "", "g"))


def test_the_black_hole_differs_in_the_sinks_of_redis_only(program: list[str]) -> None:
    changed = [(a, b) for a, b in zip(program, map(to_blackhole, program), strict=True) if a != b]
    assert len(changed) == 2
    for before, after in changed:
        assert "featuredsl-redis" in before
        assert after == before[: before.index(") WITH (")] + ") WITH (\n  'connector' = 'blackhole'\n)"


def test_without_progress_lacks_one_table_and_its_insert(program: list[str]) -> None:
    left = without_progress_of(program)
    assert len(left) == len(program) - 2
    assert not any("__progress" in statement for statement in left)
    assert [statement for statement in program if statement not in left] != []


def spent(rate: float, cpu: float = 10.0) -> Spent:
    return Spent(events=1_000_000, wall=1_000_000 / rate, cpu=cpu, redis_cpu=2.0, state_bytes=20_000_000)


RATES = {"plain": [30.0, 30.0, 30.0], "ours": [10.0, 40.0, 20.0], "blackhole": [5.0, 5.0, 50.0]}


def turns(budget_s: float) -> tuple[list[str], dict[str, Spent]]:
    order: list[str] = []

    def side(name: str) -> Spent:
        order.append(name)
        return spent(RATES[name][order.count(name) - 1])

    return order, in_turn({name: partial(side, name) for name in RATES}, 3, time.monotonic() + budget_s)


def test_sides_take_turns_and_give_medians() -> None:
    order, found = turns(60.0)
    assert order == ["plain", "ours", "blackhole", "blackhole", "ours", "ours", "blackhole"]
    assert {name: round(one.rate, 6) for name, one in found.items()} == {"plain": 30.0, "ours": 20.0, "blackhole": 5.0}


def test_beyond_the_time_only_the_needed_sides_run_once() -> None:
    order, found = turns(-1.0)
    assert order == ["ours", "blackhole"]
    assert list(found) == ["ours", "blackhole"]


def test_medians_are_those_of_an_event() -> None:
    found = median_of([Spent(100, 1.0, 2.0, 0.5), Spent(200, 6.0, 2.0, 0.5), Spent(100, 2.0, 9.0, 0.5)])
    assert found.rate == pytest.approx(50.0)
    assert found.cpu_per_million == pytest.approx(0.02e6)


@pytest.mark.parametrize(("hole", "met"), [(100_000.0, True), (106_000.0, False)])
def test_target_against_the_black_hole(hole: float, met: bool) -> None:
    sides = {"ours": spent(100_000.0), "blackhole": spent(hole)} | {
        n: spent(1e5) for n in ("plain", "uncounted", "closed")
    }
    rows = against_jobs(sides)
    assert [row["met"] for row in rows if row["target"]] == [met]
    assert rows[0]["ratio"] == round(100_000 / hole, 3)
    rows = against_jobs(sides | {"volume": spent(200_000.0), "volume hole": spent(2 * hole)})
    assert [row["met"] for row in rows if row["target"]] == [met, met]
    assert next(row["ours"] for row in rows if row["metric"].startswith("state")) == 1_000.0


@pytest.mark.parametrize(("theirs", "met"), [(20_000.0, True), (20_500.0, False)])
def test_target_against_a_peer(theirs: float, met: bool) -> None:
    rate, cpu = against_peer("peer 1", spent(100_000.0, 10.0), spent(theirs, 30.0))
    assert (rate["met"], rate["ratio"]) == (met, round(100_000 / theirs, 3))
    assert (cpu["ours"], cpu["against_value"], cpu["ratio"]) == (10.0, 30.0, 3.0)


@pytest.mark.parametrize(("slow", "met"), [(0.075, True), (0.076, False)])
def test_freshness_target_is_the_99th_percentile(slow: float, met: bool) -> None:
    rows = report([0.04] * 990 + [slow] * 10, [0.003], {"Redis": 0.1})
    assert [(row["ours"], row["met"]) for row in rows if row["target"]] == [(slow * 1e3, met)]
    assert rows[0]["ours"] == 40.0
    assert rows[-1]["ours"] == 0.1
