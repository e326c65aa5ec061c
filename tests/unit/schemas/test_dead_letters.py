"""Dead letters: what is read from them, what can be sent again."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from schemas.dead_letters import printable, read_letter
from schemas.records import RecordError


def letter(payload: bytes | None = b'{"u": 1}', **given: Any) -> bytes:
    body = {
        "topic": "t",
        "partition": 1,
        "offset": 7,
        "ts": 5,
        "reason": "bad_type",
        "detail": "no",
        "payload": None if payload is None else base64.b64encode(payload).decode(),
        "sha256": None if payload is None else hashlib.sha256(payload).hexdigest(),
    }
    return json.dumps({**body, **given}).encode()


def test_a_letter() -> None:
    found = read_letter(letter(), 99)
    assert (found.place, found.payload, found.ts_ms, found.rejected_ms) == ("t/1/7", b'{"u": 1}', 5, 99)
    assert found.refusal is None


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (letter(None), "the record had no value"),
        (letter(sha256=hashlib.sha256(b"longer").hexdigest()), "only its first 8 bytes were kept"),
        (letter(sha256=None), "no checksum"),
        (letter(offset=None), "which record"),
        (letter(partition=None), "which record"),
    ],
)
def test_what_cannot_be_sent_again(value: bytes, why: str) -> None:
    refusal = read_letter(value).refusal
    assert refusal is not None
    assert why in refusal


@pytest.mark.parametrize(
    "value", [b"", None, b"[]", b'{"reason": "x"}', letter().replace(b'"payload": "', b'"payload": "*')]
)
def test_what_is_no_letter(value: bytes | None) -> None:
    with pytest.raises(RecordError):
        read_letter(value)


def test_choice() -> None:
    found = read_letter(letter(), 100)
    assert found.matches((), None)
    assert found.matches(("x", "bad_type"), 100)
    assert not found.matches(("x",), None)
    assert not found.matches((), 101)


def test_printable() -> None:
    assert printable(b'{"a":\n"\xff\x1b[31m"}') == '{"a":\\n"\\xff\\x1b[31m"}'
    assert printable(None) == ""
    assert printable(b"x" * 100, 10) == "xxxxxxxxx…"
    assert len(printable(b"\x00" * 5_000_000, 60)) == 60
