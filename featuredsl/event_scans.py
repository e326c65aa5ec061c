"""Event files as queries: the typed columns of a source, the times, `fdsl_reason` (null: the row is an event;
empty: a blank line) and `fdsl_raw`, the record as it came. Rows are in the order of the file."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb

from featuredsl.compilers.scalar import DUCKDB
from featuredsl.dtypes import spelled
from featuredsl.errors import InputError, unknown
from featuredsl.event_arrays import Cell
from featuredsl.event_bytes import MARK
from featuredsl.event_cells import (
    bad_times,
    fits_parquet,
    json_cell,
    json_text,
    moments,
    parquet_cell,
    reasons,
    text_cell,
    time_us,
    within,
)
from featuredsl.sources import EventSource
from featuredsl.times import UNIT_US

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")
CSV_ERRORS, CSV_SCANS = "fdsl_csv_errors", "fdsl_csv_scans"
"""Where DuckDB notes the records of a CSV file that it cannot read."""
_MAX_LINE = 33_554_432


def scan(source: EventSource, path: Path) -> str:
    """A query over a file. Raises InputError when it is missing or lacks what the source needs."""
    if not path.is_file():
        raise InputError(f"--events {source.name}: no file {path}")
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: suffix {suffix!r} is none of {', '.join(SUFFIXES)}")
    if suffix == ".parquet":
        return _parquet(source, path)
    file = DUCKDB.text(str(path))
    if suffix == ".csv":
        return _csv(source, path, file)
    return json_rows(
        f"SELECT raw AS fdsl_raw FROM read_csv({file}, auto_detect = false, columns = {{'raw': 'VARCHAR'}}, "
        f"header = false, delim = '\\x01', quote = '', escape = '', force_not_null = ['raw'], "
        f"max_line_size = {_MAX_LINE})",
        source,
    )


def json_rows(raw: str, source: EventSource) -> str:
    """A query over rows of one JSON object each, in the column `fdsl_raw`."""
    rows = f"SELECT fdsl_raw, TRY_CAST(fdsl_raw AS JSON) AS fdsl_doc FROM ({raw})"
    broken = (
        "WHEN fdsl_doc IS NULL OR json_type(fdsl_doc) <> 'OBJECT' THEN CASE "
        f"WHEN starts_with(fdsl_raw, {DUCKDB.text(MARK)}) THEN 'bad_utf8' "
        "WHEN trim(fdsl_raw, E' \\t\\r\\n') = '' THEN '' ELSE 'bad_json' END"
    )
    cells = {name: json_cell(name, dtype) for name, dtype in source.columns}
    return _typed(source, rows, cells, lambda field: time_us(source, json_text(field)), broken)


def _csv(source: EventSource, path: Path, file: str) -> str:
    columns = ", ".join(f"{DUCKDB.text(name)}: 'VARCHAR'" for name in _header(source, path))
    rows = (
        f"SELECT *, CAST(to_json(r) AS VARCHAR) AS fdsl_raw FROM read_csv({file}, auto_detect = false, header = true, "
        f"delim = ',', quote = '\"', escape = '\"', max_line_size = {_MAX_LINE}, store_rejects = true, "
        f"rejects_table = '{CSV_ERRORS}', rejects_scan = '{CSV_SCANS}', columns = {{{columns}}}) r"
    )
    cells = {name: text_cell(name, dtype) for name, dtype in source.columns}
    return _typed(source, rows, cells, lambda field: time_us(source, DUCKDB.ident(field)))


def _header(source: EventSource, path: Path) -> list[str]:
    """The columns of a CSV file. Raises InputError when one of the source's is missing."""
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        names = next(csv.reader(file), [])
    for name in (*source.time_columns.values(), *source.column_names):
        if name not in names:
            raise InputError(f"{path}: {unknown('column', name, path.name, tuple(names))}")
    twice = [name for i, name in enumerate(names) if name.lower() in [other.lower() for other in names[:i]]]
    if twice:
        raise InputError(f"{path}: the header has column {twice[0]!r} twice (letter case does not count); rename one")
    return names


def _parquet(source: EventSource, path: Path) -> str:
    file = DUCKDB.text(str(path))
    described = duckdb.connect().execute(f"DESCRIBE SELECT * FROM read_parquet({file})").fetchall()
    types = {row[0]: row[1] for row in described}
    for name, dtype in source.columns:
        if name not in types or not fits_parquet(types[name], dtype):
            raise InputError(
                f"{path}: column {name!r} should be {spelled(dtype)}, the file has {types.get(name, 'none')}"
            )
    cells = {name: parquet_cell(name, dtype) for name, dtype in source.columns}
    rows = f"SELECT *, CAST(to_json(r) AS VARCHAR) AS fdsl_raw FROM read_parquet({file}) r"
    return _typed(source, rows, cells, lambda field: _parquet_time(source, path, field, types))


def _parquet_time(source: EventSource, path: Path, field: str, types: Mapping[str, str]) -> str:
    kind = types.get(field)
    if kind is None:
        raise InputError(f"{path} has no time column {field!r}; it has {', '.join(types)}")
    column = DUCKDB.ident(field)
    if kind == "TIMESTAMP WITH TIME ZONE":
        return within(source, f"epoch_us({column})")
    if kind in ("BIGINT", "INTEGER", "UBIGINT", "UINTEGER"):
        return within(source, f"TRY_CAST({column}::HUGEINT * {UNIT_US[source.time_unit]} AS BIGINT)")
    if kind == "VARCHAR":
        return time_us(source, column)
    raise InputError(f"{path}: time column {field!r} is {kind}, without a zone; write UTC times")


def _typed(
    source: EventSource, rows: str, cells: Mapping[str, Cell], time: Callable[[str], str], broken: str = ""
) -> str:
    times = moments(source, time)
    values = [f"{cell.value} AS {DUCKDB.ident(name)}" for name, cell in cells.items()]
    values += [f"{us} AS {name}" for name, us in times.items()]
    reason = f"CASE {broken} {bad_times(source, times)} {reasons(cells)} END"
    return f"SELECT {', '.join(values)}, {reason} AS fdsl_reason, fdsl_raw FROM ({rows}) s"
