"""Event files (JSON Lines, CSV, Parquet) as typed DuckDB tables; what does not fit is kept with a reason."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from featuredsl.compilers.scalar import DUCKDB
from featuredsl.dead_letters import Refused, time_problem, time_unit_of, write_letters
from featuredsl.errors import InputError
from featuredsl.event_bytes import marked, reading
from featuredsl.event_cells import BAD_TIME
from featuredsl.event_csv import forget, malformed, numbered
from featuredsl.event_scans import json_rows, scan
from featuredsl.sources import EventSource

Keys = Collection[tuple[str, ...]]
"""The entities, as column names, of the groups that read a source."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many rows of a file became events, how many dead letters, how many were not yet known.

    A row with the entity of one group but not of another is an event and a dead letter.
    """

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
    keys: Keys = (),
) -> Loaded:
    """Create the table `<source.name>` (its view columns) from a file; append rejects to `dead_letters`.

    With `as_of_us` only rows that arrived by then are loaded; without an arrival time a row arrives at its event time.
    A row with a null in one of `keys` is a dead letter too. Raises InputError when the file cannot be read, or when
    no row has a usable time.
    """
    with reading(path):
        try:
            table = _scanned(con, source, scan(source, path))
        except duckdb.InvalidInputException:
            if path.suffix.lower() in (".csv", ".parquet"):
                raise
            with marked(path) as copy:
                table = _scanned(con, source, scan(source, copy))
    bad = malformed(con, path) if path.suffix.lower() == ".csv" else []
    loaded, refused = _load(con, source, path, table, as_of_us, keys)
    if bad and not loaded.rows and not loaded.rejected and not loaded.later:
        raise InputError(f"{path}, line {bad[0].line}: {bad[0].reason.replace(':', ': ')}; no row can be read")
    refused = _with_lines(con, path, table, refused, bad)
    con.execute(f"DROP TABLE {table}")
    if refused and dead_letters is not None:
        write_letters(source, refused, path, dead_letters)
    return Loaded(source.name, loaded.rows, loaded.rejected + len(bad), loaded.later)


def load_records(con: duckdb.DuckDBPyConnection, source: EventSource, records: Sequence[str]) -> Sequence[Refused]:
    """As `load_events`, of JSON objects at hand; returns those that are refused, their `line` from 0."""
    con.execute("CREATE OR REPLACE TEMP TABLE fdsl_records (fdsl_raw VARCHAR)")
    if records:
        con.execute("INSERT INTO fdsl_records SELECT unnest(?)", [list(records)])
    table = _scanned(con, source, json_rows("SELECT fdsl_raw FROM fdsl_records", source))
    return _load(con, source, Path("events"), table)[1]


def _scanned(con: duckdb.DuckDBPyConnection, source: EventSource, query: str) -> str:
    """Run a scan into a table, whose row numbers are those of the file."""
    table = DUCKDB.ident(f"{source.name}__scanned")
    forget(con)
    con.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {query}")
    return table


def _load(
    con: duckdb.DuckDBPyConnection,
    source: EventSource,
    path: Path,
    scanned: str,
    as_of_us: int | None = None,
    keys: Keys = (),
) -> tuple[Loaded, list[Refused]]:
    """Make the source's table of the scanned rows; the rows that are refused, with their numbers."""
    names = ", ".join(DUCKDB.ident(name) for name in source.view_columns)
    known = "TRUE" if as_of_us is None else f"{list(source.time_columns)[-1]} <= {as_of_us}"
    good = f"fdsl_reason IS NULL AND {known}"
    con.execute(f"CREATE OR REPLACE TABLE {DUCKDB.ident(source.name)} AS SELECT {names} FROM {scanned} WHERE {good}")
    lacks = [f"({' OR '.join(f'{DUCKDB.ident(name)} IS NULL' for name in key)})" for key in keys]
    partly, wholly = " OR ".join(lacks) or "FALSE", " AND ".join(lacks) or "FALSE"
    rows, bad, bad_times, later, keyless = _counts(con, scanned, good, partly, wholly)
    if bad and bad == bad_times and not rows and not later and not keyless:
        raise InputError(_no_time(con, source, path, scanned))
    loaded = Loaded(source.name, rows, bad + keyless, later)
    if not loaded.rejected:
        return loaded, []
    number = "NULL" if "rowid" in map(str.lower, source.column_names) else "s.rowid"
    query = f"SELECT fdsl_raw, {_reason(keys, known, partly)} AS fdsl_why, {number} AS fdsl_n FROM {scanned} s "
    query += "WHERE fdsl_why IS NOT NULL ORDER BY fdsl_n"
    return loaded, [Refused(*row) for row in con.execute(query).fetchall()]


def _reason(keys: Keys, known: str, partly: str) -> str:
    """Why a scanned row is refused: what is wrong with it, or the null columns of its key."""
    nulls = [
        f"CASE WHEN {DUCKDB.ident(name)} IS NULL THEN {DUCKDB.text(name)} END"
        for name in dict.fromkeys(name for key in keys for name in key)
    ]
    if not nulls:
        return "NULLIF(fdsl_reason, '')"
    keyless = f"'null_entity:' || concat_ws(', ', {', '.join(nulls)})"
    lacking = f"fdsl_reason IS NULL AND {known} AND ({partly})"
    return f"CASE WHEN fdsl_reason <> '' THEN fdsl_reason WHEN {lacking} THEN {keyless} END"


def _counts(
    con: duckdb.DuckDBPyConnection, scanned: str, good: str, partly: str, wholly: str
) -> tuple[int, int, int, int, int]:
    """Events, bad rows, those of them by their time, rows not yet known, rows that lack some key."""
    query = (
        f"SELECT COUNT(*) FILTER ({good} AND NOT ({wholly})), COUNT(NULLIF(fdsl_reason, '')), "
        f"COUNT(*) FILTER (starts_with(fdsl_reason, '{BAD_TIME}')), "
        f"COUNT(*) FILTER (fdsl_reason IS NULL AND NOT ({good})), COUNT(*) FILTER ({good} AND ({partly})) "
        f"FROM {scanned}"
    )
    found = con.execute(query).fetchone() or (0, 0, 0, 0, 0)
    return int(found[0]), int(found[1]), int(found[2]), int(found[3]), int(found[4])


def _with_lines(
    con: duckdb.DuckDBPyConnection, path: Path, table: str, refused: list[Refused], bad: list[Refused]
) -> list[Refused]:
    """All records that are refused, in order, with their lines where the format has lines."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return [record._replace(line=None) for record in refused]
    if suffix != ".csv":
        return [record._replace(line=None if record.line is None else record.line + 1) for record in refused]
    if refused:
        (rows,) = con.execute(f"SELECT COUNT(*) FROM {table}").fetchone() or (0,)
        refused = numbered(path, rows, refused, bad)
    return sorted([*bad, *refused], key=lambda record: record.line or 0)


def _no_time(con: duckdb.DuckDBPyConnection, source: EventSource, path: Path, rows: str) -> str:
    query = f"SELECT fdsl_raw, fdsl_reason FROM {rows} WHERE fdsl_reason <> '' LIMIT 1"
    raw, reason = con.execute(query).fetchone() or ("{}", "")
    field = reason.removeprefix(BAD_TIME)
    unit = time_unit_of(source, raw, field)
    text = (
        f"{path}: no row has a usable time in {field!r} (unit {source.time_unit}); {time_problem(source, raw, field)}"
    )
    return text + (f": set time_unit={unit!r}" if unit else "")
