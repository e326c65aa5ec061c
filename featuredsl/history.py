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
from featuredsl.ondemand import compute
from featuredsl.plan import GroupPlan

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class HistoryResult:
    """The label rows with feature columns `group__feature`, the columns' types, and what was loaded."""

    rows: Sequence[Row]
    types: Mapping[str, DType]
    loaded: Sequence[Loaded]


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """What to build: the groups, a file per source, the labels, where rejects go."""

    groups: Mapping[str, GroupPlan]
    events: Mapping[str, Path]
    labels: Labels
    dead_letters: Path | None = None
    progress: Progress = field(default=lambda text: None)


def build(request: HistoryRequest) -> HistoryResult:
    """Compute the training set. Raises InputError for missing files, columns or bad labels."""
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    sources = {s.name: s for plan in request.groups.values() for s in plan.sources}
    missing = [name for name in sources if name not in request.events]
    if missing:
        raise InputError(f"no file for source {missing[0]!r}: add --events {missing[0]}=FILE")
    loaded = []
    for name, source in sources.items():
        request.progress(f"reading {name}")
        loaded.append(load_events(con, source, request.events[name], request.dead_letters))
    rows = [dict(row) for row in request.labels.rows]
    types: dict[str, DType] = {}
    for plan in request.groups.values():
        request.progress(f"computing {plan.name}")
        add_features(con, plan, rows, request.labels)
        types |= feature_types(plan)
    return HistoryResult(rows, types, loaded)


def add_features(con: duckdb.DuckDBPyConnection, plan: GroupPlan, rows: Sequence[Row], labels: Labels) -> None:
    """Add a group's features to the label rows; the tables of its sources are there."""
    load_label_keys(con, plan, labels)
    _add_stored(con, plan, rows)
    add_on_demand(plan, rows, labels)


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


def _add_stored(con: duckdb.DuckDBPyConnection, plan: GroupPlan, rows: Sequence[Row]) -> None:
    found = con.execute(point_in_time(plan, DUCKDB))
    names = [column[0] for column in found.description or ()][1:]
    for label_id, *values in found.fetchall():
        rows[label_id].update(zip(names, values, strict=True))


def add_on_demand(plan: GroupPlan, rows: Sequence[Row], labels: Labels) -> None:
    """Add the on-demand features; their request inputs are label columns."""
    for i, row in enumerate(rows if plan.on_demand else ()):
        values = {f.name: row[f"{plan.name}__{f.name}"] for f in plan.features}
        for feature in plan.on_demand:
            where = f"{labels.path}, row {i + 1}"
            request = {name: typed_cell(row, name, kind, where) for name, kind in feature.request}
            row[f"{plan.name}__{feature.name}"] = compute(feature, values | request)
