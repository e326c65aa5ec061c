"""Cases as files for `featuredsl history`, and their values compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from featuredsl.history import HistoryRequest
from featuredsl.labels import Labels, read_labels
from tests.conformance.cases import Case, us


def request_of(case: Case, folder: Path) -> HistoryRequest:
    """The events as JSON Lines in reverse order, the reads as labels."""
    files = {}
    for source in case.group.sources:
        files[source.name] = folder / f"{source.name}.jsonl"
        records = [{**columns, source.event_time: us(seconds)} for seconds, columns in case.events[source.name]]
        text = "".join(json.dumps(record) + "\n" for record in reversed(records))
        files[source.name].write_text(text, encoding="utf-8")
    names = [name for name, _ in case.group.entity]
    rows = [dict(zip(names, key, strict=True)) | {"ts": us(seconds)} for key, seconds, _ in case.reads]
    return HistoryRequest({case.group.name: case.group}, files, labels_of(rows, folder))


def labels_of(rows: list[dict[str, Any]], folder: Path) -> Labels:
    """Label rows, with `ts` in microseconds, by way of a file."""
    file = folder / "labels.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_labels(file, "us")


def differences(case: Case, rows: list[dict[str, Any]]) -> list[str]:
    """What is not as expected, a line for each."""
    assert len(rows) == len(case.reads)
    return [
        f"{key} at {seconds}: {name} is {found!r}, not {value!r}"
        for (key, seconds, expected), row in zip(case.reads, rows, strict=True)
        for name, value in expected.items()
        for found in (row[f"{case.group.name}__{name}"],)
        if not same(found, value)
    ]


def same(found: Any, expected: Any) -> bool:
    """Equal and of one type; floats to 1e-9."""
    if isinstance(expected, float) and isinstance(found, float):
        return bool(found == pytest.approx(expected, rel=1e-9))
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return type(found) is type(expected) and bool(found == expected)
