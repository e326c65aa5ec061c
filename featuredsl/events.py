"""Event files (JSON Lines, CSV, Parquet) as typed DuckDB tables; what does not fit is kept with a reason."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from featuredsl import event_arrays
from featuredsl.compilers.scalar import DUCKDB, floor_to
from featuredsl.dtypes import ELEMENTS, DType, spelled
from featuredsl.errors import InputError, unknown
from featuredsl.event_arrays import Cell
from featuredsl.event_bytes import MARK, is_utf8, marked, payload_of, reading
from featuredsl.source_checks import ARRIVAL_US
from featuredsl.sources import EventSource
from featuredsl.times import UNIT_US, fitting_unit, range_us

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")
_INT_TYPES = "('BIGINT', 'UBIGINT')"
_NUMBER_TYPES = "('BIGINT', 'UBIGINT', 'DOUBLE')"
BAD_TIME = "bad_time:"
_ZONED = r"[0-9](Z|z|[+-][0-9]{2}(:?[0-9]{2})?)$"


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many rows of a file became events, how many were rejected, how many were not yet known."""

    source: str
    rows: int
    rejected: int
    later: int = 0


def load_events(
    con: duckdb.DuckDBPyConnection,
    source: EventSource,
    path: Path,
    dead_letters: Path | None,
    as_of_us: int | None = None,
) -> Loaded:
    """Create the table `<source.name>` (its view columns) from a file; append rejects to `dead_letters`.

    With `as_of_us` only rows that arrived by then are loaded; without an arrival time a row arrives at its event time.
    Raises InputError when the file cannot be read, or when no row has a usable time.
    """
    with reading(path):
        try:
            loaded, refused = _load(con, source, path, _scan(source, path), as_of_us)
        except duckdb.InvalidInputException:
            if path.suffix.lower() in (".csv", ".parquet") or is_utf8(path):
                raise
            with marked(path) as copy:
                loaded, refused = _load(con, source, path, _scan(source, copy), as_of_us)
    if refused and dead_letters is not None:
        _write_rejects(source, refused, path, dead_letters)
    return loaded


def load_records(con: duckdb.DuckDBPyConnection, source: EventSource, records: Sequence[str]) -> Sequence[Refused]:
    """As `load_events`, of JSON objects at hand; returns those that are refused."""
    con.execute("CREATE OR REPLACE TEMP TABLE fdsl_records (raw VARCHAR)")
    if records:
        con.execute("INSERT INTO fdsl_records SELECT unnest(?)", [list(records)])
    return _load(con, source, Path("events"), _json("SELECT raw FROM fdsl_records", source))[1]


def _load(
    con: duckdb.DuckDBPyConnection, source: EventSource, path: Path, scan: str, as_of_us: int | None = None
) -> tuple[Loaded, Sequence[Refused]]:
    scanned = f"{source.name}__scanned"
    con.execute(f"CREATE OR REPLACE TEMP TABLE {DUCKDB.ident(scanned)} AS {scan}")
    names = ", ".join(DUCKDB.ident(name) for name in source.view_columns)
    table, rows = DUCKDB.ident(source.name), DUCKDB.ident(scanned)
    known = "TRUE" if as_of_us is None else f"{list(source.time_columns)[-1]} <= {as_of_us}"
    con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT {names} FROM {rows} WHERE reason IS NULL AND {known}")
    good, bad, bad_times, later = _counts(con, rows, known)
    if not good and not later and bad and bad == bad_times:
        raise InputError(_no_time(con, source, path, rows))
    query = f"SELECT raw, reason FROM {rows} WHERE reason IS NOT NULL"
    refused = con.execute(query).fetchall() if bad else []
    con.execute(f"DROP TABLE {rows}")
    return Loaded(source.name, good, bad, later), refused


def _counts(con: duckdb.DuckDBPyConnection, rows: str, known: str) -> tuple[int, int, int, int]:
    query = (
        f"SELECT COUNT(*) FILTER (WHERE reason IS NULL AND {known}), COUNT(reason), "
        f"COUNT(*) FILTER (WHERE starts_with(reason, '{BAD_TIME}')), "
        f"COUNT(*) FILTER (WHERE reason IS NULL AND NOT ({known})) FROM {rows}"
    )
    found = con.execute(query).fetchone() or (0, 0, 0, 0)
    return int(found[0]), int(found[1]), int(found[2]), int(found[3])


def _scan(source: EventSource, path: Path) -> str:
    if not path.is_file():
        raise InputError(f"--events {source.name}: no file {path}")
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: suffix {suffix!r} is none of {', '.join(SUFFIXES)}")
    file = DUCKDB.text(str(path))
    if suffix == ".parquet":
        return _parquet(source, path)
    if suffix == ".csv":
        columns = ", ".join(f"{DUCKDB.text(name)}: 'VARCHAR'" for name in _header(source, path))
        scan = f"read_csv({file}, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
        raw = f"SELECT *, CAST(to_json(r) AS VARCHAR) AS raw FROM {scan}columns = {{{columns}}}) r"
        return _typed(source, raw, {name: _text_cell(name, dtype) for name, dtype in source.columns}, DUCKDB.ident)
    raw = (
        f"SELECT raw FROM read_csv({file}, columns = {{'raw': 'VARCHAR'}}, header = false, delim = '\\x01', "
        "quote = '', escape = '', max_line_size = 33554432) WHERE trim(raw) <> ''"
    )
    return _json(raw, source)


def _json(raw: str, source: EventSource) -> str:
    raw = f"SELECT raw, TRY_CAST(raw AS JSON) AS doc FROM ({raw})"
    return _typed(source, raw, {name: _json_cell(name, dtype) for name, dtype in source.columns}, _json_text)


Refused = tuple[str, str]
"""A record as it came, and the reason: a code, or `code:column`."""


def _header(source: EventSource, path: Path) -> list[str]:
    """The columns of a CSV file. Raises InputError when one of the source's is missing."""
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        names = next(csv.reader(file), [])
    for name in (*source.time_columns.values(), *source.column_names):
        if name not in names:
            raise InputError(f"{path}: {unknown('column', name, path.name, tuple(names))}")
    return names


def _json_cell(name: str, dtype: DType) -> Cell:
    if dtype in ELEMENTS:
        return event_arrays.json_cell(name, dtype)
    item = f"json_extract(doc, {DUCKDB.text('$.' + json.dumps(name))})"
    kind = f"json_type({item})"
    string = f"json_extract_string(doc, {DUCKDB.text('$.' + json.dumps(name))})"
    value, allowed = {
        "int": (f"TRY_CAST({string} AS BIGINT)", _INT_TYPES),
        "float": (f"TRY_CAST({string} AS DOUBLE)", _NUMBER_TYPES),
        "str": (string, "('VARCHAR')"),
        "bool": (f"TRY_CAST({string} AS BOOLEAN)", "('BOOLEAN')"),
    }[dtype]
    present = f"({item} IS NOT NULL AND {kind} <> 'NULL')"
    typed = f"CASE WHEN {present} AND {kind} IN {allowed} THEN {value} END"
    return typed, f"{present} AND ({typed}) IS NULL"


def _text_cell(name: str, dtype: DType) -> Cell:
    if dtype in ELEMENTS:
        return event_arrays.text_cell(name, dtype)
    column = DUCKDB.ident(name)
    if dtype == "str":
        return column, "FALSE"
    typed = f"TRY_CAST({column} AS {DUCKDB.type_name(dtype)})"
    if dtype == "float":
        typed = f"CASE WHEN isfinite({typed}) THEN {typed} END"
    if dtype == "int":
        typed = f"CASE WHEN regexp_full_match({column}, '[+-]?[0-9]+') THEN {typed} END"
    return typed, f"{column} IS NOT NULL AND ({typed}) IS NULL"


def _json_text(field: str) -> str:
    return f"json_extract_string(doc, {DUCKDB.text('$.' + json.dumps(field))})"


def _time_us(source: EventSource, text: str) -> str:
    """Microseconds of an integer in the source's unit or of an ISO text with a zone; null when neither."""
    number = f"TRY_CAST({text} AS BIGINT)"
    moment = f"epoch_us(TRY_CAST({text} AS TIMESTAMPTZ))"
    us = (
        f"CASE WHEN regexp_full_match({text}, '[+-]?[0-9]+') THEN TRY_CAST({number} * {UNIT_US[source.time_unit]} "
        f"AS BIGINT) WHEN regexp_matches({text}, {DUCKDB.text(_ZONED)}) THEN {moment} END"
    )
    return _within(source, us)


def _within(source: EventSource, us: str) -> str:
    if source.time_range is None:
        return us
    low, high = range_us(source.time_range)
    return f"CASE WHEN ({us}) BETWEEN {low} AND {high} THEN ({us}) END"


def _moments(source: EventSource, time_us: Callable[[str], str]) -> dict[str, str]:
    """The view's time columns; an arrival has the resolution of the source's unit."""
    moments = {name: time_us(field) for name, field in source.time_columns.items()}
    if ARRIVAL_US in moments and UNIT_US[source.time_unit] > 1:
        moments[ARRIVAL_US] = floor_to(f"({moments[ARRIVAL_US]})", str(UNIT_US[source.time_unit]))
    return moments


def _bad_times(source: EventSource, moments: dict[str, str]) -> str:
    """The cases of a missing or unusable time, each with the name of its field."""
    fields = source.time_columns
    return " ".join(f"WHEN ({us}) IS NULL THEN {DUCKDB.text(BAD_TIME + fields[n])}" for n, us in moments.items())


def _named(moments: dict[str, str]) -> str:
    return ", ".join(f"{us} AS {name}" for name, us in moments.items())


def _typed(source: EventSource, raw: str, cells: dict[str, Cell], text_of: Callable[[str], str]) -> str:
    moments = _moments(source, lambda field: _time_us(source, text_of(field)))
    values = ", ".join(f"{value} AS {DUCKDB.ident(name)}" for name, (value, _) in cells.items())
    bad = " ".join(f"WHEN {wrong} THEN {DUCKDB.text('bad_type:' + name)}" for name, (_, wrong) in cells.items())
    broken = (
        f"WHEN starts_with(raw, {DUCKDB.text(MARK)}) THEN 'bad_utf8' "
        "WHEN doc IS NULL OR json_type(doc) <> 'OBJECT' THEN 'bad_json'"
        if text_of is _json_text
        else ""
    )
    reason = f"CASE {broken} {_bad_times(source, moments)} {bad} END"
    return f"SELECT {values}, {_named(moments)}, {reason} AS reason, raw FROM ({raw}) s"


def _parquet(source: EventSource, path: Path) -> str:
    file = DUCKDB.text(str(path))
    described = duckdb.connect().execute(f"DESCRIBE SELECT * FROM read_parquet({file})").fetchall()
    types = {row[0]: row[1] for row in described}
    moments = _moments(source, lambda field: _parquet_time(source, path, field, types))
    wanted: dict[DType, tuple[str, ...]] = {
        "int": ("INT",),
        "float": ("INT", "DOUBLE", "FLOAT", "DECIMAL"),
        "str": ("VARCHAR",),
        "bool": ("BOOL",),
    }
    for name, dtype in source.columns:
        if name not in types or not _fits(types[name], dtype, wanted):
            raise InputError(
                f"{path}: column {name!r} should be {spelled(dtype)}, the file has {types.get(name, 'none')}"
            )
    cells = {name: _parquet_cell(name, dtype) for name, dtype in source.columns}
    values = ", ".join(f"{value} AS {DUCKDB.ident(name)}" for name, (value, _) in cells.items())
    bad = " ".join(f"WHEN {wrong} THEN {DUCKDB.text('bad_type:' + n)}" for n, (_, wrong) in cells.items() if wrong)
    return (
        f"SELECT {values}, {_named(moments)}, CASE {_bad_times(source, moments)} {bad} END AS reason, "
        f"CAST(to_json(r) AS VARCHAR) AS raw FROM read_parquet({file}) r"
    )


def _parquet_cell(name: str, dtype: DType) -> Cell:
    if dtype in ELEMENTS:
        return event_arrays.parquet_cell(name, dtype)
    return f"CAST({DUCKDB.ident(name)} AS {DUCKDB.type_name(dtype)})", ""


def _fits(kind: str, dtype: DType, scalars: Mapping[DType, tuple[str, ...]]) -> bool:
    if dtype in ELEMENTS:
        return event_arrays.fits_parquet(kind, dtype)
    return not kind.endswith("]") and any(part in kind for part in scalars[dtype])


def _parquet_time(source: EventSource, path: Path, field: str, types: dict[str, str]) -> str:
    kind = types.get(field)
    if kind is None:
        raise InputError(f"{path} has no time column {field!r}; it has {', '.join(types)}")
    column = DUCKDB.ident(field)
    if kind == "TIMESTAMP WITH TIME ZONE":
        return _within(source, f"epoch_us({column})")
    if kind in ("BIGINT", "INTEGER", "UBIGINT", "UINTEGER"):
        return _within(source, f"TRY_CAST({column}::HUGEINT * {UNIT_US[source.time_unit]} AS BIGINT)")
    if kind == "VARCHAR":
        return _time_us(source, column)
    raise InputError(f"{path}: time column {field!r} is {kind}, without a zone; write UTC times")


def _no_time(con: duckdb.DuckDBPyConnection, source: EventSource, path: Path, rows: str) -> str:
    raw, reason = con.execute(f"SELECT raw, reason FROM {rows} WHERE reason IS NOT NULL LIMIT 1").fetchone() or (
        "{}",
        "",
    )
    field = reason.removeprefix(BAD_TIME)
    unit = _fitting(source, raw, field)
    text = (
        f"{path}: no row has a usable time in {field!r} (unit {source.time_unit}); {_time_problem(source, raw, field)}"
    )
    return text + (f": set time_unit={unit!r}" if unit else "")


def _time_problem(source: EventSource, raw: str, field: str) -> str:
    """What a record has for a time that cannot be used, and the unit in which it could."""
    found, unit = json.loads(raw).get(field), _fitting(source, raw, field)
    if unit:
        return f"found {found!r}; in unit {unit!r} it would fit"
    return f"found {found!r}; a time is ISO 8601 with a zone, or an integer in {source.time_unit}"


def _fitting(source: EventSource, raw: str, field: str) -> str | None:
    try:
        value = int(str(json.loads(raw).get(field)))
    except ValueError:
        return None
    return None if source.time_range is None else fitting_unit(value, source.time_range)


def _write_rejects(source: EventSource, refused: Sequence[Refused], path: Path, out: Path) -> None:
    with out.open("a", encoding="utf-8") as file:
        for raw, reason in refused:
            code, _, detail = reason.partition(":")
            if reason.startswith(BAD_TIME):
                detail = f"{detail}: {_time_problem(source, raw, detail)}"
            payload = payload_of(raw)
            record = {
                "topic": path.name,
                "reason": code,
                "detail": detail or None,
                "payload": base64.b64encode(payload).decode(),
                "sha256": hashlib.sha256(payload).hexdigest(),
            }
            file.write(json.dumps(record) + "\n")
