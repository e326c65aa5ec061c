"""Bytes of the online store: ring slots and batch snapshots (ranks of latest values: `rank.py`).

All numbers are big-endian; integers are signed 64 bit, floats binary64, text UTF-8 behind its length. In a
snapshot a null is 0, any other value starts with 1; an array is the number of its elements (>I), then they.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from featuredsl.dtypes import ELEMENTS, DType
from featuredsl.errors import CodecError, InputError, StateError
from featuredsl.online.layout import FORMAT_VERSION, HEADER_SIZE, Column, RingTier, StoreLayout
from featuredsl.online.rank import Rank, decode_rank, encode_rank
from featuredsl.online.ring import RingTiles, Tile
from featuredsl.values import Value

__all__ = [
    "SNAPSHOTS_KEPT",
    "Rank",
    "Snapshot",
    "Tile",
    "check_ring",
    "decode_rank",
    "decode_ring",
    "decode_snapshots",
    "encode_rank",
    "encode_ring",
    "encode_slot",
    "encode_snapshot",
]

SNAPSHOTS_KEPT: Final = 2
"""So many snapshots of an entity stay, the newest (lua/snapshot.lua)."""
_INT64: Final = struct.Struct(">q")
_FLOAT64: Final = struct.Struct(">d")
_LENGTH: Final = struct.Struct(">I")
_SNAPSHOT: Final = struct.Struct(">qI")
_SNAPSHOT_VERSION: Final = bytes([FORMAT_VERSION])


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Values of a batch tier as of a time, in the order of the tier's columns."""

    as_of_us: int
    values: tuple[Value, ...]


def decode_ring(layout: StoreLayout, data: bytes | None) -> dict[str, Sequence[Tile]]:
    """The filled tiles of every ring tier, by index; `None` (no such key) gives empty tiers."""
    if data is None:
        return {tier.name: () for tier in layout.ring}
    check_ring(layout, data)
    out: dict[str, Sequence[Tile]] = {}
    at = HEADER_SIZE
    for tier, slot in zip(layout.ring, layout.slot_structs, strict=True):
        out[tier.name] = RingTiles(slot.format, tier.slots, data, at)
        at += tier.slots * slot.size
    return out


def check_ring(layout: StoreLayout, data: bytes) -> None:
    """Raises CodecError, StateError for bytes of another definition."""
    if data[:HEADER_SIZE] != layout.header():
        if not data or data[0] != FORMAT_VERSION:
            message = (
                f"group {layout.group!r} version {layout.version!r}: stored ring has format version "
                f"{data[0] if data else 'none'}, this release reads {FORMAT_VERSION}"
            )
            raise StateError(message)
        message = (
            f"group {layout.group!r} version {layout.version!r}: stored ring has header {data[:8].hex()}, "
            f"the definition has {layout.header().hex()}; the job that writes runs another definition: "
            "rebuild the group under a new store version"
        )
        raise CodecError(message)
    if len(data) != layout.total_size:
        message = f"group {layout.group!r}: stored ring has {len(data)} bytes, the layout has {layout.total_size}"
        raise CodecError(message)


def encode_slot(tier: RingTier, tile: Tile) -> bytes:
    """One slot of a ring tier."""
    if len(tile.values) != len(tier.columns):
        message = f"ring tier {tier.name!r}: {len(tile.values)} values for {len(tier.columns)} columns"
        raise InputError(message)
    nulls = sum(1 << i for i, value in enumerate(tile.values) if value is None)
    values = [0 if value is None else value for value in tile.values]
    try:
        return struct.pack(tier.slot_format, tile.index, tile.rows, tile.high_water_us, nulls, *values)
    except struct.error as error:
        message = f"ring tier {tier.name!r} cannot hold {tile}: {error}"
        raise InputError(message) from error


def encode_ring(layout: StoreLayout, tiles: dict[str, Sequence[Tile]]) -> bytes:
    """A whole ring value; of two tiles for one slot the later in the sequence stays."""
    data = bytearray(layout.total_size)
    data[:HEADER_SIZE] = layout.header()
    for name, sequence in tiles.items():
        tier, start = layout.ring_tier(name), layout.offset(name)
        for tile in sequence:
            at = start + tile.index % tier.slots * tier.slot_size
            data[at : at + tier.slot_size] = encode_slot(tier, tile)
    return bytes(data)


def encode_snapshot(columns: Sequence[Column], snapshot: Snapshot) -> bytes:
    """One snapshot: `>q as_of, >I length, payload`."""
    if len(columns) != len(snapshot.values):
        message = f"a snapshot of {len(columns)} columns got {len(snapshot.values)} values"
        raise InputError(message)
    payload = b"".join(_encode_value(c, v) for c, v in zip(columns, snapshot.values, strict=True))
    return _SNAPSHOT.pack(snapshot.as_of_us, len(payload)) + payload


def _encode_value(column: Column, value: Value) -> bytes:
    if value is None:
        return b"\0"
    element = ELEMENTS.get(column.dtype)
    if element is not None and isinstance(value, list):
        items = (_encode_scalar(column, element, item) for item in value)
        return b"\1" + _LENGTH.pack(len(value)) + b"".join(items)
    return b"\1" + _encode_scalar(column, column.dtype, value)


def _encode_scalar(column: Column, dtype: DType, value: Value) -> bytes:
    try:
        if dtype == "str" and isinstance(value, str):
            text = value.encode()
            return _LENGTH.pack(len(text)) + text
        if dtype == "bool" and isinstance(value, bool):
            return b"\1" if value else b"\0"
        if dtype == "int" and isinstance(value, int) and not isinstance(value, bool):
            return _INT64.pack(value)
        if dtype == "float" and isinstance(value, int | float) and not isinstance(value, bool):
            return _FLOAT64.pack(value)
    except (struct.error, UnicodeEncodeError, OverflowError) as error:
        message = f"column {column.name!r} ({column.dtype}) cannot hold {value!r}: {error}"
        raise InputError(message) from error
    message = f"column {column.name!r} is {column.dtype}; {value!r} is {type(value).__name__}"
    raise InputError(message)


def decode_snapshots(columns: Sequence[Column], data: bytes | None) -> tuple[Snapshot, ...]:
    """The snapshots of a batch field, newest first; `None` (no such field) gives none."""
    if data is None:
        return ()
    if data[:1] != _SNAPSHOT_VERSION:
        message = f"stored snapshot has format version {data[:1].hex()}, this release reads 01"
        raise StateError(message)
    out: list[Snapshot] = []
    at = 1
    try:
        while at < len(data):
            as_of_us, length = _SNAPSHOT.unpack_from(data, at)
            at += _SNAPSHOT.size
            out.append(Snapshot(as_of_us, _decode_values(columns, data[at : at + length], length)))
            at += length
    except (struct.error, IndexError, ValueError) as error:
        names = [f"{column.name} {column.dtype}" for column in columns]
        message = f"stored snapshot {data[:64].hex()} does not hold ({', '.join(names)})"
        raise CodecError(message) from error
    return tuple(out)


def _decode_values(columns: Sequence[Column], payload: bytes, length: int) -> tuple[Value, ...]:
    if len(payload) != length:
        raise ValueError(length)
    at = 0
    values: list[Value] = []
    for column in columns:
        value, at = _decode_value(column.dtype, payload, at)
        values.append(value)
    if at != length:
        raise ValueError(at)
    return tuple(values)


def _decode_value(dtype: DType, payload: bytes, at: int) -> tuple[Value, int]:
    present = payload[at]
    at += 1
    if present == 0:
        return None, at
    if present != 1:
        raise ValueError(present)
    if dtype not in ELEMENTS:
        return _decode_scalar(dtype, payload, at)
    count = _LENGTH.unpack_from(payload, at)[0]
    at += _LENGTH.size
    items: list[Value] = []
    for _ in range(count):
        item, at = _decode_scalar(ELEMENTS[dtype], payload, at)
        items.append(item)
    return items, at


def _decode_scalar(dtype: DType, payload: bytes, at: int) -> tuple[Value, int]:
    if dtype == "bool":
        return bool(payload[at]), at + 1
    if dtype == "str":
        length = _LENGTH.unpack_from(payload, at)[0]
        end = at + 4 + length
        if end > len(payload):
            raise ValueError(end)
        return payload[at + 4 : end].decode(), end
    return (_INT64 if dtype == "int" else _FLOAT64).unpack_from(payload, at)[0], at + 8
