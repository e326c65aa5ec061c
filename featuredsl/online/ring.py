"""The tiles of a ring tier as they stand: numbers side by side, unpacked at once; `Tile` objects when asked for."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import overload

import msgspec

FIXED = 4
"""Numbers of a slot before its values: tile index, rows, high-water mark, bits of the nulls."""


class Tile(msgspec.Struct, frozen=True, gc=False):
    """One slot: partial aggregates over the events of `[index * hop, (index + 1) * hop)`.

    Not a dataclass, because a read makes tens of them per entity.
    """

    index: int
    rows: int
    high_water_us: int
    values: tuple[int | float | None, ...]


class RingTiles(Sequence[Tile]):
    """The filled tiles of one tier, by index, of bytes that are of its layout."""

    __slots__ = ("_at", "_data", "_filled", "_numbers", "_whole", "width")

    def __init__(self, slot_format: str, slots: int, data: bytes, at: int) -> None:
        self._whole, self.width = tier_struct(slot_format, slots), len(slot_format) - 1
        self._data, self._at = data, at
        self._numbers: tuple[int | float, ...] | None = None
        self._filled: tuple[Tile, ...] | None = None

    @property
    def numbers(self) -> tuple[int | float, ...]:
        """`width` numbers for each slot, filled or not."""
        if self._numbers is None:
            self._numbers = self._whole.unpack_from(self._data, self._at)
        return self._numbers

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """The filled ones as objects."""
        if self._filled is None:
            numbers, width = self.numbers, self.width
            found = (_tile(numbers[at : at + width]) for at in range(0, len(numbers), width))
            self._filled = tuple(sorted((tile for tile in found if tile.rows), key=lambda tile: tile.index))
        return self._filled

    def __len__(self) -> int:
        return len(self.tiles)

    def __iter__(self) -> Iterator[Tile]:
        return iter(self.tiles)

    @overload
    def __getitem__(self, at: int) -> Tile: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Tile, ...]: ...
    def __getitem__(self, at: int | slice) -> Tile | tuple[Tile, ...]:
        return self.tiles[at]

    def __eq__(self, other: object) -> bool:
        return self.tiles == (other.tiles if isinstance(other, RingTiles) else other)

    def __hash__(self) -> int:
        return hash(self.tiles)

    def __repr__(self) -> str:
        return repr(self.tiles)


def _tile(slot: tuple[int | float, ...]) -> Tile:
    index, rows, water, nulls, *values = slot
    kept = tuple(None if int(nulls) >> i & 1 else value for i, value in enumerate(values))
    return Tile(int(index), int(rows), int(water), kept)


@lru_cache(maxsize=1024)
def tier_struct(slot_format: str, slots: int) -> struct.Struct:
    """All slots of a tier as one structure."""
    order, fields = slot_format[0], slot_format[1:]
    return struct.Struct(order + fields * slots)
