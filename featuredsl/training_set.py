"""Writes a training set: the label rows as they were given, in their order, with the feature columns beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from featuredsl.compilers.scalar import DUCKDB
from featuredsl.dtypes import ELEMENTS, DType
from featuredsl.errors import InputError
from featuredsl.files import replacing
from featuredsl.label_files import GIVEN, JsonLines
from featuredsl.labels import LabelTable

_TIME = "'%Y-%m-%dT%H:%M:%S.%fZ'"
_FORMATS = {
    ".csv": "FORMAT csv, HEADER true",
    ".parquet": "FORMAT parquet",
    ".json": r"FORMAT csv, HEADER false, DELIMITER E'\x01', QUOTE '', ESCAPE ''",
}


def write(path: Path, labels: LabelTable, values: Sequence[str], features: Mapping[str, DType]) -> None:
    """Write JSON Lines, CSV or Parquet by suffix; the tables `values` hold `label_id` and the columns `features`
    of the types given.

    Raises InputError when a label column has the name of a feature.
    """
    names = {name.lower() for name in features}
    taken = [name for name in labels.form.columns if name.lower() in names]
    if taken:
        raise InputError(f"{labels.path} has a column {taken[0]!r}, which is the name of a feature; rename it")
    suffix = ".json" if path.suffix in (".jsonl", ".ndjson") else path.suffix
    columns = {".csv": _csv, ".parquet": _parquet}.get(suffix, _json)(labels, features)
    joins = "".join(f" JOIN {DUCKDB.ident(table)} v{i} ON v{i}.label_id = fdsl_id" for i, table in enumerate(values))
    query = f"SELECT {columns} FROM {GIVEN} g{joins} ORDER BY fdsl_id"
    with replacing(path) as temporary:
        form = _FORMATS.get(suffix, _FORMATS[".json"])
        labels.con.execute(f"COPY ({query}) TO {DUCKDB.text(str(temporary))} ({form})")


def _array_text(name: str) -> str:
    return f"CAST(to_json({DUCKDB.ident(name)}) AS VARCHAR) AS {DUCKDB.ident(name)}"


def _given(labels: LabelTable) -> dict[str, str]:
    """Label column to SQL, with the types that Parquet gets."""
    form = labels.form
    if not isinstance(form, JsonLines):
        return {name: _column(name) for name in form.columns}
    return {name: f"CAST({_json_text(form, name, kind)} AS {kind})" for name, kind in form.columns.items()}


def _json_text(form: JsonLines, name: str, kind: str) -> str:
    """Arrays are read as JSON: DuckDB's own spelling of lists has other quotes."""
    return f"CAST({form.text(name)} AS JSON)" if kind.endswith("[]") else form.text(name)


def _parquet(labels: LabelTable, features: Mapping[str, DType]) -> str:
    given = [f"{value} AS {DUCKDB.ident(name)}" for name, value in _given(labels).items()]
    return ", ".join([*given, *map(DUCKDB.ident, features)])


def _csv(labels: LabelTable, features: Mapping[str, DType]) -> str:
    form = labels.form
    if isinstance(form, JsonLines):
        given = {name: form.text(name) for name in form.columns}
    else:
        given = {name: _printed(_column(name), kind, as_text=True) for name, kind in form.columns.items()}
    values = [_array_text(name) if dtype in ELEMENTS else DUCKDB.ident(name) for name, dtype in features.items()]
    return ", ".join([*(f"{value} AS {DUCKDB.ident(name)}" for name, value in given.items()), *values])


def _json(labels: LabelTable, features: Mapping[str, DType]) -> str:
    form = labels.form
    packed = ", ".join(f"{DUCKDB.text(name)}: {DUCKDB.ident(name)}" for name in features)
    if isinstance(form, JsonLines):
        head = "rtrim(fdsl_line[:-2], E' \\t')"
        return f"{head} || ', ' || substr(CAST(to_json({{{packed}}}) AS VARCHAR), 2)"
    given = ", ".join(f"{DUCKDB.text(name)}: {_printed(_column(name), kind)}" for name, kind in form.columns.items())
    return f"CAST(to_json({{{given}, {packed}}}) AS VARCHAR)"


def _column(name: str) -> str:
    return f"g.{DUCKDB.ident(name)}"


def _printed(column: str, kind: str, *, as_text: bool = False) -> str:
    """Times as ISO 8601 in UTC; floats that are not finite as null; arrays as JSON, where cells are text."""
    if kind == "TIMESTAMP WITH TIME ZONE":
        return f"strftime({column}, {_TIME})"
    if kind.endswith("[]"):
        return f"CAST(to_json({column}) AS VARCHAR)" if as_text else column
    return f"CASE WHEN isfinite({column}) THEN {column} END" if kind in ("FLOAT", "DOUBLE") else column
