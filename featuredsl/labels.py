"""Label files: the rows that a point-in-time training set is made for, kept as they are."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from featuredsl.compilers.scalar import DUCKDB
from featuredsl.dtypes import ELEMENTS, DType, of_value, spelled
from featuredsl.errors import InputError
from featuredsl.times import TIME_RANGE, UNIT_US, TimeRange, fitting_unit, from_datetime, parse_time, range_us
from featuredsl.values import Value, parse_array, refuse_constant, typed

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Labels:
    """Label rows in file order, with their times in microseconds."""

    path: Path
    rows: Sequence[Row]
    times_us: Sequence[int]


def read_labels(path: Path, unit: str, time_range: TimeRange = TIME_RANGE) -> Labels:
    """Read JSON Lines, CSV or Parquet. Raises InputError naming the row for a bad time or a bad line.

    An integer outside `time_range` in `unit` is a bad time.
    """
    if not path.is_file():
        raise InputError(f"no label file {path}")
    rows = _read(path)
    if not rows:
        raise InputError(f"{path} holds no label")
    return Labels(path, rows, [_time(row, path, i, unit, time_range) for i, row in enumerate(rows, 1)])


def _time(row: Row, path: Path, number: int, unit: str, time_range: TimeRange) -> int:
    what = f"{path}, row {number}: ts"
    value = row.get("ts")
    if isinstance(value, datetime):
        return from_datetime(value, what)
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        _check_range(value, unit, time_range, what)
        return parse_time(value, unit, what)
    raise InputError(f"{what} is {value!r}; a label needs `ts`: ISO 8601 with a zone, or an integer in {unit}")


def _check_range(value: str | int, unit: str, time_range: TimeRange, what: str) -> None:
    try:
        number = int(value)
    except ValueError:
        return
    if time_range is None or range_us(time_range)[0] <= number * UNIT_US[unit] <= range_us(time_range)[1]:
        return
    fitting = fitting_unit(number, time_range)
    hint = f"; in unit {fitting!r} it would fit: use --label-unit {fitting}" if fitting else ""
    raise InputError(f"{what} is {value}, outside {time_range[0]} to {time_range[1]} in unit {unit!r}{hint}")


def _read(path: Path) -> list[Row]:
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    if path.suffix == ".parquet":
        found = duckdb.connect().execute(f"SELECT * FROM read_parquet({DUCKDB.text(str(path))})")
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    if path.suffix not in (".jsonl", ".ndjson", ".json"):
        raise InputError(f"{path}: suffix {path.suffix!r} is none of .jsonl, .csv, .parquet")
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            rows.append(_object(line, path, number))
    return rows


def _object(line: str, path: Path, number: int) -> Row:
    try:
        value = json.loads(line, parse_constant=refuse_constant)
    except ValueError as error:
        raise InputError(f"{path}, line {number} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}, line {number} is not a JSON object")
    return value


def typed_cell(row: Row, name: str, dtype: DType, where: str) -> Value:
    """A label's cell as `dtype`; text of a CSV is converted (arrays from JSON), anything else must be of the type."""
    value = row.get(name)
    if name not in row:
        raise InputError(f"{where} has no column {name!r}; it has {', '.join(row)}")
    if value is None or (value == "" and dtype != "str"):
        return None
    try:
        return typed(_parsed(value, dtype), dtype)
    except ValueError as error:
        raise InputError(f"{where}: {name} is {spelled(dtype)}: {error}") from None


def _parsed(value: object, dtype: DType) -> object:
    if not isinstance(value, str):
        return value
    if dtype in ("int", "float"):
        return int(value) if dtype == "int" else float(value)
    return parse_array(value) if dtype in ELEMENTS else value


def write_rows(path: Path, rows: Sequence[Row], types: Mapping[str, DType]) -> None:
    """Write rows as JSON Lines, CSV (arrays as JSON text) or Parquet by suffix; `types` gives the SQL types of
    feature columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows({name: _as_text(value) for name, value in row.items()} for row in rows)
        return
    if path.suffix == ".parquet":
        _write_parquet(path, rows, types)
        return
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False, default=str) + "\n")


def _as_text(value: object) -> object:
    """A list as JSON text, for cells that hold no array; other values as they are."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str) if isinstance(value, list) else value


def _write_parquet(path: Path, rows: Sequence[Row], types: Mapping[str, DType]) -> None:
    con = duckdb.connect()
    names = list(rows[0])
    kinds = [_sql_type(rows, name, types) for name in names]
    columns = ", ".join(f"{DUCKDB.ident(name)} {kind}" for name, kind in zip(names, kinds, strict=True))
    con.execute(f"CREATE TABLE out ({columns})")
    marks = ", ".join("?" for _ in names)
    cells = [
        [_as_text(row[n]) if k == "VARCHAR" else row[n] for n, k in zip(names, kinds, strict=True)] for row in rows
    ]
    con.executemany(f"INSERT INTO out VALUES ({marks})", cells)
    con.execute(f"COPY out TO {DUCKDB.text(str(path))} (FORMAT parquet)")


def _sql_type(rows: Sequence[Row], name: str, types: Mapping[str, DType]) -> str:
    if name in types:
        return DUCKDB.type_name(types[name])
    kinds = {type(row[name]) for row in rows if row[name] is not None}
    known = {int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", str: "VARCHAR", datetime: "TIMESTAMPTZ"}
    if kinds == {list}:
        arrays = {of_value(row[name]) for row in rows if row[name]}
        dtype = "float[]" if arrays == {"int[]", "float[]"} else arrays.pop() if len(arrays) == 1 else None
        return "VARCHAR" if dtype is None else DUCKDB.type_name(dtype)
    if kinds <= {int, float} and kinds:
        return "DOUBLE" if float in kinds else "BIGINT"
    return known.get(next(iter(kinds), str), "VARCHAR") if len(kinds) <= 1 else "VARCHAR"
