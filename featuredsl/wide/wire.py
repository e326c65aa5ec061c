"""Events inside stored states: a time and cells of any scalar type, each with its tag; big-endian."""

from __future__ import annotations

import struct
from typing import Any

from featuredsl.errors import StateError
from featuredsl.wide.monoid import Values

Entry = tuple[int, Values, Values]
"""Event time, a key that orders events of that time, and the values."""

_TIME_AND_WIDTH = struct.Struct(">qH")
_FIXED = {"i": struct.Struct(">q"), "f": struct.Struct(">d"), "b": struct.Struct(">?")}
_LENGTH = struct.Struct(">I")
_NAN = bytes.fromhex("7ff8000000000000")


def entry(time_us: int, values: Values) -> Entry:
    """The event with the key of its rank: null lowest, numbers numerically, NaN highest, text by UTF-8 bytes."""
    kept = tuple(value + 0.0 if isinstance(value, float) else value for value in values)
    key: list[Any] = []
    for value in kept[1:]:
        if value is None:
            key += (0, 0)
        elif value != value:
            key += (2, 0)
        else:
            key += (1, value)
    return time_us, tuple(key), kept


def write_entries(entries: list[Entry]) -> bytes:
    """Entries one after another."""
    return b"".join(_TIME_AND_WIDTH.pack(time, len(values)) + _cells(values) for time, _, values in entries)


def read_entries(body: bytes) -> list[Entry]:
    """Inverse of `write_entries`. Raises StateError for bytes that are no entries."""
    found: list[Entry] = []
    at = 0
    try:
        while at < len(body):
            time_us, width = _TIME_AND_WIDTH.unpack_from(body, at)
            at += _TIME_AND_WIDTH.size
            values: list[Any] = []
            for _ in range(width):
                value, at = read_cell(body, at)
                values.append(value)
            found.append(entry(time_us, tuple(values)))
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise StateError(f"stored events do not decode at byte {at} of {len(body)}: {error}") from error
    return found


def write_cell(value: Any) -> bytes:
    """One value behind its tag; all NaNs are one."""
    if value is None:
        return b"n"
    if isinstance(value, str):
        text = value.encode()
        return b"s" + _LENGTH.pack(len(text)) + text
    tag = "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f"
    if value != value:
        return b"f" + _NAN
    return tag.encode() + _FIXED[tag].pack(value)


def read_cell(body: bytes, at: int) -> tuple[Any, int]:
    """The value at a byte, and where the next one starts."""
    tag = chr(body[at])
    at += 1
    if tag == "n":
        return None, at
    if tag == "s":
        (length,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        if at + length > len(body):
            raise ValueError("text is cut off")
        return body[at : at + length].decode(), at + length
    fixed = _FIXED[tag]
    return fixed.unpack_from(body, at)[0], at + fixed.size


def _cells(values: Values) -> bytes:
    return b"".join(write_cell(value) for value in values)
