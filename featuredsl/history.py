"""Point-in-time training sets on DuckDB: every label row with the features as they were just before it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import duckdb

from featuredsl.bulk import append, create_table
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.dtypes import DType
from featuredsl.errors import InputError
from featuredsl.events import Loaded, load_events
from featuredsl.interrupts import on_interrupt
from featuredsl.label_files import GIVEN
from featuredsl.labels import LABELS, Labels, LabelTable, Row
from featuredsl.nodes import Value
from featuredsl.ondemand import compute_all
from featuredsl.plan import GroupPlan, inputs_of, keys_of
from featuredsl.sources import EventSource
from featuredsl.times import TimeRange
from featuredsl.training_set import write
from featuredsl.wide_history import add_wide

BATCH = 20_000
Progress = Callable[[str], None]


class Engine(Protocol):
    """Computes the stored features of a group; the labels and sources are tables of the connection."""

    def stored(self, con: duckdb.DuckDBPyConnection, plan: GroupPlan, table: str, as_known: bool) -> None:
        """Create `table` with `label_id` and `group__feature` for every row of `fdsl_labels`.

        Without `as_known` an event counts whenever it arrived.
        """


class DuckDB:
    """The engine in this process."""

    def stored(self, con: duckdb.DuckDBPyConnection, plan: GroupPlan, table: str, as_known: bool) -> None:
        query = point_in_time(plan, DUCKDB, labels=LABELS, as_known=as_known)
        con.execute(f"CREATE OR REPLACE TABLE {DUCKDB.ident(table)} AS {query}")
        add_wide(con, plan, table, as_known=as_known)


@dataclass(frozen=True, slots=True)
class HistoryResult:
    """The label rows with feature columns `group__feature`, the columns' types, and what was loaded."""

    labels: LabelTable
    values: Sequence[str]
    types: Mapping[str, DType]
    loaded: Sequence[Loaded]

    def write(self, path: Path) -> None:
        """Write JSON Lines, CSV or Parquet by suffix; the file appears when it is complete."""
        write(path, self.labels, self.values, self.types)

    @property
    def rows(self) -> list[Row]:
        """The label rows with their features, as Python values."""
        found = self.labels.con.execute(f"SELECT * EXCLUDE (fdsl_id, fdsl_us) FROM {GIVEN} ORDER BY fdsl_id")
        names = [column[0] for column in found.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        if "fdsl_line" in names:
            rows = [json.loads(row["fdsl_line"]) for row in rows]
        for table in self.values:
            found = self.labels.con.execute(f"SELECT * FROM {DUCKDB.ident(table)} ORDER BY label_id")
            names = [column[0] for column in found.description or ()][1:]
            for row, values in zip(rows, found.fetchall(), strict=True):
                row.update(zip(names, values[1:], strict=True))
        return rows


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """What to build: the groups, a file per source, the labels, where rejects go."""

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


def build(request: HistoryRequest, engine: Engine | None = None) -> HistoryResult:
    """Compute the training set. Raises InputError for missing files, columns or bad labels."""
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    with on_interrupt(con.interrupt):
        return _built(con, request, engine or DuckDB())


def _built(con: duckdb.DuckDBPyConnection, request: HistoryRequest, engine: Engine) -> HistoryResult:
    sources = request.inputs()
    request.progress("reading labels")
    labels = request.labels.load(con)
    loaded = []
    for name, source in sources.items():
        request.progress(f"reading {name}")
        keys = keys_of(request.groups.values(), name)
        loaded.append(load_events(con, source, request.events[name], request.dead_letters, request.as_of_us, keys))
    values: list[str] = []
    types: dict[str, DType] = {}
    for number, plan in enumerate(request.groups.values()):
        request.progress(f"computing {plan.name}")
        values += _group(engine, labels, plan, number, request.as_known)
        types |= feature_types(plan)
    return HistoryResult(labels, values, types, loaded)


def steps(groups: Mapping[str, GroupPlan]) -> int:
    """How often `build` reports progress."""
    return 1 + len(inputs_of(groups.values())) + len(groups)


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


def _group(engine: Engine, labels: LabelTable, plan: GroupPlan, number: int, as_known: bool) -> list[str]:
    """Compute one group; the tables that hold its columns."""
    stored, asked = f"fdsl_stored_{number}", f"fdsl_asked_{number}"
    labels.keys(plan)
    engine.stored(labels.con, plan, stored, as_known)
    if not plan.on_demand:
        return [stored]
    _add_on_demand(labels, plan, stored, asked)
    return [stored, asked]


def _add_on_demand(labels: LabelTable, plan: GroupPlan, stored: str, asked: str) -> None:
    """The on-demand features, by batches of rows; their request inputs are label columns."""
    names = [*(f.name for f in plan.features), *plan.request_inputs]
    types = {"label_id": "BIGINT"} | {f"{plan.name}__{f.name}": DUCKDB.type_name(f.dtype) for f in plan.on_demand}
    create_table(labels.con, asked, types)
    cursor = labels.con.cursor()
    cursor.execute(_inputs(labels, plan, stored))
    while rows := cursor.fetchmany(BATCH):
        made = [_on_demand_row(plan, names, row) for row in rows]
        append(labels.con, asked, types, list(zip(*made, strict=True)))


def _inputs(labels: LabelTable, plan: GroupPlan, stored: str) -> str:
    """Label id, stored features and request inputs of every row."""
    asked = {f"r{i}": labels.typed(name, dtype) for i, (name, dtype) in enumerate(plan.request_inputs.items())}
    given = ", ".join(["fdsl_id", *(f"{value} AS {name}" for name, value in asked.items())])
    columns = ", ".join(["s.*", *(f"g.{name}" for name in asked)])
    return f"SELECT {columns} FROM {stored} s JOIN (SELECT {given} FROM {GIVEN}) g ON g.fdsl_id = s.label_id"


def _on_demand_row(plan: GroupPlan, names: Sequence[str], row: Sequence[Value]) -> list[Value]:
    values = dict(zip(names, row[1:], strict=True))
    request = {name: values.pop(name) for name in plan.request_inputs}
    made = compute_all(plan, values, request)
    return [row[0], *(made[feature.name] for feature in plan.on_demand)]
