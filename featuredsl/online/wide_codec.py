"""Bytes of a tile of states of variable width: a field `t:<tier>:<slot>` of the hash of an entity.

`0x01 | >q tile | >q rows | >q high-water mark | a state each`: 0x00 where no row was taken, 0x01 and `>I` length and
bytes, 0x02 where the sink left a state out because it is too large.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

import msgspec

from featuredsl.errors import CodecError, InputError, StateError
from featuredsl.online.layout import FORMAT_VERSION, WideTier

_HEAD: Final = struct.Struct(">Bqqq")
_LENGTH: Final = struct.Struct(">I")
_NOTHING, _PRESENT, _TOO_LARGE = b"\0", b"\1", b"\2"


class WideTile(msgspec.Struct, frozen=True, gc=False):
    """States over the events of `[index * hop, (index + 1) * hop)`, None where no row was taken.

    `lost` are the places of the states that were too large to be stored; they are None as well.
    """

    index: int
    rows: int
    high_water_us: int
    states: tuple[bytes | None, ...]
    lost: tuple[int, ...] = ()


def encode_wide_tile(tier: WideTier, tile: WideTile) -> bytes:
    """The value of a tile's field. Raises InputError for a tile that does not fit the tier."""
    if len(tile.states) != tier.states:
        message = f"wide tier {tier.name!r}: {len(tile.states)} states for {tier.states} columns"
        raise InputError(message)
    try:
        head = _HEAD.pack(FORMAT_VERSION, tile.index, tile.rows, tile.high_water_us)
    except struct.error as error:
        message = f"wide tier {tier.name!r} cannot hold {tile}: {error}"
        raise InputError(message) from error
    return head + b"".join(_state(state, i in tile.lost) for i, state in enumerate(tile.states))


def _state(state: bytes | None, is_lost: bool) -> bytes:
    if state is None:
        return _TOO_LARGE if is_lost else _NOTHING
    return _PRESENT + _LENGTH.pack(len(state)) + state


def decode_wide_tile(tier: WideTier, data: bytes) -> WideTile:
    """Inverse of `encode_wide_tile`. Raises StateError for another format, CodecError for bytes of another tier."""
    if data[:1] != bytes([FORMAT_VERSION]):
        found = data[0] if data else "none"
        message = (
            f"wide tier {tier.name!r}: a stored tile has format version {found}, this release reads {FORMAT_VERSION}"
        )
        raise StateError(message)
    try:
        _, index, rows, high_water_us = _HEAD.unpack_from(data)
        states, lost = _states(tier.states, data)
    except (struct.error, ValueError) as error:
        message = f"wide tier {tier.name!r}: stored tile {data[:64].hex()} does not hold {tier.states} states: {error}"
        raise CodecError(message) from error
    return WideTile(index, rows, high_water_us, states, lost)


def _states(count: int, data: bytes) -> tuple[tuple[bytes | None, ...], tuple[int, ...]]:
    at = _HEAD.size
    states: list[bytes | None] = []
    lost: list[int] = []
    for place in range(count):
        tag = data[at : at + 1]
        at += 1
        if tag == _PRESENT:
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size + length
            states.append(data[at - length : at])
            continue
        if tag == _TOO_LARGE:
            lost.append(place)
        elif tag != _NOTHING:
            raise ValueError(f"tag {tag.hex() or 'none'} of state {place}")
        states.append(None)
    if at != len(data):
        raise ValueError(f"{at} of {len(data)} bytes")
    return tuple(states), tuple(lost)


def decode_wide(tier: WideTier, values: Iterable[bytes | None]) -> tuple[WideTile, ...]:
    """The filled tiles of a tier by index, from the values of its fields."""
    tiles = [decode_wide_tile(tier, value) for value in values if value is not None]
    tiles.sort(key=_index)
    return tuple(tiles)


def _index(tile: WideTile) -> int:
    return tile.index
