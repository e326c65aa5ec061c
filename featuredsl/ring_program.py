"""Windows over one ring tier, computed for many entities: what follows from the time asked alone is worked out once.

The meaning is that of `Finalizer`'s general path, which stays for everything else; a test compares them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from featuredsl.aggregators import Aggregate, merge_values, total
from featuredsl.evaluate import evaluate
from featuredsl.nodes import Call, Column, Literal, Node, Value
from featuredsl.online.layout import StoreLayout
from featuredsl.online.ring import FIXED
from featuredsl.plan import GroupPlan, WindowFeature
from featuredsl.tiles import TileTier, tile_tiers
from featuredsl.windows import Window

_KEPT: Final = 64
_MERGES: Final[dict[str, Callable[[Any], Any]]] = {"sum": total, "min": min, "max": max}
Finish = Callable[[Sequence[Value]], Value]


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of some tiles, by tile index, and where their numbers stand: from `first` on, then up to `rest`."""

    tiles: tuple[int, ...]
    slots: tuple[int, ...]
    first: int
    last: int
    rest: int


class RingProgram:
    """The features of one window over one tier. `features` are those whose values `values` gives, in order; a value is
    `finish` of the merged `columns` (place among the tier's, merge), of which it needs those at `places`."""

    def __init__(self, tier: TileTier, window: Window, features: Sequence[WindowFeature]) -> None:
        self.tier, self.window, self.features = tier.name, window, tuple(features)
        self._hop_us, self._count, self._width = tier.hop_us, tier.slots, FIXED + len(tier.partials)
        self.names = tuple(feature.name for feature in features)
        used = dict.fromkeys(partial for feature in features for partial in feature.aggregate.partials)
        self.columns = [(tier.partials.index(partial), partial.merge) for partial in used]
        self._merges = [(_MERGES[merge], slice(FIXED + i, None, self._width)) for i, merge in self.columns]
        place = {partial: i for i, partial in enumerate(used)}
        self.places = [[place[p] for p in feature.aggregate.partials] for feature in features]
        self.finish = [_finish(f.aggregate, places) for f, places in zip(features, self.places, strict=True)]
        self._known: dict[tuple[int, int], Slots] = {}
        self._last = (0, self._at(0))

    def values(self, numbers: tuple[Any, ...], at_us: int) -> tuple[list[Value], int | None]:
        """The value of every feature asked at `at_us`, and the newest event inside, from all numbers of the tier."""
        slots, width = self.slots(at_us), self._width
        inside = numbers[slots.first : slots.last]
        if slots.rest:
            inside += numbers[: slots.rest]
        if inside[::width] != slots.tiles or 0 in inside[1::width] or any(inside[3::width]):
            return self._sparse(slots, numbers)
        merged = [merge(inside[at]) for merge, at in self._merges]
        return [finish(merged) for finish in self.finish], int(max(inside[2::width]))

    def shape(self, layout: StoreLayout) -> tuple[object, ...]:
        """All that decides what `values` gives; names and what is counted where are not of it."""
        dtypes = [column.dtype for column in layout.ring_tier(self.tier).columns]
        nodes = [repr(feature.aggregate.finalize) for feature in self.features]
        window = (self.window, self._hop_us, self._count, self._width, layout.offset(self.tier))
        return (*window, self.columns, dtypes, self.places, nodes)

    def slots(self, at_us: int) -> Slots:
        """The slots of the window asked at `at_us`."""
        asked, slots = self._last
        if asked != at_us:
            slots = self._at(at_us)
            self._last = (at_us, slots)
        return slots

    def _sparse(self, slots: Slots, numbers: Sequence[Any]) -> tuple[list[Value], int | None]:
        """The same where tiles are missing or hold nulls."""
        width = self._width
        inside = [
            slot * width
            for slot, tile in zip(slots.slots, slots.tiles, strict=True)
            if numbers[slot * width] == tile and numbers[slot * width + 1]
        ]
        merged = [
            merge_values(merge, [numbers[at + FIXED + i] for at in inside if not numbers[at + 3] >> i & 1])
            for i, merge in self.columns
        ]
        newest = max((numbers[at + 2] for at in inside), default=None)
        return [finish(merged) for finish in self.finish], newest

    def _at(self, at_us: int) -> Slots:
        low, high = self.window.bounds(at_us)
        at = (-(-low // self._hop_us), -(-high // self._hop_us))
        return self._known.get(at) or self._learn(at)

    def _learn(self, at: tuple[int, int]) -> Slots:
        tiles = tuple(range(*at))
        slots = tuple(tile % self._count for tile in tiles)
        first, rest = slots[0], max(slots[0] + len(slots) - self._count, 0)
        found = Slots(tiles, slots, first * self._width, (first + len(slots) - rest) * self._width, rest * self._width)
        if len(self._known) >= _KEPT:
            self._known = {}
        self._known[at] = found
        return found


def programs(plan: GroupPlan, features: Sequence[object]) -> list[RingProgram]:
    """The programs for those of the features that are realtime windows over numbers of a single tier."""
    tiers = {(tier.source, tier.hop_us): tier for tier in tile_tiers(plan) if tier.freshness == "realtime"}
    found: dict[tuple[str, int, Window], list[WindowFeature]] = {}
    for feature in features:
        if isinstance(feature, WindowFeature) and feature.freshness == "realtime" and not feature.aggregate.wide:
            parts, hop_us = feature.aggregate.partials, feature.window.tile_us
            sources = {partial.source for partial in parts}
            if hop_us is not None and len(sources) == 1 and {p.dtype for p in parts} <= {"int", "float"}:
                found.setdefault((sources.pop(), hop_us, feature.window), []).append(feature)
    return [RingProgram(tiers[source, hop], window, of) for (source, hop, window), of in found.items()]


def _finish(aggregate: Aggregate, places: Sequence[int]) -> Finish:
    """From merged columns to the value; the usual shapes without walking the expression."""
    node, first = aggregate.finalize, places[0]
    if _is_column(node, 0):
        return itemgetter(first)
    if isinstance(node, Call) and node.op == "coalesce" and node.dtype == "int" and len(node.args) == 2:
        column, other = node.args
        if _is_column(column, 0) and isinstance(other, Literal) and type(other.value) is int:
            instead = other.value
            return lambda merged: instead if merged[first] is None else merged[first]
    if isinstance(node, Call) and node.op == "/" and all(_is_float_of(arg, i) for i, arg in enumerate(node.args)):
        second = places[1]
        return lambda merged: _quotient(merged[first], merged[second])
    names = [f"p{i}" for i in range(len(places))]
    return lambda merged: evaluate(node, {name: merged[at] for name, at in zip(names, places, strict=True)})


def _is_column(node: Node, number: int) -> bool:
    return isinstance(node, Column) and node.name == f"p{number}"


def _is_float_of(node: Node, number: int) -> bool:
    return isinstance(node, Call) and node.op == "to_float" and _is_column(node.args[0], number)


def _quotient(left: Any, right: Any) -> float | None:
    if left is None or right is None or right == 0:
        return None
    left, right = float(left), float(right)
    if not (math.isfinite(left) and math.isfinite(right)):
        return None
    found = left / right
    return found if math.isfinite(found) else None
