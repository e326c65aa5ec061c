"""Bytes of the newest sessions of an entity: a field `s:<tier>` of its hash.

`0x01`, then 0x01 where older ones had to make room and 0x00 where none had, then records, the newest first:
`>q last event | >q first event | >q rows | >I length | content`. The content is a cell for each number, 0x00 where it
is null, 0x01 and 8 bytes; then one for each state: 0x00 where no row was taken, 0x01 and `>I` length and bytes, 0x02
where the job left it out because it is too large.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

import msgspec

from featuredsl.errors import CodecError, InputError, StateError
from featuredsl.online.layout import FORMAT_VERSION, SessionField

_HEAD: Final = struct.Struct(">qqqI")
_LENGTH: Final = struct.Struct(">I")
_NOTHING, _PRESENT, _TOO_LARGE = b"\0", b"\1", b"\2"


class SessionRecord(msgspec.Struct, frozen=True, gc=False):
    """One session: its first and last event, in us, its rows, its numbers and states, None where no row gave one.

    `lost` are the places of the states that were too large to be stored; they are None as well.
    """

    first_us: int
    last_us: int
    rows: int
    numbers: tuple[int | float | None, ...]
    states: tuple[bytes | None, ...] = ()
    lost: tuple[int, ...] = ()


class StoredSessions(msgspec.Struct, frozen=True, gc=False):
    """The newest sessions of an entity, the newest first; `is_cut`: older ones had to make room."""

    records: tuple[SessionRecord, ...] = ()
    is_cut: bool = False


def encode_session(field: SessionField, record: SessionRecord) -> bytes:
    """One record. Raises InputError for a session that does not fit the field."""
    if (len(record.numbers), len(record.states)) != (len(field.columns), field.states):
        message = f"sessions {field.name!r}: {record} has not {len(field.columns)} numbers and {field.states} states"
        raise InputError(message)
    try:
        content = b"".join(_number(c.dtype, v) for c, v in zip(field.columns, record.numbers, strict=True))
        content += b"".join(_state(state, i in record.lost) for i, state in enumerate(record.states))
        return _HEAD.pack(record.last_us, record.first_us, record.rows, len(content)) + content
    except struct.error as error:
        message = f"sessions {field.name!r} cannot hold {record}: {error}"
        raise InputError(message) from error


def encode_sessions(field: SessionField, records: Sequence[SessionRecord]) -> bytes:
    """The value of the field: the newest of all records of an entity."""
    newest = sorted(records, key=_last, reverse=True)
    head = bytes([FORMAT_VERSION, len(newest) > field.kept])
    return head + b"".join(encode_session(field, record) for record in newest[: field.kept])


def _number(dtype: str, value: float | None) -> bytes:
    if value is None:
        return _NOTHING
    return _PRESENT + struct.pack(">q" if dtype == "int" else ">d", value)


def _state(state: bytes | None, is_lost: bool) -> bytes:
    if state is None:
        return _TOO_LARGE if is_lost else _NOTHING
    return _PRESENT + _LENGTH.pack(len(state)) + state


def decode_sessions(field: SessionField, data: bytes | None) -> StoredSessions:
    """Inverse of `encode_sessions`; `None` (no such field) gives none.

    Raises StateError for another format, CodecError for bytes of another field.
    """
    if data is None:
        return StoredSessions()
    if data[:1] != bytes([FORMAT_VERSION]):
        found = data[0] if data else "none"
        message = (
            f"sessions {field.name!r}: stored ones have format version {found}, this release reads {FORMAT_VERSION}"
        )
        raise StateError(message)
    found_records: list[SessionRecord] = []
    at = 2
    try:
        is_cut = _tag(data, 1)[1]
        while at < len(data):
            last_us, first_us, rows, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size + length
            if at > len(data):
                raise ValueError(f"{length} bytes are cut off")
            content = data[at - length : at]
            found_records.append(SessionRecord(first_us, last_us, rows, *_content(field, content)))
    except (struct.error, ValueError) as error:
        message = (
            f"sessions {field.name!r}: stored {data[:64].hex()} does not hold {len(field.columns)} numbers and "
            f"{field.states} states: {error}"
        )
        raise CodecError(message) from error
    return StoredSessions(tuple(found_records), is_cut)


def _content(
    field: SessionField, content: bytes
) -> tuple[tuple[int | float | None, ...], tuple[bytes | None, ...], tuple[int, ...]]:
    numbers: list[int | float | None] = []
    states: list[bytes | None] = []
    at = 0
    for column in field.columns:
        at, present = _tag(content, at)
        numbers.append(struct.unpack_from(">q" if column.dtype == "int" else ">d", content, at)[0] if present else None)
        at += 8 if present else 0
    lost = []
    for place in range(field.states):
        is_lost = content[at : at + 1] == _TOO_LARGE
        at, present = (at + 1, False) if is_lost else _tag(content, at)
        lost += [place] if is_lost else []
        length = _LENGTH.unpack_from(content, at)[0] if present else 0
        at += _LENGTH.size + length if present else 0
        states.append(content[at - length : at] if present else None)
    if at != len(content):
        raise ValueError(f"{at} of {len(content)} bytes")
    return tuple(numbers), tuple(states), tuple(lost)


def _tag(content: bytes, at: int) -> tuple[int, bool]:
    tag = content[at : at + 1]
    if tag not in (_NOTHING, _PRESENT):
        raise ValueError(f"tag {tag.hex() or 'none'} at byte {at}")
    return at + 1, tag == _PRESENT


def _last(record: SessionRecord) -> int:
    return record.last_us
