"""Lifetimes as they are read: the partials of a batch run up to its horizon, merged with the tiles since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from featuredsl.aggregators import Partial, merge_values
from featuredsl.horizon import HISTORY, HOP_US, HistoryColumns, history_columns, is_text, needs_history
from featuredsl.nodes import Value
from featuredsl.online.codec import SNAPSHOTS_KEPT, Snapshot, Tile
from featuredsl.online.request import EntityState
from featuredsl.online.ring import FIXED, RingTiles
from featuredsl.plan import GroupPlan, StoredFeature, WindowFeature
from featuredsl.tiles import TileTier, ahead_tiles, tile_tiers

Slot = tuple[Any, ...]
"""The numbers of a filled slot of a ring."""


@dataclass(frozen=True, slots=True)
class Base:
    """What a batch run says of an entity: everything before the horizon; no `values`: it had no event."""

    horizon_us: int
    values: tuple[Value, ...] | None


@dataclass(frozen=True, slots=True)
class Whole:
    """The merged partials of each feature, by column, and the newest event. `base` is None where no run is known; so
    many `tiles` count beside it.

    `is_short`: a part of the history is missing, or `base` holds events after the time asked.
    """

    columns: Sequence[Mapping[str, Value]]
    newest_us: int | None
    base: Base | None
    tiles: int
    is_short: bool


def bases_at(snapshots: Sequence[Snapshot], marks: Sequence[int], at_us: int) -> list[Base]:
    """The runs that may answer a read at t: the newest with a horizon at or before t, then the first one after.

    A completed run that wrote nothing for an entity found no event of it. Where the entity has as many snapshots as
    are kept, that does not hold for runs before them: their snapshot may have made room.
    """
    oldest = min(one.as_of_us for one in snapshots) if len(snapshots) >= SNAPSHOTS_KEPT else None
    known: dict[int, tuple[Value, ...] | None] = {m: None for m in marks if oldest is None or m > oldest}
    known |= {one.as_of_us: one.values for one in snapshots}
    before, after = [t for t in known if t <= at_us], [t for t in known if t > at_us]
    times = [*([max(before)] if before else []), *([min(after)] if after else [])]
    return [Base(time_us, known[time_us]) for time_us in times]


class History:
    """Lifetime features of the same tier and sources, computed together."""

    def __init__(self, plan: GroupPlan, columns: HistoryColumns, features: Sequence[WindowFeature]) -> None:
        self.features = tuple(features)
        kept = {t.source: t for t in tile_tiers(plan) if (t.hop_us, t.freshness) == (HOP_US, features[0].freshness)}
        self._tiers = [kept[name] for name in features[0].source_names]
        self._newest = [columns.newest_at(tier.source) for tier in self._tiers]
        used = dict.fromkeys(partial for feature in features for partial in feature.aggregate.partials)
        self._parts = [
            (p, self._tiers.index(kept[p.source]), kept[p.source].partials.index(p), columns.partial_at(p))
            for p in used
        ]
        place = {partial: i for i, partial in enumerate(used)}
        self._places = [[(f"p{i}", place[p]) for i, p in enumerate(f.aggregate.partials)] for f in features]

    def found(self, state: EntityState, marks: Mapping[str, Sequence[int]], at_us: int) -> Whole:
        """The history and the tiles before `at_us` as one: of the first run that has all of it, else of the newest."""
        bases = bases_at(state.batch.get(HISTORY, ()), marks.get(HISTORY, ()), at_us)
        base = next((base for base in bases if self._is_whole(base, state, at_us)), None)
        if base is not None:
            return self._merged(base, state, at_us, is_short=False)
        return self._merged(bases[0] if bases else None, state, at_us, is_short=True)

    def _is_whole(self, base: Base, state: EntityState, at_us: int) -> bool:
        """True when the tiles since the horizon are all kept, or no event lies between t and a later horizon, and no
        tile before t has one that came after the run."""
        if base.horizon_us <= at_us:
            first = base.horizon_us // HOP_US
            return all(first >= _first_kept(tier, state.ring[tier.name], at_us) for tier in self._tiers)
        newest = self._newest_of(base)
        return (newest is None or newest < at_us) and not self._is_outrun(base, state, -(-at_us // HOP_US))

    def _is_outrun(self, base: Base, state: EntityState, high: int) -> bool:
        """True when a tile before `high` holds an event that is newer than all that the run knew of its source."""
        for tier, at in zip(self._tiers, self._newest, strict=True):
            newest = None if base.values is None else base.values[at]
            slots = _slots(tier, state.ring[tier.name], high - tier.slots, high)
            if any(not isinstance(newest, int) or slot[2] > newest for slot in slots):
                return True
        return False

    def _newest_of(self, base: Base | None) -> int | None:
        if base is None or base.values is None:
            return None
        times = [time_us for i in self._newest if isinstance(time_us := base.values[i], int)]
        return max(times, default=None)

    def _merged(self, base: Base | None, state: EntityState, at_us: int, *, is_short: bool) -> Whole:
        high = -(-at_us // HOP_US)
        slots = [
            _slots(tier, state.ring[tier.name], high - tier.slots if base is None else base.horizon_us // HOP_US, high)
            for tier in self._tiers
        ]
        stored = None if base is None else base.values
        merged = [
            merge_values(part.merge, [_before(part, stored, column), *_column(slots[tier], at)])
            for part, tier, at, column in self._parts
        ]
        newest = self._newest_of(base)
        times = [*([] if newest is None else [newest]), *(slot[2] for found in slots for slot in found)]
        columns = [{name: merged[at] for name, at in places} for places in self._places]
        return Whole(columns, max(times, default=None), base, sum(map(len, slots)), is_short)


def histories(plan: GroupPlan, features: Iterable[StoredFeature]) -> list[History]:
    """Those of the features that are streamed lifetimes, by what is read for them."""
    columns = history_columns(plan)
    found: dict[tuple[str, tuple[str, ...]], list[WindowFeature]] = {}
    for feature in features:
        if isinstance(feature, WindowFeature) and needs_history(feature):
            found.setdefault((feature.freshness, feature.source_names), []).append(feature)
    return [] if columns is None else [History(plan, columns, of) for of in found.values()]


def _before(partial: Partial, stored: Sequence[Value] | None, column: int) -> Value:
    value = None if stored is None else stored[column]
    return int(value) if is_text(partial) and isinstance(value, str) else value


def _column(slots: Sequence[Slot], at: int) -> list[Value]:
    """The numbers of a column that are not null."""
    return [slot[FIXED + at] for slot in slots if not slot[3] >> at & 1]


def _slots(tier: TileTier, tiles: Sequence[Tile], low: int, high: int) -> list[Slot]:
    """The filled slots of the tiles from `low` to before `high`, of as many as are kept."""
    if type(tiles) is not RingTiles:
        return [_slot(tile) for tile in tiles if low <= tile.index < high]
    numbers, width, found = tiles.numbers, tiles.width, []
    for tile in range(max(low, high - tier.slots), high):
        at = tile % tier.slots * width
        if numbers[at] == tile and numbers[at + 1]:
            found.append(numbers[at : at + width])
    return found


def _slot(tile: Tile) -> Slot:
    nulls = sum(1 << i for i, value in enumerate(tile.values) if value is None)
    return (tile.index, tile.rows, tile.high_water_us, nulls, *tile.values)


def _first_kept(tier: TileTier, tiles: Sequence[Tile], at_us: int) -> int:
    """The first tile that none of a later time can have overwritten."""
    newest = at_us // HOP_US + ahead_tiles(HOP_US)
    if type(tiles) is not RingTiles or max(tiles.numbers[:: tiles.width]) > newest:
        newest = max(newest, tiles[-1].index if tiles else newest)
    return newest - tier.slots + 1
