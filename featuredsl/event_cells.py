"""Cells of event files as DuckDB SQL: a typed value, and when the cell cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from featuredsl import event_arrays
from featuredsl.compilers.scalar import DUCKDB, floor_to
from featuredsl.dtypes import ELEMENTS, DType
from featuredsl.event_arrays import Cell
from featuredsl.source_checks import ARRIVAL_US
from featuredsl.sources import EventSource
from featuredsl.times import UNIT_US, range_us

BAD_TIME = "bad_time:"
_INT_TYPES = "('BIGINT', 'UBIGINT')"
_NUMBER_TYPES = "('BIGINT', 'UBIGINT', 'DOUBLE')"
_ZONED = r"[0-9](Z|z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_TEXTS: Mapping[DType, str] = {
    "int": "[+-]?[0-9]+",
    "float": "(?i)[0-9.e+-]+|[+-]?(nan|inf|infinity)",
    "bool": "(?i)true|false|1|0",
}
"""Narrower than DuckDB's casts, which know 1_0, t and yes."""
_PARQUET_TYPES: Mapping[DType, tuple[str, ...]] = {
    "int": ("INT",),
    "float": ("INT", "DOUBLE", "FLOAT", "DECIMAL"),
    "str": ("VARCHAR",),
    "bool": ("BOOL",),
}


def json_cell(name: str, dtype: DType) -> Cell:
    """A value in the column `fdsl_doc` of JSON documents."""
    if dtype in ELEMENTS:
        return event_arrays.json_cell(name, dtype)
    item = f"json_extract(fdsl_doc, {DUCKDB.text('$.' + json.dumps(name, ensure_ascii=False))})"
    kind = f"json_type({item})"
    string = json_text(name)
    value, allowed = {
        "int": (f"TRY_CAST({string} AS BIGINT)", _INT_TYPES),
        "float": (f"TRY_CAST({string} AS DOUBLE)", _NUMBER_TYPES),
        "str": (string, "('VARCHAR')"),
        "bool": (f"TRY_CAST({string} AS BOOLEAN)", "('BOOLEAN')"),
    }[dtype]
    present = f"({item} IS NOT NULL AND {kind} <> 'NULL')"
    typed = f"CASE WHEN {present} AND {kind} IN {allowed} THEN {value} END"
    return Cell(typed, f"{present} AND ({typed}) IS NULL", _infinite(typed, dtype))


def text_cell(name: str, dtype: DType) -> Cell:
    """A value in a column of text."""
    if dtype in ELEMENTS:
        return event_arrays.text_cell(name, dtype)
    column = DUCKDB.ident(name)
    if dtype == "str":
        return Cell(column)
    typed = f"TRY_CAST({column} AS {DUCKDB.type_name(dtype)})"
    if dtype in _TEXTS:
        typed = f"CASE WHEN regexp_full_match({column}, '{_TEXTS[dtype]}') THEN {typed} END"
    return Cell(typed, f"{column} IS NOT NULL AND ({typed}) IS NULL", _infinite(typed, dtype))


def parquet_cell(name: str, dtype: DType) -> Cell:
    """A value in a column of a type that `fits_parquet`."""
    if dtype in ELEMENTS:
        return event_arrays.parquet_cell(name, dtype)
    column = DUCKDB.ident(name)
    typed = f"TRY_CAST({column} AS {DUCKDB.type_name(dtype)})"
    return Cell(typed, f"{column} IS NOT NULL AND ({typed}) IS NULL", _infinite(typed, dtype))


def fits_parquet(kind: str, dtype: DType) -> bool:
    """True when a column of a DuckDB type may stand for one of `dtype`."""
    if dtype in ELEMENTS:
        return event_arrays.fits_parquet(kind, dtype)
    return not kind.endswith("]") and any(part in kind for part in _PARQUET_TYPES[dtype])


def reasons(cells: Mapping[str, Cell]) -> str:
    """The cases of cells that cannot be used, each with the name of its column."""
    cases = []
    for name, cell in cells.items():
        if cell.infinite:
            cases.append(f"WHEN {cell.infinite} THEN {DUCKDB.text('not_finite:' + name)}")
        if cell.wrong:
            cases.append(f"WHEN {cell.wrong} THEN {DUCKDB.text('bad_type:' + name)}")
    return " ".join(cases)


def json_text(field: str) -> str:
    """A field of the column `fdsl_doc` as text."""
    return f"json_extract_string(fdsl_doc, {DUCKDB.text('$.' + json.dumps(field, ensure_ascii=False))})"


def moments(source: EventSource, time_us: Callable[[str], str]) -> dict[str, str]:
    """The view's time columns; an arrival has the resolution of the source's unit."""
    found = {name: time_us(field) for name, field in source.time_columns.items()}
    if ARRIVAL_US in found and UNIT_US[source.time_unit] > 1:
        found[ARRIVAL_US] = floor_to(f"({found[ARRIVAL_US]})", str(UNIT_US[source.time_unit]))
    return found


def bad_times(source: EventSource, times: Mapping[str, str]) -> str:
    """The cases of a missing or unusable time, each with the name of its field."""
    fields = source.time_columns
    return " ".join(f"WHEN ({us}) IS NULL THEN {DUCKDB.text(BAD_TIME + fields[n])}" for n, us in times.items())


def time_us(source: EventSource, text: str) -> str:
    """Microseconds of an integer in the source's unit or of an ISO text with a zone; null when neither."""
    number = f"TRY_CAST({text} AS BIGINT)::HUGEINT"
    moment = f"epoch_us(TRY_CAST({text} AS TIMESTAMPTZ))"
    us = (
        f"CASE WHEN regexp_full_match({text}, '[+-]?[0-9]+') THEN TRY_CAST({number} * {UNIT_US[source.time_unit]} "
        f"AS BIGINT) WHEN regexp_matches({text}, {DUCKDB.text(_ZONED)}) THEN {moment} END"
    )
    return within(source, us)


def within(source: EventSource, us: str) -> str:
    """A time in microseconds, null outside the years that the source believes."""
    if source.time_range is None:
        return us
    low, high = range_us(source.time_range)
    return f"CASE WHEN ({us}) BETWEEN {low} AND {high} THEN ({us}) END"


def _infinite(typed: str, dtype: DType) -> str:
    return f"NOT isfinite({typed})" if dtype == "float" else ""
