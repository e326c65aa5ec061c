"""A lifetime as it is read: the partials of a batch run up to its horizon, merged with the tiles since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from featuredsl.aggregators import merge_values
from featuredsl.horizon import HISTORY, HOP_US, HistoryColumns, history_columns, is_text, needs_history
from featuredsl.nodes import Value
from featuredsl.online.codec import SNAPSHOTS_KEPT, Snapshot, Tile
from featuredsl.online.request import EntityState
from featuredsl.plan import GroupPlan, WindowFeature
from featuredsl.tiles import TileTier, ahead_tiles, tile_tiers


@dataclass(frozen=True, slots=True)
class Base:
    """What a batch run says of an entity: everything before the horizon; no `values`: it had no event."""

    horizon_us: int
    values: tuple[Value, ...] | None


@dataclass(frozen=True, slots=True)
class Whole:
    """A feature's merged partials, by column, and its newest event. `base` is None where no run is known; so many
    `tiles` count beside it.

    `is_short`: a part of the history is missing, or `base` holds events after the time asked.
    """

    columns: Mapping[str, Value]
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
    """Where the parts of a lifetime feature stand."""

    def __init__(self, plan: GroupPlan, columns: HistoryColumns, feature: WindowFeature) -> None:
        tiers = {t.source: t for t in tile_tiers(plan) if (t.hop_us, t.freshness) == (HOP_US, feature.freshness)}
        partials = feature.aggregate.partials
        self._parts = [(p, tiers[p.source], tiers[p.source].partials.index(p), columns.partial_at(p)) for p in partials]
        self._tiers = tuple({p.source: tiers[p.source] for p in partials}.values())
        self._newest = [columns.newest_at(tier.source) for tier in self._tiers]

    def found(self, state: EntityState, marks: Mapping[str, Sequence[int]], at_us: int) -> Whole:
        """The history and the tiles before `at_us` as one: of the first run that has all of it, else of the newest."""
        bases = bases_at(state.batch.get(HISTORY, ()), marks.get(HISTORY, ()), at_us)
        base = next((base for base in bases if self._is_whole(base, state, at_us)), None)
        if base is not None:
            return self._merged(base, state, at_us, is_short=False)
        return self._merged(bases[0] if bases else None, state, at_us, is_short=True)

    def _is_whole(self, base: Base, state: EntityState, at_us: int) -> bool:
        """True when the tiles since the horizon are all kept, or no event lies between t and a later horizon."""
        if base.horizon_us <= at_us:
            return all(base.horizon_us // HOP_US >= _first_kept(tier, state, at_us) for tier in self._tiers)
        newest = self._newest_of(base)
        return newest is None or newest < at_us

    def _newest_of(self, base: Base) -> int | None:
        if base.values is None:
            return None
        times = [time_us for i in self._newest if isinstance(time_us := base.values[i], int)]
        return max(times, default=None)

    def _merged(self, base: Base | None, state: EntityState, at_us: int, *, is_short: bool) -> Whole:
        tiles = {tier.name: _tiles(tier, state, base, at_us) for tier in self._tiers}
        stored = None if base is None else base.values
        columns: dict[str, Value] = {}
        for i, (partial, tier, at, column) in enumerate(self._parts):
            value = None if stored is None else stored[column]
            if is_text(partial) and isinstance(value, str):
                value = int(value)
            columns[f"p{i}"] = merge_values(partial.merge, [value, *(tile.values[at] for tile in tiles[tier.name])])
        waters = [tile.high_water_us for found in tiles.values() for tile in found]
        before = None if base is None else self._newest_of(base)
        newest = max([*waters, *([] if before is None else [before])], default=None)
        return Whole(columns, newest, base, len(waters), is_short)


def histories(plan: GroupPlan) -> dict[str, History]:
    """Those of the lifetime features that a stream keeps, by name."""
    columns = history_columns(plan)
    if columns is None:
        return {}
    needing = [f for f in plan.features if isinstance(f, WindowFeature) and needs_history(f)]
    return {feature.name: History(plan, columns, feature) for feature in needing}


def _tiles(tier: TileTier, state: EntityState, base: Base | None, at_us: int) -> list[Tile]:
    tiles = [tile for tile in state.ring[tier.name] if tile.index * HOP_US < at_us]
    return tiles if base is None else [tile for tile in tiles if tile.index * HOP_US >= base.horizon_us]


def _first_kept(tier: TileTier, state: EntityState, at_us: int) -> int:
    """The first tile that none of a later time can have overwritten."""
    tiles = state.ring[tier.name]
    latest = at_us // HOP_US + ahead_tiles(HOP_US)
    return max(latest, tiles[-1].index if tiles else latest) - tier.slots + 1
