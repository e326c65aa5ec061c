"""Record files: JSON Lines, CSV and Parquet, by suffix, read as lines of JSON and written from records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from featuredsl.ccb.join import Line
from featuredsl.errors import InputError

JSON_LINES = (".jsonl", ".ndjson", ".json")
READERS = {".csv": "read_csv(?, header = true, all_varchar = true)", ".parquet": "read_parquet(?)"}
SUFFIXES = (*JSON_LINES, *READERS)
_NESTED = frozenset({"context", "candidates", "slots", "features", "propensities", "decision", "include", "exclude"})
_TEXT = frozenset({"event_id", "slot_id", "action_id", "model", "model_version", "tenant", "chosen"})


def read_lines(path: Path) -> Iterator[Line]:
    """Every record of a file as a JSON line, numbered from 1; blank lines of JSON Lines are skipped.

    CSV cells and Parquet columns of nested fields may hold JSON texts. Raises InputError for a missing file,
    an unknown suffix or a file that is not what its suffix says.
    """
    kind = check_suffix(path)
    if not path.is_file():
        msg = f"no such file: {path}"
        raise InputError(msg)
    return _json_lines(path) if kind in JSON_LINES else _table_rows(path, kind)


def write_records(path: Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Write records in the form that the suffix says; nested fields become JSON texts in CSV and Parquet."""
    kind = check_suffix(path)
    rows = [dict(record) for record in records]
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind in JSON_LINES:
        text = "".join(dump(row) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8")
    else:
        _write_table(path, kind, rows)
    return len(rows)


def dump(value: object) -> str:
    """Compact strict JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def check_suffix(path: Path) -> str:
    """The suffix in lower case. Raises InputError when it is not one of `SUFFIXES`."""
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        msg = f"{path}: files end in {', '.join(SUFFIXES)}, not in {path.suffix!r}"
        raise InputError(msg)
    return kind


def _json_lines(path: Path) -> Iterator[Line]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            payload = raw.removesuffix(b"\n").removesuffix(b"\r")
            if payload.strip():
                yield Line(path.name, number, payload)


def _table_rows(path: Path, kind: str) -> Iterator[Line]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        try:
            cursor = connection.execute(f"SELECT to_json(t) FROM {READERS[kind]} AS t", [str(path)])
            number = 0
            while rows := cursor.fetchmany(10_000):
                for (text,) in rows:
                    number += 1
                    record = _record(json.loads(text), from_text=kind == ".csv")
                    yield Line(path.name, number, json.dumps(record, ensure_ascii=False).encode("utf-8"))
        except duckdb.Error as error:
            msg = f"{path} cannot be read as {kind[1:]}: {error}"
            raise InputError(msg) from error


def _record(row: dict[str, Any], from_text: bool) -> dict[str, Any]:
    """One row without nulls; texts that stand for something else are parsed where the name says so."""
    return {name: _cell(name, value, from_text) for name, value in row.items() if value is not None}


def _cell(name: str, value: Any, from_text: bool) -> Any:
    if isinstance(value, str) and (name in _NESTED or (from_text and name not in _TEXT)):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    return _without_nulls(value)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _write_table(path: Path, kind: str, rows: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    flat = path.with_name(f".{path.name}.rows.jsonl")
    try:
        lines = ({name: _flat(row.get(name)) for name in names} for row in rows)
        flat.write_text("".join(dump(line) + "\n" for line in lines), encoding="utf-8")
        form = "FORMAT csv, HEADER" if kind == ".csv" else "FORMAT parquet"
        target = str(path).replace("'", "''")
        with duckdb.connect() as connection:
            source = "read_json(?, format = 'newline_delimited', convert_strings_to_integers = false)"
            connection.execute(f"COPY (SELECT * FROM {source}) TO '{target}' ({form})", [str(flat)])
    finally:
        flat.unlink(missing_ok=True)


def _flat(value: object) -> object:
    return dump(value) if isinstance(value, dict | list) else value
