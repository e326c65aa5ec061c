"""Unit tests of definitions: the features of a group for events and times given in the test.

    found = values(UserClicks, events={"clicks": [{"user_id": "a", "ts": "2026-01-02T03:00:00Z"}]},
                   at={"user_id": "a", "ts": "2026-01-02T03:30:00Z"})
    assert found == {"clicks_1h": 1}

Everything runs in this process on DuckDB, with the program of `featuredsl history`: no files, no JVM.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import duckdb

from featuredsl.bulk import append, create_table
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.errors import InputError, unknown
from featuredsl.events import load_records
from featuredsl.history import DuckDB
from featuredsl.labels import LABELS, Row, typed_cell
from featuredsl.nodes import Value
from featuredsl.ondemand import compute_all
from featuredsl.plan import GroupPlan, inputs_of
from featuredsl.sources import EventSource
from featuredsl.times import from_datetime, parse_time

Events = Mapping[str, Sequence[Mapping[str, object]]]

_LOCK = threading.Lock()
_STORED = "fdsl_stored"


def values(
    group: type | GroupPlan,
    *,
    events: Events,
    at: Mapping[str, object],
    request: Mapping[str, object] | None = None,
    strict: bool = True,
) -> dict[str, Value]:
    """Feature name to value for one key at one time; see `table`."""
    return table(group, events=events, at=[at], request=request, strict=strict)[0]


def table(
    group: type | GroupPlan,
    *,
    events: Events,
    at: Sequence[Mapping[str, object]],
    request: Mapping[str, object] | None = None,
    strict: bool = True,
) -> list[dict[str, Value]]:
    """Feature name to value for every row of `at`: its key columns and `ts`.

    `events` has the rows of each source, by its name; a source that is not there has none. Times are datetimes
    with a zone, ISO 8601 texts with a zone, or integers in the source's unit. Inputs of on-demand features come
    from `request`, or from the row of `at`. Raises InputError for an event or a row that cannot be used; with
    `strict=False` such events are left out, as the jobs do, and unknown columns do not matter.
    """
    plan = _plan(group)
    rows, times = _asked(plan, at, request or {})
    inputs = inputs_of([plan])
    for name in events:
        if name not in inputs:
            raise InputError(unknown("source", name, plan.name, tuple(inputs)))
    with _LOCK:
        con = _connection()
        for name, source in inputs.items():
            _load(con, source, events.get(name, ()), strict)
        stored = _stored(con, plan, rows, times) if rows else []
    pairs = zip(rows, stored, strict=True)
    return [_with_on_demand(plan, row, values, number) for number, (row, values) in enumerate(pairs, 1)]


def _stored(
    con: duckdb.DuckDBPyConnection, plan: GroupPlan, rows: Sequence[Row], times: Sequence[int]
) -> list[dict[str, Value]]:
    """The stored features of every row, by name."""
    keys = [[typed_cell(row, name, dtype, _where(i)) for i, row in enumerate(rows, 1)] for name, dtype in plan.entity]
    types = {"label_id": "BIGINT"} | {name: DUCKDB.type_name(dtype) for name, dtype in plan.entity}
    types |= {"ts_us": "BIGINT"}
    create_table(con, LABELS, types)
    append(con, LABELS, types, [range(len(rows)), *keys, times])
    DuckDB().stored(con, plan, _STORED, True)
    found = con.execute(f"SELECT * FROM {_STORED} ORDER BY label_id").fetchall()
    names = [feature.name for feature in plan.features]
    return [dict(zip(names, values[1:], strict=True)) for values in found]


def _with_on_demand(plan: GroupPlan, row: Row, stored: dict[str, Value], number: int) -> dict[str, Value]:
    request = {name: typed_cell(row, name, dtype, _where(number)) for name, dtype in plan.request_inputs.items()}
    return stored | compute_all(plan, stored, request)


def _where(number: int) -> str:
    return f"at, row {number}"


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """One for the process: opening one costs more than a case, and so does optimising for a few rows."""
    con = duckdb.connect(config={"threads": 1})
    con.execute("SET TimeZone = 'UTC'")
    con.execute("PRAGMA disable_optimizer")
    return con


def _plan(group: type | GroupPlan) -> GroupPlan:
    plan = getattr(group, "plan", group)
    if not isinstance(plan, GroupPlan):
        raise InputError(f"{group!r} is no feature group; pass a class decorated with @feature_group, or its plan")
    return plan


def _asked(
    plan: GroupPlan, at: Sequence[Mapping[str, object]], request: Mapping[str, object]
) -> tuple[list[Row], list[int]]:
    if isinstance(at, Mapping):
        raise InputError("at is one row; use values(), or pass a list of rows")
    keys = tuple(name for name, _ in plan.entity)
    inputs = tuple(plan.request_inputs)
    units = sorted({source.time_unit for source in inputs_of([plan]).values()})
    rows: list[Row] = []
    times: list[int] = []
    for number, given in enumerate(at, 1):
        row = {**dict.fromkeys(inputs), **request, **given}
        for name in row:
            if name not in (*keys, "ts", *inputs):
                raise InputError(f"at, row {number}: {unknown('column', name, plan.name, (*keys, 'ts', *inputs))}")
        times.append(_time(row.get("ts"), units, f"at, row {number}: ts"))
        rows.append(row)
    return rows, times


def _time(value: object, units: Sequence[str], what: str) -> int:
    if isinstance(value, datetime):
        return from_datetime(value, what)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(f"{what} is {value!r}; give a datetime with a zone, an ISO 8601 text or an integer")
    if isinstance(value, int) and len(units) > 1:
        raise InputError(f"{what} is an integer, but the sources have several units ({', '.join(units)})")
    return parse_time(value, units[0], what)


def _load(
    con: duckdb.DuckDBPyConnection, source: EventSource, events: Sequence[Mapping[str, object]], strict: bool
) -> None:
    records = [_record(source, event, number, strict) for number, event in enumerate(events, 1)]
    refused = load_records(con, source, records)
    if refused and strict:
        raw, reason, number, _ = refused[0]
        raise InputError(f"{source.name}, event {(number or 0) + 1}: {_why(source, reason)}: {raw}")


def _record(source: EventSource, event: Mapping[str, object], number: int, strict: bool) -> str:
    known = _known(source)
    for name in event if strict else ():
        if name not in known:
            raise InputError(f"{source.name}, event {number}: {unknown('column', name, source.name, known)}")
    try:
        return json.dumps({name: _cell(value) for name, value in event.items()}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{source.name}, event {number}: {error}: {dict(event)!r}") from None


def _known(source: EventSource) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*source.column_names, *source.time_columns.values())))


def _cell(value: object) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _why(source: EventSource, reason: str) -> str:
    code, _, column = reason.partition(":")
    if code == "bad_time":
        unit = f"an integer in {source.time_unit}"
        return f"{source.event_time!r} is no time with a zone, nor {unit} within {source.time_range}"
    if code == "bad_type" and source.dtype(column) is not None:
        return f"column {column!r} is not {source.dtype(column)}"
    return reason
