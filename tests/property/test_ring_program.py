"""Windows over rings: whatever tiles stand there, missing, stale or with nulls, the value is that of a recount."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from featuredsl import EventSource, feature, feature_group, ratio, tumbling, window
from featuredsl.finalize import FeatureValue, Finalizer
from featuredsl.online.codec import Tile, decode_ring, encode_ring
from featuredsl.online.request import EntityState
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout, tile_tiers

events = EventSource("events", event_time="ts", schema={"u": str, "x": float, "n": int})
other = EventSource("other", event_time="ts", schema={"u": str, "x": float})


@feature_group(name="g", entity="u")
class G:
    @feature(freshness="realtime", window=["1h", window("1h", offset="1h"), tumbling("1h"), window("1m", hop="5s")])
    def count(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window=["1h", "12h"])
    def total(e: events) -> int:
        return e.n.sum()

    @feature(freshness="realtime", window="1h", default=-1.0)
    def mean(e: events) -> float:
        return e.x.mean()

    @feature(freshness="realtime", window="1h")
    def spread(e: events) -> float:
        return e.x.var()

    @feature(freshness="realtime", window="1h")
    def greatest(e: events) -> float:
        return e.x.max()

    @feature(freshness="realtime", window="1h")
    def rate(e: events, o: other) -> float:
        return ratio(e.count(), o.count())


PLAN: GroupPlan = G.plan  # type: ignore[attr-defined]
LAYOUT = store_layout(PLAN)
FINALIZER = Finalizer(PLAN)
BASE_US = 1_700_000_000_000_000
NUMBERS = {
    "int": st.one_of(st.none(), st.integers(-(2**62), 2**62), st.integers(0, 3)),
    "float": st.one_of(st.none(), st.floats(-1e6, 1e6), st.sampled_from([0.0, math.nan, math.inf])),
}


@st.composite
def rings(draw: st.DrawFn) -> tuple[int, dict[str, list[Tile]]]:
    at_us = BASE_US + draw(st.integers(0, 90_000_000_000))
    found = {}
    for tier in LAYOUT.ring:
        newest = at_us // tier.hop_us
        reach = draw(st.sampled_from([0, 1, tier.slots, 2 * tier.slots]))
        everything = draw(st.booleans())
        tiles = {}
        for index in range(newest - reach, newest + 2):
            if everything or draw(st.booleans()):
                values = tuple(draw(NUMBERS[column.dtype]) for column in tier.columns)
                tiles[index % tier.slots] = Tile(index, draw(st.integers(1, 9)), index * tier.hop_us + 7, values)
        found[tier.name] = sorted(tiles.values(), key=lambda tile: tile.index)
    return at_us, found


def merged(merge: str, values: list[Any]) -> Any:
    """Null for a sum that leaves 64 bits."""
    kept = [value for value in values if value is not None]
    found = {"sum": sum, "min": min, "max": max}[merge](kept) if kept else None
    return None if isinstance(found, int) and not -(2**63) <= found < 2**63 else found


def plainly(value: FeatureValue) -> tuple[object, ...]:
    """Comparable: NaN is a text."""
    shown = "nan" if value.value != value.value else value.value
    return shown, value.status, value.as_of_us, value.event_time_us


@given(rings(), st.booleans())
def test_bytes_and_tiles_give_the_same(ring: tuple[int, dict[str, list[Tile]]], exists: bool) -> None:
    at_us, tiles = ring
    decoded = decode_ring(LAYOUT, encode_ring(LAYOUT, tiles))
    assert {name: len(found) for name, found in decoded.items()} == {name: len(found) for name, found in tiles.items()}
    quick = FINALIZER.values(EntityState(exists, decoded, {}, {}), at_us, {})
    plain = FINALIZER.values(EntityState(exists, {n: tuple(t) for n, t in tiles.items()}, {}, {}), at_us, {})
    assert list(quick) == list(plain) == list(PLAN.feature_names)
    assert {n: plainly(v) for n, v in quick.items()} == {n: plainly(v) for n, v in plain.items()}


@given(rings())
def test_counts_and_sums_are_those_of_a_recount(ring: tuple[int, dict[str, list[Tile]]]) -> None:
    at_us, tiles = ring
    found = FINALIZER.values(EntityState(True, decode_ring(LAYOUT, encode_ring(LAYOUT, tiles)), {}, {}), at_us, {})
    tiers = {(tier.source, tier.hop_us): tier for tier in tile_tiers(PLAN)}
    for one in PLAN.features:
        if one.name.startswith(("count", "total", "greatest")):
            (partial,) = one.aggregate.partials  # type: ignore[union-attr]
            tier = tiers[partial.source, one.window.tile_us]  # type: ignore[union-attr, index]
            low, high = one.window.bounds(at_us)  # type: ignore[union-attr]
            inside = [t for t in tiles[tier.name] if low <= t.index * tier.hop_us < high]
            want = merged(partial.merge, [t.values[tier.partials.index(partial)] for t in inside])
            want = 0 if want is None and one.name.startswith("count") else want
            got = found[one.name].value
            assert got == want or (got != got and want != want), one.name
