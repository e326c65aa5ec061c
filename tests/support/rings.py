"""Groups of every kind of windowed number, and random rings for their entities."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from types import SimpleNamespace

from featuredsl import EventSource, feature, feature_group, on_demand, ratio, tumbling, window
from featuredsl.finalize import Finalizer
from featuredsl.online.codec import Tile, encode_ring
from featuredsl.online.layout import StoreLayout
from featuredsl.online.request import RawState
from featuredsl.plan import GroupPlan
from featuredsl.prepared import Place
from featuredsl.read_states import Kept
from featuredsl.tiles import store_layout

BASE_US = 1_700_000_000_000_000
events = EventSource("events", event_time="ts", schema={"u": str, "x": float, "n": int})
visits = EventSource("visits", event_time="ts", schema={"v": int, "y": float, "m": int})
other = EventSource("other", event_time="ts", schema={"u": str, "x": float})


@feature_group(name="numbers", entity="u")
class Numbers:
    """Windows over single tiers only."""

    @feature(freshness="realtime", window=["1h", window("1h", offset="1h"), tumbling("1h"), window("1m", hop="5s")])
    def count(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window=["1h", "12h"])
    def total(e: events) -> int:
        return e.n.sum()

    @feature(freshness="realtime", window="1h", default=-1.0)
    def spent(e: events) -> float:
        return e.x.sum()

    @feature(freshness="realtime", window="1h", default=-1.0)
    def mean(e: events) -> float:
        return e.x.mean()

    @feature(freshness="realtime", window=["1h", "12h"])
    def spread(e: events) -> float:
        return e.x.var()

    @feature(freshness="realtime", window="1h")
    def deviation(e: events) -> float:
        return e.n.std_pop()

    @feature(freshness="realtime", window="1h")
    def greatest(e: events) -> float:
        return e.x.max()

    @feature(freshness="realtime", window="1h", default=7.5)
    def least(e: events) -> float:
        return e.x.min()

    @feature(freshness="realtime", window="1h")
    def most(e: events) -> int:
        return e.n.max()

    @feature(freshness="realtime", window="1h", default=0)
    def fewest(e: events) -> int:
        return e.n.min()

    @feature(freshness="realtime", window="1h")
    def share(e: events) -> float:
        return ratio(e.filter(e.n > 2).count(), e.count())

    @feature(freshness="realtime", window="1h")
    def against_most(e: events) -> float:
        return ratio(e.x.sum(), e.n.max())


@feature_group(name="mixed", entity="u")
class Mixed:
    """The same beside what is read entity by entity."""

    @feature(freshness="realtime", window="1h")
    def count(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window="1h")
    def rate(e: events, o: other) -> float:
        return ratio(e.count(), o.count())

    @feature(freshness="realtime")
    def last(e: events) -> float:
        return e.latest().x

    @on_demand(inputs=["count"])
    def doubled(count: int) -> int:
        return 2 * count


@feature_group(name="clicks", entity="u")
class Clicks:
    """Of one shape with `visits`: other names, conditions, defaults, an entity of another type."""

    @feature(freshness="realtime", window="1h", default=5.0)
    def mean(e: events) -> float:
        return e.filter(e.n > 0).x.mean()

    @feature(freshness="realtime", window="1h", default=-3)
    def most(e: events) -> int:
        return e.n.max()


@feature_group(name="visits", entity="v")
class Visits:
    """See `clicks`."""

    @feature(freshness="realtime", window="1h")
    def typical(v: visits) -> float:
        return v.y.mean()

    @feature(freshness="realtime", window="1h", default=9)
    def highest(v: visits) -> int:
        return v.m.max()


GROUPS = (Numbers, Mixed, Clicks, Visits)
PLANS: dict[str, GroupPlan] = {group.plan.name: group.plan for group in GROUPS}  # type: ignore[attr-defined]
INT = {
    "plain": lambda rng: rng.randint(-9, 9),
    "low": lambda rng: rng.choice([-(2**63), -(2**62), -5]),
    "odd": lambda rng: rng.choice([None, 0, rng.randint(-(2**63), 2**63 - 1), 2**62, 2**63 - 1, -(2**63)]),
}
FLOAT = {
    "plain": lambda rng: rng.uniform(-1e6, 1e6),
    "odd": lambda rng: rng.choice([None, 0.0, -0.0, 1e308, math.nan, math.inf, -math.inf, rng.random()]),
}


def place(name: str, features: Sequence[str] | None = None) -> Place:
    """Where the features of a group stand."""
    plan = PLANS[name]
    return Place(Finalizer(plan, features), store_layout(plan, "v"))


def tiles_of(rng: random.Random, layout: StoreLayout, at_us: int, style: random.Random) -> dict[str, list[Tile]]:
    """Tiles near a time, by tier: all of them or some, too old or too new ones, of plain or of odd numbers."""
    found = {}
    for tier in layout.ring:
        newest, by_slot = at_us // tier.hop_us + style.choice([1, 1, 0, 4, -3]), {}
        reach = style.choice([0, tier.slots, tier.slots, 2 * tier.slots])
        share = style.choice([1.0, 1.0, 0.7])
        kinds = {
            "int": INT[style.choice(["plain", "plain", "low", "odd"])],
            "float": FLOAT[style.choice(["plain", "odd"])],
        }
        for index in range(newest - reach, newest + 1):
            if rng.random() < share:
                values = tuple(kinds[column.dtype](rng) for column in tier.columns)
                by_slot[index % tier.slots] = Tile(index, rng.randint(1, 9), index * tier.hop_us + 7, values)
        found[tier.name] = sorted(by_slot.values(), key=lambda tile: tile.index)
    return found


def entities(seed: int, at: Place, number: int) -> SimpleNamespace:
    """A time, and the tiles and the stored state of so many entities; all in one style, or each in its own."""
    rng = random.Random(seed)
    at_us = BASE_US + rng.randrange(90_000_000_000)
    alike, present = rng.random() < 0.5, rng.choice([1.0, 0.9])
    tiles = [tiles_of(rng, at.read, at_us, random.Random(seed) if alike else rng) for _ in range(number)]
    rings = [encode_ring(at.read, one) if rng.random() < present else None for one in tiles]
    fields = (None,) * len(at.read.hash_fields)
    states = [(at, Kept(RawState(ring, fields, rng.random() < 0.5), {}, 0.0, at_us)) for ring in rings]
    return SimpleNamespace(at_us=at_us, tiles=tiles, rings=rings, states=states)


def full(at: Place, number: int) -> SimpleNamespace:
    """The same with every tile of plain numbers, as most entities are read."""
    rng = random.Random(number)
    rings = []
    for _ in range(number):
        tiles = {
            tier.name: [
                Tile(i, 3, i * tier.hop_us, tuple(
                    rng.randint(0, 9) if column.dtype == "int" else rng.random() for column in tier.columns
                ))
                for i in range(BASE_US // tier.hop_us - tier.slots + 1, BASE_US // tier.hop_us + 1)
            ]
            for tier in at.read.ring
        }  # fmt: skip
        rings.append(encode_ring(at.read, tiles))
    states = [(at, Kept(RawState(ring, ()), {}, 0.0, BASE_US)) for ring in rings]
    return SimpleNamespace(at_us=BASE_US, rings=rings, states=states)
