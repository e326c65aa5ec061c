"""Where the parts of streamed windows stand in what is stored for an entity, and what they are over a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from featuredsl.aggregators import Merge, Partial, WidePartial, merge_values
from featuredsl.horizon import tile_us
from featuredsl.nodes import Value
from featuredsl.online.codec import Tile
from featuredsl.online.request import EntityState
from featuredsl.online.wide_codec import WideTile
from featuredsl.plan import GroupPlan, WindowFeature
from featuredsl.tiles import StateTier, TileTier, is_fixed, state_tiers, stream_windows, tile_tiers
from featuredsl.wide.monoid import Monoid
from featuredsl.wide.plain import Plain
from featuredsl.wide.table import kept_as, monoid_of


@dataclass(frozen=True, slots=True)
class Part:
    """A part over a window: its value, the time of the newest event, and whether tiles lack its state."""

    value: Value
    newest_us: int | None
    is_short: bool = False


@dataclass(frozen=True, slots=True)
class Place(ABC):
    """A part of a feature: its column in the expression of the value, its tier and that one's mark, where it stands in
    the tier's tiles."""

    column: str
    tier: str
    mark: str
    hop_us: int
    at: int

    @abstractmethod
    def found(self, state: EntityState, low: int, high: int, at_us: int) -> Part:
        """The part over the tiles that begin in `[low, high)`, asked at a time."""


@dataclass(frozen=True, slots=True)
class RingPlace(Place):
    """A number of the ring."""

    merge: Merge

    def found(self, state: EntityState, low: int, high: int, at_us: int) -> Part:
        """The numbers as one."""
        tiles = [tile for tile in state.ring[self.tier] if low <= tile.index * self.hop_us < high]
        return Part(merge_values(self.merge, [tile.values[self.at] for tile in tiles]), _newest(tiles))


@dataclass(frozen=True, slots=True)
class WidePlace(Place):
    """A state of a wide tier."""

    monoid: Monoid[Any]

    def found(self, state: EntityState, low: int, high: int, at_us: int) -> Part:
        """The states merged and finalized; short where the sink left one out."""
        tiles = [tile for tile in state.wide.get(self.tier, ()) if low <= tile.index * self.hop_us < high]
        value = self.monoid.finalize(self._merged(tiles), at_us)
        return Part(value, _newest(tiles), any(self.at in tile.lost for tile in tiles))

    def _merged(self, tiles: Sequence[WideTile]) -> Any:
        """Tiles do not overlap in time, so a full state ends the work."""
        merged = self.monoid.empty()
        for tile in reversed(tiles) if self.monoid.newest_first else tiles:
            stored = tile.states[self.at]
            if stored is not None:
                merged = self.monoid.merge(merged, self.monoid.from_bytes(stored))
                if self.monoid.is_full(merged):
                    break
        return merged


def places_of(plan: GroupPlan) -> dict[str, tuple[Place, ...]]:
    """The places of every streamed window that is made of tiles, by feature."""
    found = {}
    for feature in stream_windows(plan):
        hop_us = tile_us(feature)
        if hop_us is None:
            continue
        rings = {t.source: t for t in tile_tiers(plan) if (t.hop_us, t.freshness) == (hop_us, feature.freshness)}
        wide = {t.source: t for t in state_tiers(plan) if (t.hop_us, t.freshness) == (hop_us, feature.freshness)}
        found[feature.name] = tuple(_places(feature, hop_us, rings, wide))
    return found


def _places(feature: WindowFeature, hop_us: int, rings: dict[str, TileTier], wide: dict[str, StateTier]) -> list[Place]:
    found: list[Place] = []
    for i, partial in enumerate(feature.aggregate.partials):
        if is_fixed(partial):
            ring = rings[partial.source]
            found.append(RingPlace(f"p{i}", ring.name, ring.mark, hop_us, ring.partials.index(partial), partial.merge))
        else:
            found.append(_wide(f"p{i}", wide[partial.source], partial, Plain(partial.merge)))
    for i, part in enumerate(feature.aggregate.wide):
        found.append(_wide(f"v{i}", wide[part.source], kept_as(part), monoid_of(part)))
    return found


def _wide(column: str, tier: StateTier, state: Partial | WidePartial, monoid: Monoid[Any]) -> WidePlace:
    return WidePlace(column, tier.name, tier.mark, tier.hop_us, tier.states.index(state), monoid)


def _newest(tiles: Sequence[Tile | WideTile]) -> int | None:
    return max((tile.high_water_us for tile in tiles), default=None)
