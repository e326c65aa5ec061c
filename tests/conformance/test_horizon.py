"""Streamed lifetimes: what batch runs collapse and tiles hold, merged by the reader, against one event after another.

Batch runs are the compiled program on DuckDB, tiles and fields go through their bytes.
"""

from __future__ import annotations

import math
import statistics
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from featuredsl import feature, feature_group, lifetime, ratio
from featuredsl.finalize import FeatureValue, Finalizer
from featuredsl.horizon import HISTORY
from featuredsl.online.codec import Snapshot
from featuredsl.online.request import EntityState
from featuredsl.times import DAY, HOUR, MINUTE, SECOND
from tests.conformance.cases import BIG, T0, events, other, pairs, plan_of
from tests.conformance.cases_windows import WINDOW_CASES
from tests.support.horizons import Events, batch, stored

Z = T0 * SECOND
H1, H2 = Z, Z + DAY
"""The horizons of the two runs, ten minutes and a bit after them."""
RUN1, RUN2 = H1 + 11 * MINUTE, H2 + 59 * MINUTE


@feature_group(name="ever", entity="u")
class Ever:
    """Every aggregator of numbers, nulls, filters, a default, two sources, beside a window that shares the hop."""

    @feature(freshness="realtime", window=lifetime)
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window=lifetime)
    def values(e: events) -> int:
        return e.x.count()

    @feature(freshness="realtime", window=lifetime)
    def total(e: events) -> int:
        return e.x.sum()

    @feature(freshness="realtime", window=lifetime)
    def low(e: events) -> int:
        return e.x.min()

    @feature(freshness="realtime", window=lifetime)
    def high(e: events) -> float:
        return e.f.max()

    @feature(freshness="realtime", window=lifetime, default=-1.0)
    def average(e: events) -> float:
        return e.f.mean()

    @feature(freshness="realtime", window=lifetime)
    def var_f(e: events) -> float:
        return e.f.var()

    @feature(freshness="realtime", window=lifetime)
    def std_f(e: events) -> float:
        return e.f.std()

    @feature(freshness="realtime", window=lifetime)
    def clicks(e: events) -> int:
        return e.filter(e.s == "click").count()

    @feature(freshness="realtime", window=lifetime)
    def per_other(e: events, o: other) -> float:
        return ratio(e.count(), o.x.sum())

    @feature(freshness="realtime", window="12h")
    def recent(e: events) -> int:
        return e.count()


@feature_group(name="closed", entity="u")
class Closed:
    """The tier of closed minutes."""

    @feature(freshness="5m", window=lifetime)
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="5m", window=lifetime)
    def total(e: events) -> int:
        return e.x.sum()


@feature_group(name="by_pair", entity=("u", "m"))
class ByPair:
    """A composite entity."""

    @feature(freshness="realtime", window=lifetime)
    def total(p: pairs) -> int:
        return p.x.sum()


def row(us: int, u: str = "a", **columns: Any) -> tuple[int, dict[str, Any]]:
    return us, {"u": u, "x": None, "f": None, "s": None} | columns


EVENTS: Events = {
    "events": [
        row(Z - 400 * DAY, x=BIG, f=1e9 + 4, s="click"),
        row(Z - 400 * DAY, x=-BIG, f=1e9 + 7),
        row(Z - 3 * DAY, x=BIG, s="view"),
        row(H1 - 1, x=7, f=1e9 + 13, s="click"),
        row(H1, x=-9, f=1e9 + 16, s="click"),
        row(H1 + 1, s="click"),
        row(H1 + HOUR - 1, x=100, f=-5.5),
        row(H1 + 30 * HOUR, x=BIG, f=0.25),
        row(H2 - 1, x=3, f=2.5, s="click"),
        row(H2, x=5, f=2.75, s="view"),
        row(H2 + 20 * MINUTE, x=-(2**62), f=1.0),
        row(H2 + 40 * HOUR, x=17, f=1.5, s="click"),
        row(Z - 70 * DAY, "old", x=41, f=1.5, s="click"),
        row(H2 + 5 * HOUR, "new", x=43, f=2.5),
        row(H2 + 6 * HOUR, "new", x=1, f=3.5, s="click"),
        row(Z - 2 * DAY, "nulls"),
        row(H2 + HOUR, "nulls"),
        row(Z - 2 * DAY, None),  # type: ignore[arg-type]
    ],
    "other": [
        (Z - 90 * DAY, {"u": "a", "x": 3}),
        (H1 + 2 * HOUR, {"u": "a", "x": -1}),
        (H2 + 3 * HOUR, {"u": "a", "x": 4}),
        (Z - 90 * DAY, {"u": "only_other", "x": 3}),
    ],
}
KEYS = [(name,) for name in ("a", "old", "new", "nulls", "only_other")]
TIMES = [H1, H1 + 1, H1 + 2, H1 + HOUR - 1, H1 + HOUR, H1 + HOUR + 1, H1 + 5 * HOUR + 123, H2 - 1]
TIMES += [H2, H2 + 1, H2 + 20 * MINUTE, H2 + 20 * MINUTE + 1, H2 + HOUR, H2 + 6 * HOUR, H2 + 6 * HOUR + 1]
TIMES += [H2 + 40 * HOUR, H2 + 40 * HOUR + 1, H2 + 49 * HOUR, H2 + 51 * HOUR - 1]


def recount(found: Events, key: tuple[Any, ...], t: int) -> dict[str, Any]:
    """The features of `Ever` by their definition."""
    mine = [one for us, one in found["events"] if (one["u"],) == key and us < t]
    xs = [one["x"] for one in mine if one["x"] is not None]
    fs = [Fraction(one["f"]) for one in mine if one["f"] is not None]
    others = [one["x"] for us, one in found["other"] if (one["u"],) == key and us < t]
    spread = statistics.variance(fs) if len(fs) > 1 else None
    return {
        "n": len(mine),
        "values": len(xs),
        "total": sum(xs) if xs else None,
        "low": min(xs, default=None),
        "high": float(max(fs)) if fs else None,
        "average": float(sum(fs) / len(fs)) if fs else -1.0,
        "var_f": None if spread is None else float(spread),
        "std_f": None if spread is None else math.sqrt(spread),
        "clicks": sum(one["s"] == "click" for one in mine),
        "per_other": len(mine) / sum(others) if sum(others) else None,
    }


def same(found: Any, right: Any) -> bool:
    if isinstance(right, float):
        return isinstance(found, float) and math.isclose(found, right, rel_tol=1e-9)
    return type(found) is type(right) and found == right


def snapshots_of(events: Events, key: tuple[Any, ...], *runs: int) -> list[Snapshot]:
    found = (_of_all(run) if events is EVENTS else batch(plan_of(Ever), events, run) for run in runs)
    return [one[key] for one in found if key in one]


@cache
def _of_all(run: int) -> dict[tuple[Any, ...], Snapshot]:
    return batch(plan_of(Ever), EVENTS, run)


def read(state: EntityState, t: int, *marks: int) -> dict[str, FeatureValue]:
    return Finalizer(plan_of(Ever)).values(state, t, {HISTORY: marks})


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[0])
def test_batch_and_tiles_are_every_event_before_t(key: tuple[str]) -> None:
    plan = plan_of(Ever)
    snapshots = snapshots_of(EVENTS, key, RUN2, RUN1)
    for t in TIMES:
        found = read(stored(plan, EVENTS, key, t, snapshots), t, H2, H1)
        exists = bool(snapshots) or any(one["u"] == key[0] and us < t for us, one in EVENTS["events"])
        for name, right in recount(EVENTS, key, t).items():
            assert same(found[name].value, right), (t - H1, name, found[name], right)
            expected = "NULL" if right is None else "DEFAULT" if name == "average" and right == -1.0 else "OK"
            assert found[name].status == (expected if exists else "NOT_FOUND"), (t - H1, name, found[name])


def test_either_run_gives_the_same_where_both_reach() -> None:
    plan = plan_of(Ever)
    for runs in ((RUN1,), (RUN2,), (RUN2, RUN1)):
        snapshots = snapshots_of(EVENTS, ("a",), *runs)
        for t in (time for time in TIMES if H2 <= time < H1 + 50 * HOUR):
            found = read(stored(plan, EVENTS, ("a",), t, snapshots), t, *(one.as_of_us for one in snapshots))
            assert same(found["total"].value, recount(EVENTS, ("a",), t)["total"])
            assert found["total"].status == "OK"


def test_the_newest_event_is_known_from_either_side() -> None:
    plan = plan_of(Ever)
    snapshots = snapshots_of(EVENTS, ("a",), RUN1)
    for t, newest in ((H1, H1 - 1), (H1 + 1, H1), (H2 + 1, H2)):
        found = read(stored(plan, EVENTS, ("a",), t, snapshots), t, H1)["n"]
        assert (found.event_time_us, found.as_of_us) == (newest, t)
    tiles_of_later = read(stored(plan, EVENTS, ("a",), H2, snapshots), H1 + 1, H1)["n"]
    assert tiles_of_later.as_of_us == H1 + HOUR  # the tile holds events up to that time


@pytest.mark.parametrize(("late", "status"), [(51 * HOUR - 1, "OK"), (51 * HOUR, "DEGRADED"), (7 * DAY, "DEGRADED")])
def test_a_batch_that_is_late_is_never_a_silent_undercount(late: int, status: str) -> None:
    """Tiles of 50 hours before that of t are kept."""
    many: Events = {"events": [row(H1 - DAY + i * HOUR, x=1) for i in range(24 + late // HOUR)], "other": []}
    t = H1 + late
    found = read(stored(plan_of(Ever), many, ("a",), t, snapshots_of(many, ("a",), RUN1)), t, H1)
    right = recount(many, ("a",), t)
    assert found["n"].status == status
    assert found["average"].status == ("DEFAULT" if status == "OK" else status)
    assert found["recent"].status == "OK"
    there = min(right["n"], 24 + 52)  # the run's, and as many tiles as there are
    assert found["n"].value == there if late < 52 * HOUR else 24 < found["n"].value <= there < right["n"]  # type: ignore[operator]
    assert found["average"].value == -1.0


def test_without_any_run_only_tiles_count_and_that_is_degraded() -> None:
    found = read(stored(plan_of(Ever), EVENTS, ("a",), H2 + 1, []), H2 + 1)
    assert 5 <= found["n"].value <= recount(EVENTS, ("a",), H2 + 1)["n"]  # type: ignore[operator]
    assert found["n"].status == "DEGRADED"
    assert found["recent"].status == "OK"
    nobody = read(stored(plan_of(Ever), EVENTS, ("nobody",), H2, []), H2)
    assert (nobody["n"].value, nobody["n"].status) == (0, "NOT_FOUND")


def test_a_read_before_the_first_horizon_that_is_kept() -> None:
    plan = plan_of(Ever)
    snapshots = snapshots_of(EVENTS, ("a",), RUN2)
    between = read(stored(plan, EVENTS, ("a",), H2 + DAY, snapshots), H2 - 1, H2)["n"]
    assert between.status == "DEGRADED"
    assert between.as_of_us == H2
    quiet = snapshots_of(EVENTS, ("old",), RUN2)
    for t, status, n in ((H2 - 1, "OK", 1), (Z - 70 * DAY + 1, "OK", 1), (Z - 70 * DAY, "DEGRADED", 1)):
        found = read(stored(plan, EVENTS, ("old",), H2, quiet), t, H2)["n"]
        assert (found.status, found.value) == (status, n), t


def test_a_key_without_a_snapshot_of_a_completed_run_had_no_event_then() -> None:
    """Also where an older run had written it: a restated history has lost it."""
    plan, t = plan_of(Ever), H2 + 7 * HOUR
    snapshots = snapshots_of(EVENTS, ("old",), RUN1)
    assert read(stored(plan, EVENTS, ("old",), t, snapshots), t, H1)["n"].value == 1
    assert read(stored(plan, EVENTS, ("old",), t, snapshots), t, H2, H1)["n"].value == 0
    assert read(stored(plan, EVENTS, ("new",), t, []), t, H2)["n"].value == 2


def test_a_run_that_has_not_completed_yet_counts_for_the_keys_that_it_wrote() -> None:
    plan, t = plan_of(Ever), H2 + HOUR
    snapshots = snapshots_of(EVENTS, ("a",), RUN2, RUN1)
    found = read(stored(plan, EVENTS, ("a",), t, snapshots), t, H1)
    assert found["n"].value == recount(EVENTS, ("a",), t)["n"]
    # both kept are later than a completed run: what it wrote may have made room
    old = read(stored(plan, EVENTS, ("a",), t, snapshots), H1 - 1, H1 - DAY)
    assert old["n"].status == "DEGRADED"


def test_sums_leave_64_bits_and_come_back() -> None:
    top = 2**63 - 1
    here: Events = {"events": [row(H1 - HOUR - 1, x=top), row(H1 - 1, x=top), row(H1 + 1, x=-top)], "other": []}
    snapshots = snapshots_of(here, ("a",), RUN1)
    for t, total in ((H1, None), (H1 + 1, None), (H1 + 2, top)):
        assert read(stored(plan_of(Ever), here, ("a",), t, snapshots), t, H1)["total"].value == total


def test_sums_that_are_not_finite_are_null_for_ever() -> None:
    here: Events = {
        "events": [row(H1 - HOUR - 1, f=1.5e308), row(H1 - 1, f=1.5e308), row(H1 + 1, f=-1.5e308)],
        "other": [],
    }
    found = read(stored(plan_of(Ever), here, ("a",), H1 + 2, snapshots_of(here, ("a",), RUN1)), H1 + 2, H1)
    assert (found["average"].value, found["high"].value, found["values"].value) == (-1.0, 1.5e308, 0)


def test_closed_minutes_ask_the_same_at_q() -> None:
    plan = plan_of(Closed)
    snapshots = [found[("a",)] for run in (RUN2, RUN1) if (found := batch(plan, EVENTS, run))]
    marks = {HISTORY: (H2, H1)}
    for t in (H2 + 30 * SECOND, H2 + 90 * SECOND, H2 + 21 * MINUTE, H2 + 41 * HOUR):
        q = (t - 30 * SECOND) // MINUTE * MINUTE
        for closed, status in ((q, "OK"), (q - MINUTE, "STALE")):
            state = stored(plan, EVENTS, ("a",), closed, snapshots)
            found = Finalizer(plan).values(state, t, marks | {"events/1h@5m": (closed,)})
            right = recount(EVENTS, ("a",), closed)
            assert (found["n"].value, found["n"].status) == (right["n"], status)
            assert found["total"].value == right["total"]
    marks = {HISTORY: (H2,), "events/1h@5m": (H1,)}
    behind = Finalizer(plan).values(stored(plan, EVENTS, ("a",), H1, snapshots[:1]), H2, marks)
    assert behind["n"].status == "DEGRADED"


def test_composite_keys_and_a_null_part() -> None:
    plan = plan_of(ByPair)
    here: Events = {
        "pairs": [
            (H1 - 5, {"u": "a", "m": 1, "x": 5}),
            (H1 - 5, {"u": "a", "m": 2, "x": 7}),
            (H1 - 5, {"u": "a", "m": None, "x": 100}),
            (H1 + 5, {"u": "a", "m": 1, "x": 11}),
        ]
    }
    found = batch(plan, here, RUN1)
    assert set(found) == {("a", 1), ("a", 2)}
    for key, total in ((("a", 1), 16), (("a", 2), 7)):
        state = stored(plan, here, key, H2, [found[key]])
        assert Finalizer(plan).values(state, H2, {HISTORY: (H1,)})["total"].value == total


@pytest.mark.parametrize("at", [-60 * 366 * DAY, -1, HOUR, DAY, 50 * 366 * DAY - 20 * HOUR])
def test_the_case_of_every_engine(at: int) -> None:
    case = next(case for case in WINDOW_CASES if case.name.startswith("lifetime:"))
    here = {name: [(round((T0 + s) * SECOND), one) for s, one in rows] for name, rows in case.events.items()}
    runs = batch(case.group, here, Z + at)
    horizon = (Z + at - 10 * MINUTE) // HOUR * HOUR
    compared = 0
    for key, seconds, expected in case.reads:
        t = round((T0 + seconds) * SECOND)
        if horizon <= t < horizon + 51 * HOUR:
            state = stored(case.group, here, key, t, [runs[key]] if key in runs else [])
            found = Finalizer(case.group).values(state, t, {HISTORY: (horizon,)})
            for name in ("n", "total", "high"):
                assert found[name].value == expected[name], (key, seconds, name)
                compared += 1
    assert compared
