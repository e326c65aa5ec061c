"""Records of CSV files that are no rows: what DuckDB noted while it read the others, and where lines are."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import duckdb

from featuredsl.dead_letters import Refused
from featuredsl.errors import InputError
from featuredsl.event_scans import CSV_ERRORS, CSV_SCANS

_CODES = {
    "INVALID ENCODING": "bad_utf8",
    "UNQUOTED VALUE": "bad_quotes",
    "LINE SIZE OVER MAXIMUM": "too_long",
    "MISSING COLUMNS": "too_few_cells",
    "TOO MANY COLUMNS": "too_many_cells",
}
"""The worst first: a record may have several errors."""
_COUNTS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_CHUNK = 1 << 20


def malformed(con: duckdb.DuckDBPyConnection, path: Path) -> list[Refused]:
    """The records that the last scan of a CSV file could not read, in order; forgets them.

    Raises InputError for a quote that is never closed: where the next record begins is anybody's guess.
    """
    query = (
        f"SELECT line_byte_position - 1, any_value(csv_line), list(error_type), list(error_message) FROM {CSV_ERRORS} "
        "GROUP BY ALL ORDER BY ALL"
    )
    found = con.execute(query).fetchall()
    forget(con)
    if not found:
        return []
    with path.open("rb") as file:
        return _located(file, path, found)


def forget(con: duckdb.DuckDBPyConnection) -> None:
    """Drop what DuckDB noted: it would add to it."""
    for table in (CSV_ERRORS, CSV_SCANS):
        con.execute(f"DROP TABLE IF EXISTS {table}")


def numbered(path: Path, rows: int, refused: Sequence[Refused], bad: Sequence[Refused]) -> list[Refused]:
    """`refused`, whose `line` counts rows that were read from 0, with their lines and bytes in the file.

    Where some record takes several lines, or a line is blank, they stay without; `bad` are the malformed ones.
    """
    unknown = any(record.line is None for record in refused)
    if unknown or _lines(path) != rows + len(bad) + 1:
        return [record._replace(line=None) for record in refused]
    gaps = [record.line - i for i, record in enumerate(bad) if record.line is not None]
    placed = []
    for record in refused:
        line = (record.line or 0) + 2
        placed.append(record._replace(line=line + bisect_right(gaps, line)))
    wanted = {record.line for record in placed}
    with path.open("rb") as file:
        texts = {i: text.rstrip(b"\r\n") for i, text in enumerate(file, 1) if i in wanted}
    return [record._replace(payload=texts.get(record.line or 0)) for record in placed]


def _located(file: BinaryIO, path: Path, found: Sequence[tuple[int, str, list[str], list[str]]]) -> list[Refused]:
    size, at, line, refused = path.stat().st_size, 0, 1, []
    for start, text, kinds, messages in found:
        record = text.lstrip("\r\n")
        offset = start + len(text) - len(record)
        file.seek(at)
        line, at = line + _newlines(file, offset - at), offset
        code = next((code for kind, code in _CODES.items() if kind in kinds), "bad_csv")
        if code == "bad_quotes" and "\n" in record.rstrip() and offset + len(record.encode()) >= size:
            raise InputError(f"{path}, line {line} cannot be read: a quote is never closed")
        file.seek(offset)
        payload = record.rstrip("\r\n").encode() if "\n" in record.rstrip("\r\n") else file.readline().rstrip(b"\r\n")
        refused.append(Refused("{}", _reason(code, messages), line, payload))
    return refused


def _reason(code: str, messages: Sequence[str]) -> str:
    counts = [match.groups() for match in map(_COUNTS.search, messages) if match]
    if code not in ("too_few_cells", "too_many_cells") or not counts:
        return code
    has = (min if code == "too_few_cells" else max)(int(has) for _, has in counts)
    return f"{code}:{has}, the header has {counts[0][0]}"


def _lines(path: Path) -> int:
    """How many lines a file has; the last one may lack its end."""
    with path.open("rb") as file:
        lines = _newlines(file, path.stat().st_size)
        file.seek(-1, 2)
        return lines + (file.read(1) != b"\n")


def _newlines(file: BinaryIO, size: int) -> int:
    """Line ends in the next `size` bytes."""
    count = 0
    while size > 0 and (chunk := file.read(min(size, _CHUNK))):
        count, size = count + chunk.count(b"\n"), size - len(chunk)
    return count
