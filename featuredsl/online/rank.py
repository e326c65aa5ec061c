"""Latest values as text that orders like what it holds, so that MAX picks the latest row on any engine."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from featuredsl.errors import CodecError, InputError
from featuredsl.online.layout import Column

Scalar = int | float | str | bool | None

_SIGN: Final = 1 << 63
_INT64: Final = struct.Struct(">q")
_FLOAT64: Final = struct.Struct(">d")
_NAN_BITS: Final = 0x7FF8000000000000


@dataclass(frozen=True, slots=True)
class Rank:
    """A latest value: its event time, then [sequence,] and the row."""

    event_time_us: int
    values: tuple[Scalar, ...]


def encode_rank(ts_us: int, columns: Sequence[Column], values: Sequence[Scalar]) -> str:
    """Text whose UTF-8 bytes order like (time, values), null lowest, text by its UTF-8 bytes.

    Times and integers are 16 hexadecimal digits of `v XOR 2^63`; floats of their order-preserving bits, -0.0
    as 0.0; text ends with two NULs, a NUL inside it is followed by U+0001; a null is `0`, a value starts
    with `1`.
    """
    if len(columns) != len(values):
        message = f"a rank of {len(columns)} columns got {len(values)} values"
        raise InputError(message)
    fields = [_rank_field(column, value) for column, value in zip(columns, values, strict=True)]
    return _hex16(ts_us) + "".join(fields)


def _rank_field(column: Column, value: Scalar) -> str:
    if value is None:
        return "0"
    if column.dtype == "str" and isinstance(value, str):
        return "1" + value.replace("\0", "\0\x01") + "\0\0"
    if column.dtype == "bool" and isinstance(value, bool):
        return "11" if value else "10"
    if column.dtype == "int" and isinstance(value, int) and not isinstance(value, bool):
        return "1" + _hex16(value)
    if column.dtype == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return "1" + _hex16(_ordered(float(value)))
    message = f"column {column.name!r} is {column.dtype}; {value!r} is {type(value).__name__}"
    raise InputError(message)


def _hex16(value: int) -> str:
    if not -_SIGN <= value < _SIGN:
        message = f"{value} does not fit into a 64-bit integer"
        raise InputError(message)
    return format(value + _SIGN, "016x")


def _ordered(value: float) -> int:
    bits: int = _INT64.unpack(_FLOAT64.pack(value + 0.0))[0]
    if math.isnan(value):
        bits = _NAN_BITS
    return bits if bits >= 0 else bits ^ (_SIGN - 1)


def decode_rank(columns: Sequence[Column], data: bytes) -> Rank:
    """Inverse of `encode_rank`."""
    at = 16
    values: list[Scalar] = []
    try:
        time_us = int(data[:16], 16) - _SIGN
        for column in columns:
            value, at = _read_rank_field(column.dtype, data, at)
            values.append(value)
    except (ValueError, IndexError, KeyError) as error:
        raise _broken_rank(columns, data) from error
    if at != len(data):
        raise _broken_rank(columns, data)
    return Rank(time_us, tuple(values))


def _broken_rank(columns: Sequence[Column], data: bytes) -> CodecError:
    names = [f"{column.name} {column.dtype}" for column in columns]
    return CodecError(f"stored value {data[:64]!r} is not a rank of (time, {', '.join(names)})")


def _read_rank_field(dtype: str, data: bytes, at: int) -> tuple[Scalar, int]:
    marker = data[at]
    if marker == ord("0"):
        return None, at + 1
    if marker != ord("1"):
        raise ValueError(marker)
    at += 1
    if dtype == "str":
        end = _text_end(data, at)
        return data[at:end].replace(b"\0\x01", b"\0").decode(), end + 2
    if dtype == "bool":
        return {ord("0"): False, ord("1"): True}[data[at]], at + 1
    if len(data) < at + 16:
        raise ValueError(at)
    number = int(data[at : at + 16], 16) - _SIGN
    if dtype == "int":
        return number, at + 16
    bits = number if number >= 0 else number ^ (_SIGN - 1)
    return _FLOAT64.unpack(_INT64.pack(bits))[0], at + 16


def _text_end(data: bytes, at: int) -> int:
    while True:
        at = data.index(b"\0", at)
        if data[at + 1] == 0:
            return at
        at += 2
