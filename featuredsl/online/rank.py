"""Latest values as text that orders like what it holds, so that MAX picks the latest row on any engine."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from featuredsl.dtypes import ELEMENTS, DType
from featuredsl.errors import CodecError, InputError
from featuredsl.online.layout import Column
from featuredsl.values import Value

_SIGN: Final = 1 << 63
_INT64: Final = struct.Struct(">q")
_FLOAT64: Final = struct.Struct(">d")
_NAN_BITS: Final = 0x7FF8000000000000
_ESCAPE: Final = 0xD7FF
"""The last character that is below every surrogate: from here on UTF-16 units and code points order differently."""
_DIGIT: Final = 0x100
_DIGIT_BITS: Final = 11
_HIGH: Final = re.compile(f"[{chr(_ESCAPE)}-\U0010ffff]")
_ESCAPED: Final = re.compile(f"{chr(_ESCAPE)}([\u0100-\u08ff])([\u0100-\u08ff])")


@dataclass(frozen=True, slots=True)
class Rank:
    """A latest value: its event time, then [sequence,] and the row."""

    event_time_us: int
    values: tuple[Value, ...]


def encode_rank(ts_us: int, columns: Sequence[Column], values: Sequence[Value]) -> str:
    """Text whose UTF-8 bytes, and whose UTF-16 units, order like (time, values), null lowest, text by its UTF-8 bytes.

    Times and integers are 16 hexadecimal digits of `v XOR 2^63`; floats of their order-preserving bits, -0.0
    as 0.0; text ends with two NULs, a NUL inside it is followed by U+0001, a character c from U+D7FF on is
    U+D7FF and two digits of c - U+D7FF to the base 2^11, of which U+0100 is 0; a null is `0`, a value starts
    with `1`. An array is its elements as values, then `0`: it orders by element, and a prefix comes first.
    """
    if len(columns) != len(values):
        message = f"a rank of {len(columns)} columns got {len(values)} values"
        raise InputError(message)
    fields = [_rank_field(column, value) for column, value in zip(columns, values, strict=True)]
    return _hex16(ts_us) + "".join(fields)


def _rank_array(column: Column, items: Sequence[Any]) -> str:
    element = Column(column.name, ELEMENTS[column.dtype])
    if None in items:
        message = f"column {column.name!r}: an array holds a null; elements are never null"
        raise InputError(message)
    return "1" + "".join(_rank_field(element, item) for item in items) + "0"


def _rank_field(column: Column, value: Value) -> str:
    if value is None:
        return "0"
    if column.dtype == "str" and isinstance(value, str):
        return "1" + _HIGH.sub(_escaped, value.replace("\0", "\0\x01")) + "\0\0"
    if column.dtype == "bool" and isinstance(value, bool):
        return "11" if value else "10"
    if column.dtype == "int" and isinstance(value, int) and not isinstance(value, bool):
        return "1" + _hex16(value)
    if column.dtype == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return "1" + _hex16(_ordered(float(value)))
    if column.dtype in ELEMENTS and isinstance(value, list):
        return _rank_array(column, value)
    message = f"column {column.name!r} is {column.dtype}; {value!r} is {type(value).__name__}"
    raise InputError(message)


def _escaped(found: re.Match[str]) -> str:
    high, low = divmod(ord(found[0]) - _ESCAPE, 1 << _DIGIT_BITS)
    return chr(_ESCAPE) + chr(_DIGIT + high) + chr(_DIGIT + low)


def _unescaped(found: re.Match[str]) -> str:
    high, low = (ord(digit) - _DIGIT for digit in found.groups())
    return chr(_ESCAPE + (high << _DIGIT_BITS) + low)


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
    """Inverse of `encode_rank`; what older ranks did not escape is itself."""
    at = 16
    values: list[Value] = []
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


def _read_rank_field(dtype: DType, data: bytes, at: int) -> tuple[Value, int]:
    marker = data[at]
    if marker == ord("0"):
        return None, at + 1
    if marker != ord("1"):
        raise ValueError(marker)
    at += 1
    if dtype in ELEMENTS:
        return _read_rank_array(ELEMENTS[dtype], data, at)
    if dtype == "str":
        end = _text_end(data, at)
        return _ESCAPED.sub(_unescaped, data[at:end].replace(b"\0\x01", b"\0").decode()), end + 2
    if dtype == "bool":
        return {ord("0"): False, ord("1"): True}[data[at]], at + 1
    if len(data) < at + 16:
        raise ValueError(at)
    number = int(data[at : at + 16], 16) - _SIGN
    if dtype == "int":
        return number, at + 16
    bits = number if number >= 0 else number ^ (_SIGN - 1)
    return _FLOAT64.unpack(_INT64.pack(bits))[0], at + 16


def _read_rank_array(element: DType, data: bytes, at: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while True:
        item, at = _read_rank_field(element, data, at)
        if item is None:
            return items, at
        items.append(item)


def _text_end(data: bytes, at: int) -> int:
    while True:
        at = data.index(b"\0", at)
        if data[at + 1] == 0:
            return at
        at += 2
