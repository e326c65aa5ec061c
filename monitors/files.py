"""One column of a JSON Lines, CSV or Parquet file as Python values."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from featuredsl.errors import InputError

_ABSENT = object()


def read_column(path: Path, column: str, *, as_text: bool = False) -> list[Any]:
    """The column's values, one a row; an absent JSON field is None. Dots reach into JSON objects.

    CSV fields become numbers where they read as such (not with `as_text`), and None where empty. Raises
    InputError for a file that cannot be read, an unknown suffix, or a column that no row has.
    """
    if not path.is_file():
        msg = f"no such file: {path}"
        raise InputError(msg)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path, column)
    if suffix == ".csv":
        return _csv(path, column, as_text)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return _json(path, column)
    msg = f"{path}: files are .jsonl, .ndjson, .json (one object a line), .csv or .parquet, not {suffix!r}"
    raise InputError(msg)


def csv_value(text: str | None) -> Any:
    """A CSV field: None where empty, an int or a float where it reads as one, else the text."""
    if text is None or not text.strip():
        return None
    for kind in (int, float) if "_" not in text else ():
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _json(path: Path, column: str) -> list[Any]:
    values: list[Any] = []
    seen: dict[str, None] = {}
    found = False
    for row in _objects(path):
        value = _field(row, column)
        found = found or value is not _ABSENT
        if not found:
            seen.update(dict.fromkeys(row))
        values.append(None if value is _ABSENT else value)
    if values and not found:
        raise _no_column(path, column, list(seen))
    return values


def _objects(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8", errors="strict") as lines:
        try:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                row = json.loads(line)
                if not isinstance(row, dict):
                    msg = f"{path}, line {number}: expected a JSON object, found {type(row).__name__}"
                    raise InputError(msg)
                yield row
        except UnicodeDecodeError as error:
            msg = f"{path} is not UTF-8: {error}"
            raise InputError(msg) from error
        except json.JSONDecodeError as error:
            msg = f"{path}, line {number}: not JSON ({error.msg} at column {error.colno})"
            raise InputError(msg) from error


def _field(row: Mapping[str, Any], column: str) -> Any:
    if column in row:
        return row[column]
    value: Any = row
    for part in column.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _ABSENT
        value = value[part]
    return value


def _csv(path: Path, column: str, as_text: bool) -> list[Any]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.reader(lines, strict=True)
            header = next(reader, [])
            if column not in header:
                raise _no_column(path, column, header)
            fields = _csv_fields(reader, header.index(column), len(header))
            return [(text or None) if as_text else csv_value(text) for text in fields]
    except (UnicodeDecodeError, csv.Error) as error:
        msg = f"{path} is not a CSV file in UTF-8: {error}"
        raise InputError(msg) from error


def _csv_fields(rows: Iterable[list[str]], index: int, width: int) -> Iterator[str | None]:
    """One field of every row; an empty line is a missing value of a file with one column, else no row."""
    for row in rows:
        if row or width == 1:
            yield row[index] if index < len(row) else None


def _parquet(path: Path, column: str) -> list[Any]:
    with duckdb.connect() as connection:
        try:
            relation = connection.read_parquet(str(path))
            if column not in relation.columns:
                raise _no_column(path, column, relation.columns)
            quoted = column.replace('"', '""')
            return [_plain(row[0]) for row in relation.project(f'"{quoted}"').fetchall()]
        except duckdb.Error as error:
            msg = f"{path} is not a readable Parquet file: {error}"
            raise InputError(msg) from error


def _plain(value: Any) -> Any:
    return float(value) if type(value).__name__ == "Decimal" else value


def _no_column(path: Path, column: str, columns: list[str]) -> InputError:
    return InputError(f"{path} has no column {column!r}; columns are {', '.join(columns) or 'none'}")
