"""Dead letters as data: where a record came from, why it was refused, and whether its bytes can be sent again."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schemas.records import RecordError, parse, validate

REPLAYED_HEADER = "featuredsl-replayed-from"
"""Header of a replayed record; its value is the `place` of the record that was refused."""
MAX_LETTER_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One refused record. `ts_ms` is its event time where that was readable, `rejected_ms` the time of the letter,
    `line` where it stood in a file."""

    topic: str
    partition: int | None
    offset: int | None
    reason: str
    detail: str | None
    ts_ms: int | None
    payload: bytes | None
    sha256: str | None
    rejected_ms: int | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        """`topic/partition/offset` of the refused record: its identity."""
        return f"{self.topic}/{self.partition}/{self.offset}"

    @property
    def refusal(self) -> str | None:
        """Why it cannot be sent again; None when it can."""
        if self.partition is None or self.offset is None:
            return "it does not say which record of which partition it was"
        if self.payload is None:
            return "the record had no value"
        if self.sha256 is None:
            return "it has no checksum, so nobody knows whether its bytes are complete"
        if hashlib.sha256(self.payload).hexdigest() != self.sha256:
            return f"only its first {len(self.payload)} bytes were kept"
        return None

    def matches(self, reasons: tuple[str, ...], since_ms: int | None) -> bool:
        """Whether it has one of the reasons (empty: any) and was not written before `since_ms`."""
        recent = since_ms is None or self.rejected_ms is None or self.rejected_ms >= since_ms
        return recent and (not reasons or self.reason in reasons)


def read_letter(value: bytes | None, rejected_ms: int | None = None) -> DeadLetter:
    """A dead letter from its JSON bytes. Raises RecordError for anything else."""
    record = parse(value, MAX_LETTER_BYTES)
    validate("dead_letter", {"partition": None, "offset": None, **record, "ts": None})
    ts, line = record.get("ts"), record.get("line")
    return DeadLetter(
        topic=str(record["topic"]),
        partition=record.get("partition"),
        offset=record.get("offset"),
        reason=str(record["reason"]),
        detail=record.get("detail"),
        ts_ms=ts if isinstance(ts, int) and not isinstance(ts, bool) else None,
        payload=_payload(record),
        sha256=record.get("sha256"),
        rejected_ms=rejected_ms,
        line=line if isinstance(line, int) and not isinstance(line, bool) else None,
    )


def _payload(record: Mapping[str, Any]) -> bytes | None:
    text = record.get("payload")
    if text is None:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RecordError("bad_value", f"payload is not base64: {error}") from error


def printable(payload: bytes | None, length: int = 60) -> str:
    """The start of a payload on one line; what cannot be printed is escaped."""
    if payload is None:
        return ""
    text = payload[: 4 * length].decode("utf-8", "backslashreplace")
    clean = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return clean if len(clean) <= length and len(payload) <= 4 * length else f"{clean[: length - 1]}…"
