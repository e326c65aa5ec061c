"""The bytes of stored sessions: what the Flink sink writes and the reader reads (the Java tests read the file too).

Regenerate with `python -m tests.golden.test_session_bytes`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from featuredsl.errors import CodecError, InputError, StateError
from featuredsl.online.layout import Column, SessionField
from featuredsl.online.session_codec import (
    SessionRecord,
    StoredSessions,
    decode_sessions,
    encode_session,
    encode_sessions,
)

FILE = Path(__file__).parent / "online" / "sessions.json"
FIELD = SessionField("clicks/session_30m", 1_800_000_000, 3, (Column("c0", "int"), Column("c1", "float")), 2)
RECORDS = (
    SessionRecord(1_767_225_600_000_000, 1_767_225_660_000_001, 3, (2**53 + 1, -0.5), (b"\1state", None)),
    SessionRecord(-5, -5, 1, (None, 1e300), (None, b"")),
    SessionRecord(0, 7, 2**40, (-(2**63), None), (None, b"x"), lost=(0,)),
    SessionRecord(-(2**50), -(2**49), 1, (None, None), (None, None)),
)
"""None of them in the order of the field."""


def golden() -> dict[str, Any]:
    """As the file holds it: integers are texts, so that none loses a digit."""
    return {
        "field": FIELD.hash_field,
        "gap_us": str(FIELD.gap_us),
        "kept": FIELD.kept,
        "records": [
            {
                "first_us": str(record.first_us),
                "last_us": str(record.last_us),
                "rows": str(record.rows),
                "content": encode_session(FIELD, record)[28:].hex(),
                "hex": encode_session(FIELD, record).hex(),
            }
            for record in RECORDS
        ],
        "value": encode_sessions(FIELD, RECORDS[:3]).hex(),
        "cut": encode_sessions(FIELD, RECORDS).hex(),
    }


def test_bytes_are_the_golden_ones() -> None:
    assert golden() == json.loads(FILE.read_text(encoding="utf-8"))


def test_the_newest_are_read_back_first() -> None:
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    newest = (RECORDS[0], RECORDS[2], RECORDS[1])
    assert decode_sessions(FIELD, bytes.fromhex(stored["value"])) == StoredSessions(newest)
    assert decode_sessions(FIELD, bytes.fromhex(stored["cut"])) == StoredSessions(newest, is_cut=True)
    assert decode_sessions(FIELD, None) == StoredSessions()


def test_bytes_of_another_field_are_refused() -> None:
    value = encode_sessions(FIELD, RECORDS)
    sizes = [len(encode_session(FIELD, record)) for record in (RECORDS[0], RECORDS[2])]
    ends = {2: 0, 2 + sizes[0]: 1, 2 + sum(sizes): 2}
    for at in range(1, len(value)):
        if at in ends:
            assert len(decode_sessions(FIELD, value[:at]).records) == ends[at]
        else:
            with pytest.raises(CodecError):
                decode_sessions(FIELD, value[:at])
    with pytest.raises(StateError, match="format version 2, this release reads 1"):
        decode_sessions(FIELD, b"\2\0")
    with pytest.raises(StateError, match="format version none"):
        decode_sessions(FIELD, b"")
    other = SessionField("clicks/session_30m", FIELD.gap_us, 3, FIELD.columns, 1)
    with pytest.raises(CodecError, match="does not hold 2 numbers and 1 states"):
        decode_sessions(other, value)
    for wrong in (SessionRecord(0, 0, 1, (1,), (None, None)), SessionRecord(0, 0, 1, (2**63, 0.0), (None, None))):
        with pytest.raises(InputError, match="clicks/session_30m"):
            encode_session(FIELD, wrong)


if __name__ == "__main__":
    FILE.write_text(json.dumps(golden(), indent=1) + "\n", encoding="utf-8")
