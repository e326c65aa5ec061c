"""Random features on random events: training sets, snapshots and the online reader against brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from featuredsl import EventSource, feature, feature_group, lifetime, session, tumbling, window
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.compilers.snapshot import snapshot
from featuredsl.finalize import Finalizer
from featuredsl.plan import GroupPlan
from featuredsl.windows import Window
from tests.conformance.cases import T0, Case
from tests.conformance.test_online import state_before
from tests.support.duckdb_tables import create
from tests.support.oracle import DAY, HOUR, MINUTE, SECOND, TIERS, Asked, Event, value

events = EventSource("events", event_time="ts", schema={"u": str, "x": int, "f": float}, time_unit="us")
KEYS = ("a", "b")
BIG = 2**53 + 1


@dataclass(frozen=True)
class Chosen:
    """A random feature, for the product and for the oracle."""

    asked: Asked
    filtered: bool
    window: Window


def sliding(hop: int, hops: int, offset: int) -> tuple[tuple[Any, ...], Window]:
    size = hop * hops * max(1, -(-12 * SECOND // (hop * hops)))
    made = window(size, hop=hop, offset=offset * hop or None)
    return ("sliding", size, hop, offset * hop), made


slidings = st.builds(
    sliding, st.sampled_from([SECOND, 7 * SECOND, 5 * MINUTE, HOUR]), st.integers(1, 14), st.integers(0, 3)
)
tumblings = st.sampled_from([SECOND, MINUTE, HOUR, DAY]).map(lambda size: (("tumbling", size), tumbling(size)))
sessions = st.sampled_from([1, SECOND, 5 * MINUTE, HOUR]).map(lambda gap: (("session", gap), session(f"{gap}us")))
every_kind = slidings | tumblings | sessions | st.just((("lifetime",), lifetime))


@st.composite
def features(draw: st.DrawFn, kinds: st.SearchStrategy[Any], tiers: Sequence[str]) -> Chosen:
    """An aggregate of a column over a window, in a tier that is fresh enough for it."""
    aggregate = draw(st.sampled_from(["count", "sum", "mean", "min", "max", "var"]))
    column = draw(st.sampled_from(["x", "f"] + [None] * (aggregate == "count")))
    spec, made = draw(kinds)
    fresh = [tier for tier in tiers if spec[0] in ("session", "lifetime") or spec[1] >= TIERS[tier][0]]
    filtered = draw(st.booleans())

    def keep(row: Any) -> bool:
        return not filtered or (row["x"] is not None and row["x"] > 0)

    return Chosen(Asked(aggregate, column, spec, draw(st.sampled_from(fresh)), keep), filtered, made)


@dataclass(frozen=True)
class Situation:
    """Features, events in any order, and (key, time) reads."""

    chosen: list[Chosen]
    log: list[Event]
    reads: list[tuple[str, int]]


values = st.fixed_dictionaries(
    {
        "x": st.none() | st.integers(-3, 9) | st.just(BIG),
        "f": st.none() | st.integers(-40, 40).map(lambda n: n / 8),
    }
)


@st.composite
def situations(draw: st.DrawFn, kinds: st.SearchStrategy[Any], tiers: Sequence[str] = tuple(TIERS)) -> Situation:
    """Events and reads lie on and beside the edges of the windows, around the epoch or later; times repeat."""
    chosen = draw(st.lists(features(kinds, tiers), min_size=1, max_size=4))
    sizes = [n for item in chosen for n in item.asked.window[1:] if n] or [HOUR]
    base = draw(st.sampled_from([0, T0 * SECOND]))
    beside = st.sampled_from([-1, 0, 0, 1])
    delays = [TIERS[item.asked.tier][1] for item in chosen]
    times = st.builds(
        lambda k, size, d: base + k * size + d, st.integers(-1, 3), st.sampled_from([*sizes, *sizes, MINUTE]), beside
    )
    count = draw(st.sampled_from([0, 3, 8, 24]))
    event = st.builds(Event, times, st.sampled_from(("a", *KEYS)), values)
    log = draw(st.lists(event, min_size=count, max_size=count))
    later = st.builds(lambda t, delay: t + delay, times, st.sampled_from([0, *delays]))
    return Situation(chosen, log, draw(st.lists(st.tuples(st.sampled_from(KEYS), later), min_size=4, max_size=12)))


def plan_of(chosen: Sequence[Chosen]) -> GroupPlan:
    """A group of the features, named f0, f1, …."""

    def declare(name: str, item: Chosen) -> object:
        def body(e: Any) -> Any:
            kept = e.filter(e.x > 0) if item.filtered else e
            of = kept if item.asked.column is None else kept[item.asked.column]
            return getattr(of, item.asked.aggregate)()

        whole = item.asked.aggregate == "count" or (
            item.asked.column == "x" and item.asked.aggregate in ("sum", "min", "max")
        )
        body.__name__ = name
        body.__annotations__ = {"e": events, "return": int if whole else float}
        return feature(freshness=item.asked.tier, window=item.window)(body)  # type: ignore[arg-type]

    made = {f"f{i}": declare(f"f{i}", item) for i, item in enumerate(chosen)}
    group = feature_group(name="g", entity="u")(type("G", (), made | {"__module__": __name__}))
    plan: GroupPlan = group.plan  # type: ignore[attr-defined]
    return plan


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
    return type(found) is type(expected) and found == expected


def load(log: Sequence[Event], labels: Sequence[tuple[str, int]]) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    create(con, "events", [*events.columns, ("ts_us", "int")], [[e.key, e.row["x"], e.row["f"], e.time] for e in log])
    rows = [[i, key, t] for i, (key, t) in enumerate(labels)]
    create(con, "labels", [("label_id", "int"), ("u", "str"), ("ts_us", "int")], rows)
    return con


def check_training_set(case: Situation) -> None:
    with load(case.log, case.reads) as con:
        rows = con.execute(point_in_time(plan_of(case.chosen), DUCKDB)).fetchall()
    found = {row[0]: row[1:] for row in rows}
    assert len(rows) == len(case.reads)
    for i, (key, t) in enumerate(case.reads):
        expected = [value(item.asked, case.log, key, t) for item in case.chosen]
        assert all(map(same, found[i], expected)), (key, t, found[i], expected)


@settings(max_examples=40)
@given(situations(every_kind))
def test_training_sets_are_those_of_brute_force(case: Situation) -> None:
    check_training_set(case)


@settings(max_examples=30)
@given(situations(sessions))
def test_sessions_are_those_of_brute_force(case: Situation) -> None:
    check_training_set(case)


@settings(max_examples=40)
@given(situations(every_kind) | situations(sessions))
def test_snapshots_are_those_of_brute_force(case: Situation) -> None:
    plan, t = plan_of(case.chosen), case.reads[0][1]
    with load(case.log, []) as con:
        found = {row[0]: row[1:] for row in con.execute(snapshot(plan, DUCKDB, t, plan.features)).fetchall()}
    for key in KEYS:
        expected = [value(item.asked, case.log, key, t) for item in case.chosen]
        nothing = [value(item.asked, [], key, t) for item in case.chosen]
        assert all(map(same, found.get(key, nothing), expected)), (key, found.get(key), expected)


@settings(max_examples=100)
@given(situations(slidings | tumblings, ("realtime",)))
def test_online_reads_are_those_of_brute_force(case: Situation) -> None:
    plan = plan_of(case.chosen)
    finalizer = Finalizer(plan)
    rows = [((e.time - T0 * SECOND) / SECOND, {"u": e.key, **e.row}) for e in case.log]
    stored = Case("random", plan, {"events": rows}, [])
    for key, t in case.reads:
        found = finalizer.values(state_before(stored, (key,), t), t, {})
        expected = [value(item.asked, case.log, key, t) for item in case.chosen]
        got = [found[f"f{i}"].value for i in range(len(case.chosen))]
        assert all(map(same, got, expected)), (key, t, got, expected)
