"""Label files: the rows that a point-in-time training set is made for, kept as they are.

A file becomes the DuckDB table `fdsl_given`: `fdsl_id` (0, 1, … in file order), `fdsl_us` (the time in
microseconds), and the columns as given; of JSON Lines the line itself. Cells in the usual spelling are converted
by SQL; all others by Python (`label_time`, `typed_cell`), which also words the errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from featuredsl.bulk import append, create_table
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.dtypes import ELEMENTS, DType, spelled
from featuredsl.errors import InputError
from featuredsl.label_files import FORMATS, GIVEN, Format
from featuredsl.operations import INT64_MAX, INT64_MIN
from featuredsl.plan import GroupPlan
from featuredsl.times import TIME_RANGE, UNIT_US, TimeRange, fitting_unit, from_datetime, parse_time, range_us
from featuredsl.values import Value, parse_array, typed

LABELS = "fdsl_labels"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Labels:
    """A label file that is there; integers in its `ts` are in `unit` (s, ms or us) and within `time_range`."""

    path: Path
    unit: str
    time_range: TimeRange = TIME_RANGE

    def load(self, con: duckdb.DuckDBPyConnection) -> LabelTable:
        """Read it into `fdsl_given`. Raises InputError naming the row for a bad time or a bad line."""
        form = FORMATS[self.path.suffix](con, self.path, self.unit)
        table = LabelTable(con, self.path, form)
        if not table.count():
            raise InputError(f"{self.path} holds no label")
        self._doubt(con)
        _mend_times(table, self.unit, self.time_range)
        return table

    def _doubt(self, con: duckdb.DuckDBPyConnection) -> None:
        """Leave the times outside the range to `label_time`, which tells integers from written times."""
        if self.time_range is not None:
            low, high = range_us(self.time_range)
            con.execute(f"UPDATE {GIVEN} SET fdsl_us = NULL WHERE fdsl_us NOT BETWEEN {low} AND {high}")


def read_labels(path: Path, unit: str, time_range: TimeRange = TIME_RANGE) -> Labels:
    """Name a file of JSON Lines, CSV or Parquet. Raises InputError when it is missing or of another suffix."""
    if not path.is_file():
        raise InputError(f"no label file {path}")
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: suffix {path.suffix!r} is none of .jsonl, .csv, .parquet")
    return Labels(path, unit, time_range)


@dataclass(frozen=True, slots=True)
class LabelTable:
    """The loaded labels."""

    con: duckdb.DuckDBPyConnection
    path: Path
    form: Format

    def count(self) -> int:
        """How many labels there are."""
        return int((self.con.execute(f"SELECT COUNT(*) FROM {GIVEN}").fetchone() or (0,))[0])

    def where(self, label_id: int) -> str:
        """How messages name a row."""
        return f"{self.path}, row {label_id + 1}"

    def keys(self, plan: GroupPlan) -> None:
        """Make the table `fdsl_labels` of one group: `label_id`, its entity columns and `ts_us`."""
        columns = "".join(f"{self.typed(name, dtype)} AS {DUCKDB.ident(name)}, " for name, dtype in plan.entity)
        query = f"SELECT fdsl_id AS label_id, {columns}fdsl_us AS ts_us FROM {GIVEN}"
        self.con.execute(f"CREATE OR REPLACE TABLE {LABELS} AS {query}")

    def typed(self, name: str, dtype: DType) -> str:
        """SQL over `fdsl_given` of a column as `dtype`. Raises InputError for a cell of another type."""
        cell, quick = self.form.cell(name), self.form.quick(name, dtype)
        found = self.con.execute(
            f"SELECT fdsl_id, {cell} FROM {GIVEN} WHERE ({quick}) IS NULL AND NOT ({self.form.is_null(name)})"
        ).fetchall()
        if not found:
            return quick
        mended = f"fdsl_mended_{dtype}_{name}"
        values = [typed_cell(self.form.row(cell, name), name, dtype, self.where(i)) for i, cell in found]
        self._keep(mended, DUCKDB.type_name(dtype), [i for i, _ in found], values)
        return f"COALESCE({quick}, (SELECT v FROM {DUCKDB.ident(mended)} m WHERE m.id = fdsl_id))"

    def _keep(self, table: str, kind: str, ids: list[int], values: list[Any]) -> None:
        types = {"id": "BIGINT", "v": kind}
        create_table(self.con, table, types)
        append(self.con, table, types, [ids, values])


def _mend_times(table: LabelTable, unit: str, time_range: TimeRange) -> None:
    """Times that SQL left null, by the rules of `label_time`."""
    cell = table.form.cell("ts")
    query = f"SELECT fdsl_id, {cell} FROM {GIVEN} WHERE fdsl_us IS NULL ORDER BY fdsl_id"
    found = table.con.execute(query).fetchall()
    if not found:
        return
    given = [(table.form.row(cell, "ts").get("ts"), f"{table.where(i)}: ts") for i, cell in found]
    times = [label_time(value, what, unit, time_range) for value, what in given]
    table._keep("fdsl_mended", "BIGINT", [i for i, _ in found], times)
    table.con.execute(f"UPDATE {GIVEN} SET fdsl_us = m.v FROM fdsl_mended m WHERE m.id = fdsl_id")


def label_time(value: object, what: str, unit: str, time_range: TimeRange = TIME_RANGE) -> int:
    """Microseconds of a label's `ts`; `what` begins the message of an InputError."""
    if isinstance(value, datetime):
        return from_datetime(value, what)
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        _check_range(value, unit, time_range, what)
        return _int64(parse_time(value, unit, what), what, value)
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


def _int64(value: int, what: str, given: object) -> int:
    if not INT64_MIN <= value <= INT64_MAX:
        raise InputError(f"{what} is {given!r}, which does not fit in 64 bits")
    return value


def typed_cell(row: Mapping[str, Any], name: str, dtype: DType, where: str) -> Value:
    """A label's cell as `dtype`; text of a CSV is converted (arrays from JSON), anything else must be of the type."""
    value = row.get(name)
    if name not in row:
        raise InputError(f"{where} has no column {name!r}; it has {', '.join(row)}")
    if value is None or (value == "" and dtype != "str"):
        return None
    try:
        return typed(_parsed(value, dtype), dtype)
    except ValueError as error:
        reason = f"must be {spelled(dtype)}: {error}" if dtype in ELEMENTS else f"is {value!r}, not {dtype}"
        if dtype == "int" and isinstance(value, int) and not isinstance(value, bool):
            reason = f"is {value}, which does not fit in 64 bits"
        raise InputError(f"{where}: {name} {reason}") from None


def _parsed(value: object, dtype: DType) -> object:
    if not isinstance(value, str):
        return value
    if dtype in ("int", "float"):
        return int(value) if dtype == "int" else float(value)
    return parse_array(value) if dtype in ELEMENTS else value
