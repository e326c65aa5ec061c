"""The three formats of label files on DuckDB: how a file becomes `fdsl_given`, and how its cells are read.

`quick` is null where a cell is not in the usual spelling; the caller then decides in Python what it means.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import duckdb

from featuredsl.compilers.scalar import DUCKDB
from featuredsl.dtypes import ELEMENTS, DType
from featuredsl.errors import InputError
from featuredsl.event_bytes import reading
from featuredsl.times import UNIT_US, parse_time

GIVEN = "fdsl_given"
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
_ISO = (
    "[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?"
    "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
)
_USUAL = (parse_time("1980-01-01T00:00:00Z"), parse_time("2100-01-01T00:00:00Z"))


class Format(Protocol):
    """A loaded file."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Column to SQL type; of JSON Lines, what the values have in common."""

    def cell(self, name: str) -> str:
        """SQL of a cell as Python gets it; null where there is none."""

    def quick(self, name: str, dtype: DType) -> str:
        """SQL of the cell as `dtype`, or null."""

    def is_null(self, name: str) -> str:
        """SQL condition: the cell is there and holds nothing."""

    def row(self, cell: Any, name: str) -> Mapping[str, Any]:
        """A fetched cell as (part of) its row."""


class Parquet:
    """Columns with the types of the file."""

    def __init__(self, con: duckdb.DuckDBPyConnection, path: Path, unit: str) -> None:
        file = f"read_parquet({DUCKDB.text(str(path))}, file_row_number = true)"
        described = _run(con, path, f"DESCRIBE SELECT * EXCLUDE (file_row_number) FROM {file}").fetchall()
        self.columns: dict[str, str] = {row[0]: row[1] for row in described}
        rest = "* EXCLUDE (file_row_number)"
        _create(con, path, f"SELECT file_row_number AS fdsl_id, {self._time(unit)} AS fdsl_us, {rest} FROM {file}")

    def _time(self, unit: str) -> str:
        kind = self.columns.get("ts", "")
        if kind == "TIMESTAMP WITH TIME ZONE":
            return "epoch_us(ts)"
        if kind in _INTEGERS:
            return _usual(f"TRY_CAST(ts::HUGEINT * {UNIT_US[unit]} AS BIGINT)")
        return _text_time("ts", unit) if kind == "VARCHAR" else "CAST(NULL AS BIGINT)"

    def cell(self, name: str) -> str:
        return DUCKDB.ident(name) if name in self.columns else "NULL"

    def quick(self, name: str, dtype: DType) -> str:
        kind = self.columns.get(name, "")
        target = DUCKDB.type_name(dtype)
        if dtype in ELEMENTS:
            return f"CAST(NULL AS {target})"
        if kind == "VARCHAR":
            return _text_cell(name, dtype)
        number = kind in _INTEGERS
        same = {"int": number, "float": number or kind in ("FLOAT", "DOUBLE"), "bool": kind == "BOOLEAN"}
        if same.get(dtype, kind == target):
            value = f"TRY_CAST({DUCKDB.ident(name)} AS {target})"
            return f"CASE WHEN isfinite({value}) THEN {value} END" if dtype == "float" else value
        return f"CAST(NULL AS {target})"

    def is_null(self, name: str) -> str:
        return f"{DUCKDB.ident(name)} IS NULL" if name in self.columns else "FALSE"

    def row(self, cell: Any, name: str) -> Mapping[str, Any]:
        return {column: cell if column == name else None for column in self.columns}


class Csv(Parquet):
    """Columns of text; an empty cell is an empty string, as in Python's csv."""

    def __init__(self, con: duckdb.DuckDBPyConnection, path: Path, unit: str) -> None:
        with path.open(newline="", encoding="utf-8-sig") as file:
            names = next(csv.reader(file), [])
        if not names:
            raise InputError(f"{path} holds no label")
        if len(set(names)) < len(names):
            raise InputError(f"{path} has a column twice: {', '.join(names)}")
        self.columns = dict.fromkeys(names, "VARCHAR")
        columns = ", ".join(f"{DUCKDB.text(name)}: 'VARCHAR'" for name in names)
        given = ", ".join(DUCKDB.text(name) for name in names)
        scan = (
            f"read_csv({DUCKDB.text(str(path))}, auto_detect = false, header = true, delim = ',', quote = '\"', "
            f"escape = '\"', columns = {{{columns}}}, force_not_null = [{given}], max_line_size = 33554432)"
        )
        ordered = "row_number() OVER () - 1 AS fdsl_id"
        _create(con, path, f"SELECT {ordered}, {self._time(unit)} AS fdsl_us, * FROM {scan}")


class JsonLines:
    """The lines, in the column `fdsl_line`."""

    def __init__(self, con: duckdb.DuckDBPyConnection, path: Path, unit: str) -> None:
        scan = (
            f"SELECT trim(line, E' \\t\\r\\n') AS fdsl_line FROM read_csv({DUCKDB.text(str(path))}, "
            "columns = {'line': 'VARCHAR'}, auto_detect = false, header = false, delim = '\\x01', quote = '', "
            "escape = '', max_line_size = 33554432) WHERE trim(line, E' \\t\\r\\n') <> ''"
        )
        kind, text = self._kind("ts"), self.text("ts")
        number = _usual(f"TRY_CAST(TRY_CAST({text} AS HUGEINT) * {UNIT_US[unit]} AS BIGINT)")
        time = f"CASE WHEN {kind} IN ('BIGINT', 'UBIGINT') THEN {number} WHEN {kind} = 'VARCHAR' "
        time += f"THEN {_text_time(text, unit)} END"
        checked = "CASE WHEN json_valid(fdsl_line) AND json_type(fdsl_line) = 'OBJECT' THEN fdsl_line END"
        _create(con, path, f"SELECT row_number() OVER () - 1 AS fdsl_id, {checked} AS fdsl_line FROM ({scan})")
        if _one(con, f"SELECT COUNT(*) FROM {GIVEN} WHERE fdsl_line IS NULL"):
            raise _bad_line(path)
        con.execute(f"CREATE OR REPLACE TABLE {GIVEN} AS SELECT fdsl_id, {time} AS fdsl_us, fdsl_line FROM {GIVEN}")
        self._con = con

    @property
    def columns(self) -> Mapping[str, str]:
        found = _one(self._con, f"SELECT json_group_structure(fdsl_line::JSON) FROM {GIVEN}")
        return {name: self._sql_type(name, kind) for name, kind in json.loads(found).items()}

    def _sql_type(self, name: str, kind: object) -> str:
        if kind == "UBIGINT":
            biggest = _one(self._con, f"SELECT MAX(TRY_CAST({self.text(name)} AS UBIGINT)) FROM {GIVEN}")
            return "BIGINT" if biggest is None or biggest < 2**63 else "UBIGINT"
        if isinstance(kind, list):
            element = {"UBIGINT": "BIGINT"}.get(str(kind[0]), str(kind[0]))
            return f"{element}[]" if element in ("BIGINT", "DOUBLE", "VARCHAR") else "VARCHAR"
        return str(kind) if kind in ("BIGINT", "DOUBLE", "BOOLEAN") else "VARCHAR"

    def _at(self, name: str) -> str:
        return DUCKDB.text("$." + json.dumps(name, ensure_ascii=False))

    def text(self, name: str) -> str:
        return f"json_extract_string(fdsl_line, {self._at(name)})"

    def _kind(self, name: str) -> str:
        return f"json_type(fdsl_line, {self._at(name)})"

    def cell(self, name: str) -> str:
        return f"CAST(json_extract(fdsl_line, {self._at(name)}) AS VARCHAR)"

    def quick(self, name: str, dtype: DType) -> str:
        value = f"TRY_CAST({self.text(name)} AS {DUCKDB.type_name(dtype)})"
        kinds = {
            "int": "('BIGINT', 'UBIGINT')",
            "float": "('BIGINT', 'UBIGINT', 'DOUBLE')",
            "str": "('VARCHAR')",
            "bool": "('BOOLEAN')",
        }
        return f"CASE WHEN {self._kind(name)} IN {kinds.get(dtype, '(NULL)')} THEN {value} END"

    def is_null(self, name: str) -> str:
        return f"coalesce({self._kind(name)} = 'NULL', FALSE)"

    def row(self, cell: Any, name: str) -> Mapping[str, Any]:
        if cell is not None:
            return {name: json.loads(cell)}
        return {column: None for column in self.columns if column != name}


FORMATS: dict[str, Callable[[duckdb.DuckDBPyConnection, Path, str], Format]] = {
    ".jsonl": JsonLines,
    ".ndjson": JsonLines,
    ".json": JsonLines,
    ".csv": Csv,
    ".parquet": Parquet,
}


def _text_time(text: str, unit: str) -> str:
    number = f"TRY_CAST(TRY_CAST({text} AS HUGEINT) * {UNIT_US[unit]} AS BIGINT)"
    return _usual(
        f"CASE WHEN regexp_full_match({text}, '[+-]?[0-9]{{6,18}}') THEN {number} "
        f"WHEN regexp_full_match({text}, {DUCKDB.text(_ISO)}) THEN epoch_us(TRY_CAST({text} AS TIMESTAMPTZ)) END"
    )


def _usual(us: str) -> str:
    return f"(CASE WHEN ({us}) >= {_USUAL[0]} AND ({us}) < {_USUAL[1]} THEN ({us}) END)"


def _text_cell(name: str, dtype: DType) -> str:
    column = DUCKDB.ident(name)
    usual = {"int": "[+-]?[0-9]{1,18}", "float": "[+-]?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]{1,2})?"}.get(dtype)
    target = DUCKDB.type_name(dtype)
    if dtype == "str":
        return column
    if usual is None:
        return f"CAST(NULL AS {target})"
    return f"CASE WHEN regexp_full_match({column}, {DUCKDB.text(usual)}) THEN TRY_CAST({column} AS {target}) END"


def _run(con: duckdb.DuckDBPyConnection, path: Path, query: str) -> duckdb.DuckDBPyConnection:
    with reading(path):
        return con.execute(query)


def _create(con: duckdb.DuckDBPyConnection, path: Path, query: str) -> None:
    _run(con, path, f"CREATE OR REPLACE TABLE {GIVEN} AS {query}")


def _one(con: duckdb.DuckDBPyConnection, query: str) -> Any:
    return (con.execute(query).fetchone() or (None,))[0]


def _bad_line(path: Path) -> InputError:
    """The first line that is no JSON object."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                value = json.loads(line) if line.strip() else {}
            except ValueError as error:
                return InputError(f"{path}, line {number} is not JSON: {error}")
            if not isinstance(value, dict):
                return InputError(f"{path}, line {number} is not a JSON object")
    return InputError(f"{path} has a line that is not a JSON object")
