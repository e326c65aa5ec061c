"""Event files (JSON Lines, CSV, Parquet) as typed DuckDB tables; what does not fit is kept with a reason."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from featuredsl.compilers.scalar import DUCKDB
from featuredsl.dtypes import DType
from featuredsl.errors import InputError
from featuredsl.sources import EventSource
from featuredsl.times import UNIT_US, parse_time

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")
_INT_TYPES = "('BIGINT', 'UBIGINT')"
_NUMBER_TYPES = "('BIGINT', 'UBIGINT', 'DOUBLE')"
_ZONED = r"[0-9](Z|z|[+-][0-9]{2}(:?[0-9]{2})?)$"


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many rows of a file became events and how many were rejected."""

    source: str
    rows: int
    rejected: int


def load_events(con: duckdb.DuckDBPyConnection, source: EventSource, path: Path, dead_letters: Path | None) -> Loaded:
    """Create the table `<source.name>` (its columns and `ts_us`) from a file; append rejects to `dead_letters`.

    Raises InputError when the file cannot be read, or when no row has a usable time.
    """
    loaded, refused = _load(con, source, path, _scan(source, path))
    if refused and dead_letters is not None:
        _write_rejects(refused, path, dead_letters)
    return loaded


def load_records(con: duckdb.DuckDBPyConnection, source: EventSource, records: Sequence[str]) -> Sequence[Refused]:
    """As `load_events`, of JSON objects at hand; returns those that are refused."""
    con.execute("CREATE OR REPLACE TEMP TABLE fdsl_records (raw VARCHAR)")
    if records:
        con.execute("INSERT INTO fdsl_records SELECT unnest(?)", [list(records)])
    return _load(con, source, Path("events"), _json("SELECT raw FROM fdsl_records", source))[1]


def _load(
    con: duckdb.DuckDBPyConnection, source: EventSource, path: Path, scan: str
) -> tuple[Loaded, Sequence[Refused]]:
    scanned = f"{source.name}__scanned"
    con.execute(f"CREATE OR REPLACE TEMP TABLE {DUCKDB.ident(scanned)} AS {scan}")
    names = ", ".join(DUCKDB.ident(name) for name in source.column_names)
    table, rows = DUCKDB.ident(source.name), DUCKDB.ident(scanned)
    con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT {names}, ts_us FROM {rows} WHERE reason IS NULL")
    good, bad, bad_times = _counts(con, rows)
    if not good and bad and bad == bad_times:
        raise InputError(_no_time(con, source, path, rows))
    query = f"SELECT raw, reason FROM {rows} WHERE reason IS NOT NULL"
    refused = con.execute(query).fetchall() if bad else []
    con.execute(f"DROP TABLE {rows}")
    return Loaded(source.name, good, bad), refused


def _counts(con: duckdb.DuckDBPyConnection, rows: str) -> tuple[int, int, int]:
    query = (
        "SELECT COUNT(*) FILTER (WHERE reason IS NULL), COUNT(reason), "
        f"COUNT(*) FILTER (WHERE reason = 'bad_time') FROM {rows}"
    )
    found = con.execute(query).fetchone() or (0, 0, 0)
    return int(found[0]), int(found[1]), int(found[2])


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
        raw = f"SELECT *, CAST(to_json(r) AS VARCHAR) AS raw FROM read_csv({file}, all_varchar = true, header = true) r"
        return _typed(source, raw, {name: _text_cell(name, dtype) for name, dtype in source.columns}, _text_time)
    raw = (
        f"SELECT raw FROM read_csv({file}, columns = {{'raw': 'VARCHAR'}}, header = false, delim = '\\x01', "
        "quote = '', escape = '', max_line_size = 33554432) WHERE trim(raw) <> ''"
    )
    return _json(raw, source)


def _json(raw: str, source: EventSource) -> str:
    raw = f"SELECT raw, TRY_CAST(raw AS JSON) AS doc FROM ({raw})"
    return _typed(source, raw, {name: _json_cell(name, dtype) for name, dtype in source.columns}, _json_time)


Refused = tuple[str, str]
"""A record as it came, and the reason: a code, or `code:column`."""
Cell = tuple[str, str]
"""A typed value and the condition under which the cell is of the wrong type."""


def _json_cell(name: str, dtype: DType) -> Cell:
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
    column = DUCKDB.ident(name)
    if dtype == "str":
        return column, "FALSE"
    typed = f"TRY_CAST({column} AS {DUCKDB.type_name(dtype)})"
    if dtype == "float":
        typed = f"CASE WHEN isfinite({typed}) THEN {typed} END"
    if dtype == "int":
        typed = f"CASE WHEN regexp_full_match({column}, '[+-]?[0-9]+') THEN {typed} END"
    return typed, f"{column} IS NOT NULL AND ({typed}) IS NULL"


def _json_time(source: EventSource) -> str:
    return _time_us(source, f"json_extract_string(doc, {DUCKDB.text('$.' + json.dumps(source.event_time))})")


def _text_time(source: EventSource) -> str:
    return _time_us(source, DUCKDB.ident(source.event_time))


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
    first, last = source.time_range
    low, high = parse_time(f"{first}-01-01T00:00:00Z"), parse_time(f"{int(last) + 1}-01-01T00:00:00Z")
    return f"CASE WHEN ({us}) BETWEEN {low} AND {high - 1} THEN ({us}) END"


def _typed(source: EventSource, raw: str, cells: dict[str, Cell], time: object) -> str:
    moment = time(source)  # type: ignore[operator]
    values = ", ".join(f"{value} AS {DUCKDB.ident(name)}" for name, (value, _) in cells.items())
    bad = " ".join(f"WHEN {wrong} THEN {DUCKDB.text('bad_type:' + name)}" for name, (_, wrong) in cells.items())
    broken = "WHEN doc IS NULL OR json_type(doc) <> 'OBJECT' THEN 'bad_json'" if time is _json_time else ""
    reason = f"CASE {broken} WHEN ({moment}) IS NULL THEN 'bad_time' {bad} END"
    return f"SELECT {values}, {moment} AS ts_us, {reason} AS reason, raw FROM ({raw}) s"


def _parquet(source: EventSource, path: Path) -> str:
    file = DUCKDB.text(str(path))
    described = duckdb.connect().execute(f"DESCRIBE SELECT * FROM read_parquet({file})").fetchall()
    types = {row[0]: row[1] for row in described}
    kind = types.get(source.event_time)
    if kind is None:
        raise InputError(f"{path} has no time column {source.event_time!r}; it has {', '.join(types)}")
    column = DUCKDB.ident(source.event_time)
    if kind == "TIMESTAMP WITH TIME ZONE":
        moment = _within(source, f"epoch_us({column})")
    elif kind in ("BIGINT", "INTEGER", "UBIGINT", "UINTEGER"):
        moment = _within(source, f"TRY_CAST({column}::HUGEINT * {UNIT_US[source.time_unit]} AS BIGINT)")
    elif kind == "VARCHAR":
        moment = _text_time(source)
    else:
        raise InputError(f"{path}: time column {source.event_time!r} is {kind}, without a zone; write UTC times")
    wanted = {
        "int": ("INT",),
        "float": ("INT", "DOUBLE", "FLOAT", "DECIMAL"),
        "str": ("VARCHAR",),
        "bool": ("BOOL",),
    }
    for name, dtype in source.columns:
        if name not in types or not any(part in types[name] for part in wanted[dtype]):
            raise InputError(f"{path}: column {name!r} should be {dtype}, the file has {types.get(name, 'none')}")
    values = ", ".join(
        f"CAST({DUCKDB.ident(name)} AS {DUCKDB.type_name(dtype)}) AS {DUCKDB.ident(name)}"
        for name, dtype in source.columns
    )
    return (
        f"SELECT {values}, {moment} AS ts_us, CASE WHEN ({moment}) IS NULL THEN 'bad_time' END AS reason, "
        f"CAST(to_json(r) AS VARCHAR) AS raw FROM read_parquet({file}) r"
    )


def _no_time(con: duckdb.DuckDBPyConnection, source: EventSource, path: Path, rows: str) -> str:
    sample = con.execute(f"SELECT raw FROM {rows} LIMIT 1").fetchone()
    found = json.loads(sample[0]).get(source.event_time) if sample else None
    text = f"{path}: no row has a usable time in {source.event_time!r} (unit {source.time_unit}); found {found!r}"
    try:
        value = int(str(found))
    except ValueError:
        return text + "; a time is ISO 8601 with a zone, or an integer"
    fitting = [unit for unit, us in UNIT_US.items() if 315532800 <= value * us // 1_000_000 < 4102444800]
    return text + (f"; in unit {fitting[0]!r} it would fit: set time_unit={fitting[0]!r}" if fitting else "")


def _write_rejects(refused: Sequence[Refused], path: Path, out: Path) -> None:
    with out.open("a", encoding="utf-8") as file:
        for raw, reason in refused:
            code, _, detail = reason.partition(":")
            payload = raw.encode()
            record = {
                "topic": path.name,
                "reason": code,
                "detail": detail or None,
                "payload": base64.b64encode(payload).decode(),
                "sha256": hashlib.sha256(payload).hexdigest(),
            }
            file.write(json.dumps(record) + "\n")
