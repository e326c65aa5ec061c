"""The tier of closed minutes without a stream: what stands where, what a read gives, what it costs, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from featuredsl import EventSource, TableSource, feature, feature_group, ratio, tumbling, window
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.costs import backfills, cost
from featuredsl.errors import UnsupportedError
from featuredsl.finalize import FeatureValue, Finalizer
from featuredsl.online.codec import Rank, Tile
from featuredsl.online.meta import parse_meta
from featuredsl.online.request import EntityState
from featuredsl.online.wide_codec import WideTile
from featuredsl.plan import GroupPlan
from featuredsl.read_reasons import Read, reason
from featuredsl.tiles import latest_mark, longest_reach_us, state_tiers, store_layout, tile_tiers
from featuredsl.times import MINUTE, SECOND

clicks = EventSource("clicks", event_time="ts", schema={"user": str, "item": str, "price": float})
shows = EventSource("shows", event_time="ts", schema={"user": str})
CONFIG = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")
START = 1_767_261_600_000_000  # 2026-01-01T10:00:00Z
TILES, STATES, SHOWN, LATEST = "clicks/5m@5m", "clicks/5m@5m/states", "shows/5m@5m", "clicks/latest@5m"


@feature_group(name="g", entity="user")
class G:
    @feature(freshness="realtime", window="1h")
    def live(c: clicks) -> int:
        return c.count()

    @feature(freshness="5m", window="1h")
    def n(c: clicks) -> int:
        return c.count()

    @feature(freshness="5m", window="1h", default=-1.0)
    def spent(c: clicks) -> float:
        return c.price.sum()

    @feature(freshness="5m", window="1h")
    def rate(c: clicks, s: shows) -> float | None:
        return ratio(c.count(), s.count())

    @feature(freshness="5m", window="1h")
    def first(c: clicks) -> str | None:
        return c.item.min()

    @feature(freshness="5m", ttl="10m")
    def item(c: clicks) -> str | None:
        return c.latest().item


PLAN: GroupPlan = G.plan  # type: ignore[attr-defined]


def tile(minute: int, rows: int, newest: int, *values: float | None) -> Tile:
    return Tile((START + minute * MINUTE) // (5 * MINUTE), rows, START + newest, values)


def read(at: int, closed: dict[str, int], exists: bool = True) -> dict[str, FeatureValue]:
    """A read of what is closed up to 7 minutes after the start: two clicks before, one after five minutes."""
    state = EntityState(
        exists,
        {
            "clicks/5m": (),
            TILES: (tile(0, 2, 4 * MINUTE, 2, 3.5), tile(5, 1, 6 * MINUTE, 1, None)) if exists else (),
            SHOWN: (tile(0, 8, MINUTE, 8),) if exists else (),
        },
        {"item": Rank(START + 6 * MINUTE, ("user", "item", 1.0))} if exists else {},
        {},
        {TILES: (WideTile(START // (5 * MINUTE), 2, START + 4 * MINUTE, (None,), (0,)),) if exists else ()},
    )
    return Finalizer(PLAN).values(state, START + at, {mark: (START + us,) for mark, us in closed.items()})


ALL = dict.fromkeys((TILES, STATES, SHOWN, LATEST), 7 * MINUTE)


def test_a_value_is_that_of_the_last_minute_that_the_delay_lets_close() -> None:
    for at in (7 * MINUTE + 30 * SECOND, 8 * MINUTE + 30 * SECOND - 1):
        found = read(at, ALL)
        assert found["n"] == FeatureValue(3, "OK", START + 7 * MINUTE, START + 6 * MINUTE)
        assert found["spent"] == FeatureValue(3.5, "OK", START + 7 * MINUTE, START + 6 * MINUTE)
        assert found["rate"] == FeatureValue(0.375, "OK", START + 7 * MINUTE, START + 6 * MINUTE)
        assert found["item"] == FeatureValue("item", "OK", START + 7 * MINUTE, START + 6 * MINUTE)
        assert (found["live"].status, found["live"].as_of_us) == ("OK", START + at)


def test_behind_is_stale_and_the_value_is_as_of_what_is_closed() -> None:
    found = read(69 * MINUTE + 30 * SECOND, ALL)
    assert found["n"] == FeatureValue(3, "STALE", START + 7 * MINUTE, START + 6 * MINUTE)
    assert found["item"] == FeatureValue("item", "STALE", START + 7 * MINUTE, START + 6 * MINUTE)
    assert read(69 * MINUTE + 30 * SECOND, dict.fromkeys(ALL, 69 * MINUTE))["n"].value == 1
    expired = read(17 * MINUTE + 30 * SECOND, dict.fromkeys(ALL, 17 * MINUTE))["item"]
    assert expired == FeatureValue(None, "EXPIRED", START + 17 * MINUTE, START + 6 * MINUTE)


def test_of_several_sources_the_one_that_is_least_far_decides() -> None:
    found = read(7 * MINUTE + 30 * SECOND, ALL | {SHOWN: 5 * MINUTE})
    assert (found["n"].status, found["rate"].status) == ("OK", "STALE")
    assert (found["rate"].value, found["rate"].as_of_us) == (0.25, START + 5 * MINUTE)


def test_without_a_mark_nothing_is_known() -> None:
    found = read(7 * MINUTE + 30 * SECOND, {mark: us for mark, us in ALL.items() if mark != TILES})
    assert found["n"] == FeatureValue(0, "STALE", None, None)
    assert found["spent"] == FeatureValue(-1.0, "STALE", None, None)
    assert found["rate"] == FeatureValue(None, "STALE", None, None)
    assert found["item"].status == "OK"
    assert {value.status for name, value in read(MINUTE, {}, exists=False).items()} == {"NOT_FOUND"}


def test_a_state_that_was_too_large_degrades_a_stale_value_too() -> None:
    assert read(9 * MINUTE, ALL)["first"].status == "DEGRADED"


def test_a_read_in_the_past_tells_that_it_is_ahead() -> None:
    found = read(6 * MINUTE + 30 * SECOND, ALL)["n"]
    assert found == FeatureValue(3, "OK", START + 6 * MINUTE + 1, START + 6 * MINUTE)


def test_a_reason_tells_how_far_the_tier_is_closed() -> None:
    def why(at: int, marks: dict[str, int], name: str) -> tuple[str, str]:
        row = read(at, marks)
        state = EntityState(True, {TILES: (tile(5, 1, 6 * MINUTE, 1, None),)}, {}, {})
        found = reason(Read(PLAN, store_layout(PLAN, "v"), ("u",), state, START + at, {}, row), name)
        return found.why, found.todo

    newest = "2026-01-01T10:06:00.000000Z (1m before)"
    assert why(7 * MINUTE + 30 * SECOND, ALL, "n") == (f"newest event {newest}", "")
    stale, todo = why(9 * MINUTE + 30 * SECOND, ALL, "n")
    assert stale == (
        f"closed up to 2026-01-01T10:07:00.000000Z, 2m behind what tier 5m promises; newest event {newest}"
    )
    assert "heartbeats" in todo
    assert why(9 * MINUTE + 30 * SECOND, ALL, "item")[0].endswith(f"promises; latest event {newest}")
    assert why(9 * MINUTE, {}, "n")[0] == "no minute is closed yet"


def test_tiers_of_closed_minutes_stand_beside_the_realtime_ones() -> None:
    assert [(tier.name, tier.mark) for tier in tile_tiers(PLAN)] == [
        ("clicks/5m", "clicks/5m"),
        (TILES, TILES),
        (SHOWN, SHOWN),
    ]
    assert [(tier.name, tier.mark) for tier in state_tiers(PLAN)] == [(TILES, STATES)]
    assert latest_mark("clicks", "5m") == LATEST
    layout = store_layout(PLAN, "v")
    assert layout.offset(TILES) == 8 + 14 * 40
    assert layout.wide[0].field_prefix == f"t:{TILES}:"
    assert longest_reach_us(PLAN) == 66 * MINUTE + 30 * SECOND
    assert {backfill.span_us for backfill in backfills(PLAN)} == {66 * MINUTE + 30 * SECOND}


def test_marks_of_a_version_are_read_with_the_versions() -> None:
    closed = {b"g@v/a/1m@5m": b"120000000 job/2 180000000 120000000", b"g@v/b/1m@5m": b"- job/2 - 60000000"}
    meta = parse_meta([{b"g": b"v"}, {b"g@v/1h": b"9,5"}, closed])
    assert meta.completed("g", "v") == {"1h": (9, 5), "a/1m@5m": (120_000_000,), "b/1m@5m": ()}
    assert meta.closed_marks("g", "other") == {}
    assert parse_meta([[], [], []]).completed("g", "v") == {}


def one(**options: object) -> GroupPlan:
    @feature_group(name="one", entity="user")
    class One:
        @feature(**options)  # type: ignore[arg-type]
        def n(c: clicks) -> int:
            return c.count()

    return One.plan  # type: ignore[attr-defined, no-any-return]


def test_state_of_closed_minutes_goes_with_the_watermark() -> None:
    live, closed = cost(one(freshness="realtime", window="1h")), cost(one(freshness="5m", window="1h"))
    assert closed.ring_bytes == live.ring_bytes
    assert closed.state_bytes == live.state_bytes // 26
    short = cost(one(freshness="5m", window="10m"))
    assert short.state_bytes == 2 * closed.state_bytes


@pytest.mark.parametrize("kind", [window("15m", hop="90s"), tumbling("90s"), window("15m", hop="45s")])
def test_tiles_that_do_not_fit_minutes_are_refused(kind: object) -> None:
    plan = one(freshness="5m", window=kind)
    layout = store_layout(one(freshness="5m", window="1h"))
    for target, compile_it in (
        ("flink", lambda: statements([GroupTarget(plan, layout)], CONFIG)),
        ("online store", lambda: store_layout(plan)),
    ):
        with pytest.raises(UnsupportedError) as caught:
            compile_it()
        text = str(caught.value)
        wanted = [f"{target}: one.n (", "test_closed.py:", "tier 5m closes periods of 1m", "use a hop="]
        assert [part for part in wanted if part not in text] == []


@pytest.mark.parametrize(
    ("hop", "windows"),
    [
        ("5s", "TUMBLE(TABLE `clicks__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE)"),
        ("1m", "TUMBLE(TABLE `clicks__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE)"),
        (
            "2h",
            "CUMULATE(TABLE `clicks__in_time`, DESCRIPTOR(`_rowtime`), INTERVAL '1' MINUTE, INTERVAL '120' MINUTE(3))",
        ),
    ],
)
def test_windows_of_flink_end_with_the_minute(hop: str, windows: str) -> None:
    plan = one(freshness="5m", window=window("4h", hop=hop))
    insert = statements([GroupTarget(plan, store_layout(plan, "v"))], CONFIG)[-1]
    assert f"FROM TABLE({windows})" in insert
    assert ("HAVING" in insert) == windows.startswith("CUMULATE")


plain = EventSource("buys", event_time="ts", schema={"u": str, "x": int})
odd = EventSource("odd", event_time="ts", schema={"u": str, "x": int, "rowtime": int})
makers = TableSource("makers", key="x", valid_from="since", schema={"x": int, "p": int})
items = TableSource("items", key="x", valid_from="since", schema={"x": int, "rowtime": int})


@feature_group(name="of_base", entity="u")
class OfBase:
    @feature(freshness="5m", window="10m")
    def total(e: odd) -> int | None:
        return e.join(makers).p.sum()


@feature_group(name="of_table", entity="u")
class OfTable:
    @feature(freshness="5m", window="10m")
    def total(e: plain) -> int | None:
        return e.join(items).rowtime.sum()


@pytest.mark.parametrize("group", [OfBase, OfTable])
def test_the_time_of_a_joined_event_is_no_column_of_that_name(group: Any) -> None:
    plan: GroupPlan = group.plan
    program = "\n".join(statements([GroupTarget(plan, store_layout(plan, "v"))], CONFIG))
    assert "`rowtime0` AS `_rowtime` FROM TABLE(fdsl_as_of(" in program


def test_only_sources_of_closed_minutes_have_event_time() -> None:
    program = "\n".join(statements([GroupTarget(PLAN, store_layout(PLAN, "v"))], CONFIG))
    assert program.count("WATERMARK FOR `_rowtime` AS `_rowtime` - INTERVAL '30.001' SECOND") == 2
    assert program.count("'topic' = 'p.clicks.late'") == program.count("'topic' = 'p.shows.late'") == 1
    plan = one(freshness="realtime", window="1h")
    live = "\n".join(statements([GroupTarget(plan, store_layout(plan, "v"))], CONFIG))
    assert [word for word in ("WATERMARK", "_rowtime", "__late", "mark-") if word in live] == []
