"""Wide features of a training set on DuckDB: ordered rows are streamed through the sweep, one entity at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any

import duckdb

from featuredsl.bulk import append, create_table
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.compilers.units import key_columns
from featuredsl.compilers.wide import wide_rows
from featuredsl.labels import LABELS
from featuredsl.plan import GroupPlan
from featuredsl.wide.program import WideProgram, wide_program

BATCH = 10_000

Key = tuple[Any, ...]
Asked = dict[Key, list[tuple[int, int]]]


def add_wide(con: duckdb.DuckDBPyConnection, plan: GroupPlan, table: str, *, as_known: bool = True) -> None:
    """Add `group__feature` of the wide features to `table`; the table `fdsl_labels` says who is asked when."""
    program = wide_program(plan)
    if program is None:
        return
    ident = DUCKDB.ident
    found = wide_values(con, plan, program, LABELS, as_known=as_known)
    types = {"label_id": "BIGINT"}
    types |= {f"{plan.name}__{f.name}": DUCKDB.type_name(f.dtype) for f in program.features}
    made = f"{table}__wide"
    create_table(con, made, types)
    while rows := list(islice(found, BATCH)):
        append(con, made, types, list(zip(*rows, strict=True)))
    columns = ", ".join(ident(f"{plan.name}__{feature.name}") for feature in plan.features)
    query = f"SELECT label_id, {columns} FROM {ident(table)} JOIN {ident(made)} USING (label_id)"
    con.execute(f"CREATE OR REPLACE TABLE {ident(table)} AS {query}")


def wide_values(
    con: duckdb.DuckDBPyConnection,
    plan: GroupPlan,
    program: WideProgram,
    labels: str = "labels",
    *,
    as_known: bool = True,
) -> Iterator[tuple[Any, ...]]:
    """(label_id, the value of each wide feature in order) of every row of the table `labels`, in no order."""
    asked = _asked(con, plan, labels)
    rows = _stream(con, wide_rows(plan, program, DUCKDB, labels=labels, as_known=as_known))
    width = len(plan.entity)
    for key, events in groupby(rows, key=lambda row: row[:width]):
        yield from _of_entity(program, asked.pop(key), (event[width:] for event in events))
    for silent in asked.values():
        yield from _of_entity(program, silent, ())


def _asked(con: duckdb.DuckDBPyConnection, plan: GroupPlan, labels: str) -> Asked:
    """(ts_us, label_id) of every entity, in ascending time."""
    keys = ", ".join(key_columns(plan, DUCKDB))
    asked: Asked = {}
    for ts_us, label_id, *key in _stream(con, f"SELECT ts_us, label_id, {keys} FROM {DUCKDB.ident(labels)}"):
        asked.setdefault(tuple(key), []).append((ts_us, label_id))
    for times in asked.values():
        times.sort()
    return asked


def _stream(con: duckdb.DuckDBPyConnection, query: str) -> Iterator[tuple[Any, ...]]:
    found = con.cursor().execute(query)
    while batch := found.fetchmany(BATCH):
        yield from batch


def _of_entity(
    program: WideProgram, asked: Sequence[tuple[int, int]], events: Iterable[tuple[Any, ...]]
) -> Iterator[tuple[Any, ...]]:
    sweep = program.start([ts_us for ts_us, _ in asked])
    for event in events:
        sweep.push(event)
    for (_, label_id), values in zip(asked, sweep.finish(), strict=True):
        yield label_id, *values.values()
