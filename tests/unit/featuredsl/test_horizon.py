"""Streamed lifetimes in the plan: what is stored and read, what is refused, what is said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from featuredsl import EventSource, feature, feature_group, lifetime, ratio, union
from featuredsl.cli.explaining import explain
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.costs import cost, tiles_of
from featuredsl.errors import UnsupportedError
from featuredsl.finalize import Finalizer
from featuredsl.histories import Base, bases_at
from featuredsl.horizon import HISTORY, HORIZON, history_columns
from featuredsl.online.codec import Snapshot, Tile
from featuredsl.online.layout import Column
from featuredsl.online.meta import StoreMeta
from featuredsl.online.request import EntityState
from featuredsl.plan import GroupPlan
from featuredsl.prepared import Part
from featuredsl.read_reasons import Read, reason
from featuredsl.registry import Registry, apply
from featuredsl.tiles import longest_reach_us, store_layout, tile_tiers
from featuredsl.times import DAY, HOUR, MINUTE
from jobs.flink import freshness, publishing
from monitors.freshness import Objective, objective

clicks = EventSource("clicks", event_time="ts", schema={"u": str, "x": int, "f": float, "s": str})
views = EventSource("views", event_time="ts", schema={"u": str})
H = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z


@feature_group(name="g", entity="u", retention="30d")
class Group:
    """Lifetimes of two sources and both tiers, beside a window with tiles of their size and one of its own."""

    @feature(freshness="realtime", window=lifetime)
    def n(e: clicks) -> int:
        return e.count()

    @feature(freshness="realtime", window=lifetime)
    def mean(e: clicks) -> float:
        return e.f.mean()

    @feature(freshness="realtime", window=lifetime)
    def rate(e: clicks, v: views) -> float:
        return ratio(e.count(), v.count())

    @feature(freshness="5m", window=lifetime)
    def closed(e: clicks) -> int:
        return e.x.max()

    @feature(freshness="realtime", window=["12h", "1h"])
    def some(e: clicks) -> int:
        return e.count()

    @feature(freshness="1h", window=lifetime)
    def hourly(e: clicks) -> int:
        return e.count()


PLAN: GroupPlan = Group.plan  # type: ignore[attr-defined]


def group_of(method: Any, returns: object, freshness: str = "realtime") -> GroupPlan:
    def value(e: clicks) -> None:
        return method(e)

    value.__annotations__ = {"e": clicks, "return": returns}
    made = feature(freshness=freshness, window=lifetime)(value)
    plan: GroupPlan = feature_group(name="g", entity="u")(type("G", (), {"value": made})).plan  # type: ignore[attr-defined]
    return plan


def test_tiles_of_an_hour_reach_two_days_and_what_a_daily_run_may_lag_back() -> None:
    found = {tier.name: (tier.hop_us, tier.slots, len(tier.partials)) for tier in tile_tiers(PLAN)}
    assert found == {
        "clicks/1h": (HOUR, 52, 3),
        "views/1h": (HOUR, 52, 1),
        "clicks/5m": (5 * MINUTE, 14, 1),
        "clicks/1h@5m": (HOUR, 52, 1),
    }
    assert longest_reach_us(PLAN) == 51 * HOUR + 90 * 1_000_000
    assert longest_reach_us(group_of(lambda e: e.count(), int, "1d")) == 0


def test_a_history_is_a_batch_tier_of_its_partials() -> None:
    layout = store_layout(PLAN)
    assert layout.hash_fields == ("b:1h", "b:history")
    assert layout.batch_tier(HISTORY).columns == (
        Column("fdsl_t0", "int"),
        Column("fdsl_t1", "int"),
        Column("fdsl_c0", "str"),  # counts and sums of integers may leave 64 bits
        Column("fdsl_c1", "float"),
        Column("fdsl_c2", "str"),
        Column("fdsl_c3", "str"),
        Column("fdsl_c4", "int"),
    )
    assert history_columns(group_of(lambda e: e.count(), int, "1h")) is None
    assert [tier.name for tier in store_layout(group_of(lambda e: e.count(), int, "1h")).batch] == ["1h"]


def test_flink_keeps_the_tiles() -> None:
    plan = group_of(lambda e: e.x.sum(), int)
    made = statements([GroupTarget(plan, store_layout(plan))], StreamConfig("k:1", "redis://r", "", "g"))
    (sink,) = [text for text in made if "'mode' = 'ring'" in text]
    assert "'hop' = '3600000000'" in sink
    assert "'slots' = '52'" in sink
    assert f"'expire-after' = '{51 * HOUR + plan.retention_us}'" in sink


@pytest.mark.parametrize(
    ("method", "returns", "kind"),
    [
        (lambda e: e.s.min(), str, "a least or greatest string is of variable width"),
        (lambda e: e.s.top_k(2), list[str], "top_k is of variable width"),
        (lambda e: ratio(e.s.approx_distinct(), e.count()), float, "approx_distinct is of variable width"),
    ],
)
@pytest.mark.parametrize("tier", ["realtime", "5m"])
def test_states_of_variable_width_are_refused(method: Any, returns: object, kind: str, tier: str) -> None:
    plan = group_of(method, returns, tier)
    for make in (lambda: store_layout(plan), lambda: Finalizer(plan)):
        with pytest.raises(UnsupportedError) as caught:
            make()
        wanted = ["g.value (", "test_horizon.py:", "window lifetime", kind, "freshness 1h or 1d"]
        assert [part for part in wanted if part not in str(caught.value)] == []
    assert store_layout(group_of(method, returns, "1h")).ring == ()


def test_the_run_that_answers_a_read() -> None:
    first, second = Snapshot(H, (1,)), Snapshot(H + DAY, (2,))
    both = (second, first)
    for snapshots, marks, at, expected in [
        ((), (), H, []),
        ((), (H,), H - 1, [Base(H, None)]),
        ((), (H,), H, [Base(H, None)]),
        ((first,), (), H, [Base(H, (1,))]),
        ((first,), (H + DAY, H), H + DAY - 1, [Base(H, (1,)), Base(H + DAY, None)]),
        (both, (H + DAY, H), H + DAY, [Base(H + DAY, (2,))]),
        (both, (H,), H + DAY, [Base(H + DAY, (2,))]),
        (both, (H - DAY,), H - 1, [Base(H, (1,))]),
        ((first,), (H - DAY,), H - 1, [Base(H - DAY, None), Base(H, (1,))]),
    ]:
        assert bases_at(snapshots, marks, at) == expected, (snapshots, marks, at)


def test_a_prepared_read_asks_for_a_history_only_where_it_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "definitions.py"
    file.write_text(SOURCE)
    apply(tmp_path / "registry", file)
    registry = Registry.load(tmp_path / "registry")
    for names, fields, marks in (
        (["n"], ("b:history",), {HISTORY}),
        (["some"], (), set()),
        (["day"], ("b:1d",), {"1d"}),
    ):
        place = Part(registry, "g", names).place("v")
        assert (place.read.hash_fields, set(place.marks)) == (fields, marks)
        assert place.read.ring == (place.whole.ring if names != ["day"] else ())


SOURCE = """
from featuredsl import EventSource, feature, feature_group, lifetime

clicks = EventSource("clicks", event_time="ts", schema={"u": str})

@feature_group(name="g", entity="u")
class G:
    @feature(freshness="realtime", window=lifetime)
    def n(e: clicks) -> int:
        return e.count()

    @feature(freshness="realtime", window="1h")
    def some(e: clicks) -> int:
        return e.count()

    @feature(freshness="1d", window="2d")
    def day(e: clicks) -> int:
        return e.count()
"""


def test_explain_says_what_a_lifetime_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "definitions.py"
    file.write_text(SOURCE)
    done = CliRunner().invoke(explain, [str(file)])
    assert done.exit_code == 0, done.output
    assert "not online" not in done.output
    (line,) = [line for line in done.output.splitlines() if "lifetime" in line and "realtime" in line]
    assert line.split()[line.split().index("lifetime") + 1 :][:2] == ["1h", "51"]
    assert "history of clicks: `featuredsl run batch`, at least once a day" in done.output
    assert tiles_of(PLAN.features[0]) == 51
    ring = 8 + 52 * (32 + 3 * 8) + 52 * (32 + 8) + 14 * (32 + 8) + 52 * (32 + 8)
    batch = 2 * 9 + 48
    assert (cost(PLAN).ring_bytes, cost(PLAN).hash_bytes) == (ring, batch + 49 + 2 * (12 + 3 * 25 + 4 * 9))


def state(*tiles: int, snapshots: tuple[Snapshot, ...] = ()) -> EntityState:
    """Tiles with one event each at their beginning, by the hour after H."""
    found = tuple(Tile(H // HOUR + i, 1, H + i * HOUR, (1, 1.5, 1)) for i in tiles)
    ring = {"clicks/1h": found, "views/1h": (), "clicks/5m": (), "clicks/1h@5m": ()}
    return EntityState(True, ring, {}, {HISTORY: snapshots})


RUN = Snapshot(H, (H - 5, None, "7", 2.5, "1", None, 3))
LATE = Snapshot(H + DAY, (H + 5 * HOUR, None, "8", 2.5, "1", None, 3))
EMPTY = Snapshot(H, (H - 5, None, "7", None, None, None, 3))


@pytest.mark.parametrize(
    ("stored", "marks", "after_us", "name", "words", "todo"),
    [
        (state(0, 1, snapshots=(RUN,)), (H,), 2 * HOUR, "n", "00:00:00.000000Z by batch, 2 tiles since; newest", ""),
        (state(snapshots=(RUN,)), (H,), 2 * HOUR, "n", "0 tiles since; newest event 2025-12-31T23:59:59.999995Z", ""),
        (state(1), (H,), 2 * HOUR, "n", "by batch (none of this key), 1 tiles since; newest", ""),
        (state(1), (H,), HOUR, "n", "(none of this key), 0 tiles since; no event has come", ""),
        (state(snapshots=(EMPTY,)), (H,), HOUR, "mean", "theirs are null, filtered out, or too few; newest event", ""),
        (state(1), (), 2 * HOUR, "n", "no batch run is known, so only 1 tiles count", "run batch, at least once a day"),
        (
            state(1, snapshots=(RUN,)),
            (H,),
            52 * HOUR,
            "n",
            "2d 4h before the time asked: tiles are kept for 50h",
            "day",
        ),
        (
            state(0, snapshots=(LATE,)),
            (H + DAY,),
            5 * HOUR,
            "n",
            "is after the time asked, and events lie",
            "once a day",
        ),
        (state(0, snapshots=(LATE,)), (H + DAY,), 6 * HOUR, "n", "after the time asked, and no event lies between", ""),
    ],
)
def test_a_reason_says_how_far_history_and_tiles_go(
    stored: EntityState, marks: tuple[int, ...], after_us: int, name: str, words: str, todo: str
) -> None:
    at = H + after_us
    found = {HISTORY: marks}
    row = Finalizer(PLAN).values(stored, at, found)
    told = reason(Read(PLAN, store_layout(PLAN, "v"), ("u",), stored, at, found, row), name)
    assert "field b:history, stored up to" in told.source
    assert words in told.why
    assert (todo in told.todo) if todo else told.todo == ""


def test_readers_follow_a_new_version_when_its_history_is_there() -> None:
    def behind(batch: dict[str, tuple[int, ...]], live: str = "old") -> list[str]:
        meta = StoreMeta({"g": live}, {"g@old/history": (H,), "g@old/1h": (H,), **batch})
        return publishing._behind([PLAN], {"g": "new"}, meta)

    assert behind({}, "new") == []  # the first start of all: nothing to lose
    assert behind({}) == ["g"]
    assert behind({"g@new/1h": (H,)}) == ["g"]
    assert behind({"g@new/1h": (H,), "g@new/history": (H - HOUR,)}) == ["g"]
    assert behind({"g@new/1h": (H,), "g@new/history": (H,)}) == []
    only = StoreMeta({"g": "old"}, {"g@old/1h": (H,), "g@new/1h": (H,)})
    assert publishing._behind([PLAN], {"g": "new"}, only) == ["g"]


@pytest.mark.parametrize("minute", range(0, 60, 7))
def test_one_daily_run_may_fail_and_the_next_take_an_hour(minute: int) -> None:
    """Whatever the minute of the hour that runs begin at; an alert grants an hour more."""
    run = H + DAY + minute * MINUTE
    horizon = HORIZON.query_time(run)
    snapshot = Snapshot(horizon, (H, None, "7", 2.5, "1", None, 3))
    read = Finalizer(PLAN).values(state(snapshots=(snapshot,)), run + 49 * HOUR, {HISTORY: (horizon,)})["n"]
    assert (read.value, read.status) == (7, "OK")
    assert run + 25 * HOUR - horizon <= Objective().limit_us(HISTORY) - HOUR


def test_a_history_that_is_late_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "definitions.py"
    file.write_text(SOURCE)
    apply(tmp_path / "registry", file)
    registry = Registry.load(tmp_path / "registry")
    meta = StoreMeta({"g": "v"}, {"g@v/history": (H, H - DAY)})
    found = {one.tier: one.newest_us for one in freshness._tiers(registry.group("g"), registry, (), meta, H)}
    assert found == {"1d": None, HISTORY: H}
    assert Objective().limit_us(HISTORY) == 27 * HOUR + 10 * MINUTE
    assert objective(["history=3h"]).limit_us(HISTORY) == 28 * HOUR


@pytest.mark.parametrize(
    ("options", "freshness", "refused"),
    [
        ({"unique": "x"}, "realtime", "give it arrival_time= and use freshness realtime"),
        ({"unique": "x"}, "5m", "a batch run and tier 5m may keep different ones"),
        ({"unique": "x", "arrival_time": "at"}, "5m", "use freshness 1h or 1d, or put its event time"),
        ({"unique": "x", "arrival_time": "at"}, "realtime", None),
        ({"unique": ("x", "ts")}, "realtime", None),
        ({"unique": ("x", "ts")}, "5m", None),
        ({"unique": "x"}, "1h", None),
    ],
)
def test_copies_that_a_stream_and_a_batch_run_may_choose_differently(
    options: dict[str, Any], freshness: str, refused: str | None
) -> None:
    """A, first to arrive, after the horizon; its copy B before: a batch run would count B, and tiles A."""
    once = EventSource("once", event_time="ts", schema={"u": str, "x": int}, within="1d", **options)
    for source in (once, union("all", clicks, once)):

        def value(e: Any) -> None:
            return e.count()

        value.__annotations__ = {"e": source, "return": int}
        made = feature(freshness=freshness, window=lifetime)(value)
        plan: GroupPlan = feature_group(name="g", entity="u")(type("G", (), {"value": made})).plan  # type: ignore[attr-defined]
        if refused is None:
            store_layout(plan)
            continue
        with pytest.raises(UnsupportedError, match="source 'once' is unique by x") as told:
            store_layout(plan)
        assert refused in str(told.value)
        assert "online store: g.value (" in str(told.value)


@pytest.mark.parametrize(("newest", "status"), [(None, "DEGRADED"), (-40 * DAY, "DEGRADED"), (-HOUR, "OK")])
def test_a_tile_tells_of_an_event_that_a_later_horizon_lacks(newest: int | None, status: str) -> None:
    """An event that came late, or a run whose clock was ahead: the history alone would leave it out and be OK."""
    snapshot = Snapshot(H, (H if newest is None else H + newest, None, "1", 1.5, "1", None, 1))
    here = state(-1, snapshots=() if newest is None else (snapshot,))
    found = Finalizer(PLAN).values(here, H - 10 * MINUTE, {HISTORY: (H,)})
    assert (found["n"].status, found["some_12h"].status) == (status, "OK")
