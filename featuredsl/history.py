"""Point-in-time training sets on DuckDB: every label row with the features as they were just before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.dtypes import DType
from featuredsl.errors import InputError
from featuredsl.events import Loaded, load_events
from featuredsl.labels import Labels, Row, typed_cell
from featuredsl.nodes import Value
from featuredsl.ondemand import compute_all
from featuredsl.plan import GroupPlan, inputs_of
from featuredsl.sources import EventSource
from featuredsl.times import TimeRange
from featuredsl.wide_history import add_wide

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class HistoryResult:
    """The label rows with feature columns `group__feature`, the columns' types, and what was loaded."""

    rows: Sequence[Row]
    types: Mapping[str, DType]
    loaded: Sequence[Loaded]


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """What to build: the groups, a file per source and table, the labels, where rejects go.

    `as_of_us` uses only records that arrived by then. `as_known` False counts events from their event time, whenever
    they arrived.
    """

    groups: Mapping[str, GroupPlan]
    events: Mapping[str, Path]
    labels: Labels
    dead_letters: Path | None = None
    progress: Progress = field(default=lambda text: None)
    as_of_us: int | None = None
    as_known: bool = True

    def inputs(self) -> dict[str, EventSource]:
        """What has to be read, by name. Raises InputError for one without a file."""
        inputs = inputs_of(self.groups.values())
        missing = [name for name in inputs if name not in self.events]
        if missing:
            raise InputError(f"no file for source {missing[0]!r}: add --events {missing[0]}=FILE")
        return inputs


def build(request: HistoryRequest) -> HistoryResult:
    """Compute the training set. Raises InputError for missing files, columns or bad labels."""
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    loaded = load_inputs(con, request)
    rows = [dict(row) for row in request.labels.rows]
    types: dict[str, DType] = {}
    for plan in request.groups.values():
        request.progress(f"computing {plan.name}")
        load_label_keys(con, plan, request.labels)
        _add_stored(con, plan, rows, request.as_known)
        add_wide(con, plan, rows, request.as_known)
        add_on_demand(plan, rows, request.labels)
        types |= feature_types(plan)
    return HistoryResult(rows, types, loaded)


def load_inputs(con: duckdb.DuckDBPyConnection, request: HistoryRequest) -> list[Loaded]:
    """Create a table for every source and table of the groups."""
    loaded = []
    for name, source in request.inputs().items():
        request.progress(f"reading {name}")
        loaded.append(load_events(con, source, request.events[name], request.dead_letters, request.as_of_us))
    return loaded


def label_range(groups: Mapping[str, GroupPlan]) -> TimeRange:
    """The years that the times of labels may be in: those of all sources together."""
    ranges = [source.time_range for source in inputs_of(groups.values()).values()]
    known = [found for found in ranges if found is not None]
    if len(known) < len(ranges):
        return None
    return min((first for first, _ in known), key=int), max((last for _, last in known), key=int)


def feature_types(plan: GroupPlan) -> dict[str, DType]:
    """Output column to type."""
    return {f"{plan.name}__{f.name}": f.dtype for f in (*plan.features, *plan.on_demand)}


def label_keys(plan: GroupPlan, labels: Labels) -> list[tuple[Value, ...]]:
    """(label_id, entity columns…, ts_us) of every label."""
    rows = []
    for i, (row, ts_us) in enumerate(zip(labels.rows, labels.times_us, strict=True)):
        where = f"{labels.path}, row {i + 1}"
        rows.append((i, *(typed_cell(row, name, dtype, where) for name, dtype in plan.entity), ts_us))
    return rows


def load_label_keys(con: duckdb.DuckDBPyConnection, plan: GroupPlan, labels: Labels) -> None:
    """Create the table `labels` for one group."""
    columns = ", ".join(f"{DUCKDB.ident(name)} {DUCKDB.type_name(dtype)}" for name, dtype in plan.entity)
    con.execute(f"CREATE OR REPLACE TABLE labels (label_id BIGINT, {columns}, ts_us BIGINT)")
    marks = ", ".join("?" for _ in range(len(plan.entity) + 2))
    con.executemany(f"INSERT INTO labels VALUES ({marks})", label_keys(plan, labels))


def _add_stored(con: duckdb.DuckDBPyConnection, plan: GroupPlan, rows: Sequence[Row], as_known: bool) -> None:
    found = con.execute(point_in_time(plan, DUCKDB, as_known=as_known))
    names = [column[0] for column in found.description or ()][1:]
    for label_id, *values in found.fetchall():
        rows[label_id].update(zip(names, values, strict=True))


def add_on_demand(plan: GroupPlan, rows: Sequence[Row], labels: Labels) -> None:
    """Add the on-demand features; their request inputs are label columns."""
    for i, row in enumerate(rows if plan.on_demand else ()):
        values = {f.name: row[f"{plan.name}__{f.name}"] for f in plan.features}
        where = f"{labels.path}, row {i + 1}"
        request = {name: typed_cell(row, name, kind, where) for name, kind in plan.request_inputs.items()}
        for name, value in compute_all(plan, values, request).items():
            row[f"{plan.name}__{name}"] = value
