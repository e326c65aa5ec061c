"""Event files that DuckDB cannot read as they are: lines that are not UTF-8, and what its errors mean."""

from __future__ import annotations

import base64
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from featuredsl.errors import InputError

MARK = "\x02not utf-8:"
"""Begins a line that stands for bytes: base64 follows."""
_LINE = re.compile(r"Line: (\d+)")
_FAILED = (
    duckdb.InvalidInputException,
    duckdb.ConversionException,
    duckdb.IOException,
    duckdb.BinderException,
    duckdb.OutOfRangeException,
)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """DuckDB's errors about a file as an InputError of one line."""
    try:
        yield
    except _FAILED as error:
        text = str(error)
        found = _LINE.search(text)
        where = f"{path}, line {found.group(1)}" if found else str(path)
        raise InputError(f"{where} cannot be read: {_reason(text)}") from None


def _reason(text: str) -> str:
    """DuckDB's reason: after the line number and the line itself, where it gives them."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not _LINE.search(line) and not line.startswith("Original Line")]
    return (told or lines)[0]


@contextmanager
def marked(path: Path) -> Iterator[Path]:
    """A copy of a file of lines with one kind of line end, in which those that are not UTF-8 are marked."""
    with tempfile.TemporaryDirectory(prefix="featuredsl-") as folder:
        copy = Path(folder) / path.name
        with path.open("rb") as given, copy.open("wb") as made:
            for line in given:
                text = line.rstrip(b"\r\n")
                made.write((text if _is_utf8(text) else f"{MARK}{base64.b64encode(text).decode()}".encode()) + b"\n")
        yield copy


def payload_of(raw: str) -> bytes:
    """The bytes of a line as they came."""
    return base64.b64decode(raw.removeprefix(MARK)) if raw.startswith(MARK) else raw.encode()


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
