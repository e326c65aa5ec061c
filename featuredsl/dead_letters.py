"""Dead letters of event files: the records that cannot be used, each with a reason and its bytes."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from featuredsl.event_bytes import payload_of
from featuredsl.event_cells import BAD_TIME
from featuredsl.sources import EventSource
from featuredsl.times import fitting_unit


class Refused(NamedTuple):
    """A record that cannot be used.

    `raw` is its text, of CSV and Parquet as a JSON object; `reason` a code or `code:detail`; `line` counts from 1;
    `payload` its bytes where `raw` does not have them.
    """

    raw: str
    reason: str
    line: int | None = None
    payload: bytes | None = None


def write_letters(source: EventSource, refused: Sequence[Refused], path: Path, out: Path) -> None:
    """Append the records of a file to a JSON Lines file of dead letters."""
    with out.open("a", encoding="utf-8") as file:
        for record in refused:
            file.write(json.dumps(_letter(source, record, path)) + "\n")


def time_problem(source: EventSource, raw: str, field: str) -> str:
    """What a record has for a time that cannot be used, and the unit in which it could."""
    found, unit = json.loads(raw).get(field), time_unit_of(source, raw, field)
    if unit:
        return f"found {found!r}; in unit {unit!r} it would fit"
    return f"found {found!r}; a time is ISO 8601 with a zone, or an integer in {source.time_unit}"


def time_unit_of(source: EventSource, raw: str, field: str) -> str | None:
    """The unit in which the integer of a field would be a time that the source believes."""
    try:
        value = int(str(json.loads(raw).get(field)))
    except ValueError:
        return None
    return None if source.time_range is None else fitting_unit(value, source.time_range)


def _letter(source: EventSource, record: Refused, path: Path) -> dict[str, object]:
    code, _, detail = record.reason.partition(":")
    if record.reason.startswith(BAD_TIME):
        detail = f"{detail}: {time_problem(source, record.raw, detail)}"
    payload = payload_of(record.raw) if record.payload is None else record.payload
    return {
        "topic": path.name,
        "line": record.line,
        "reason": code,
        "detail": detail or None,
        "payload": base64.b64encode(payload).decode(),
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
