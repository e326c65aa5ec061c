"""Wide features of a training set on DuckDB: ordered rows are streamed through the sweep, one entity at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import duckdb

from featuredsl.compilers.offline import LABELS
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.compilers.units import key_columns
from featuredsl.compilers.wide import wide_rows
from featuredsl.labels import Row
from featuredsl.plan import GroupPlan
from featuredsl.wide.program import WideProgram, wide_program

BATCH = 10_000

Key = tuple[Any, ...]
Asked = dict[Key, list[tuple[int, int]]]


def add_wide(con: duckdb.DuckDBPyConnection, plan: GroupPlan, rows: Sequence[Row]) -> None:
    """Add `group__feature` of the wide features to the rows; the table `labels` says who is asked when."""
    program = wide_program(plan)
    if program is None:
        return
    asked = _asked(con, plan)
    query = wide_rows(plan, program, DUCKDB, labels=LABELS)
    width = len(plan.entity)
    for key, events in groupby(_stream(con, query), key=lambda row: row[:width]):
        _fill(plan, program, asked.pop(key), (event[width:] for event in events), rows)
    for silent in asked.values():
        _fill(plan, program, silent, iter(()), rows)
    for row in rows:
        for name in (f"{plan.name}__{feature.name}" for feature in plan.features):
            row[name] = row.pop(name)


def _asked(con: duckdb.DuckDBPyConnection, plan: GroupPlan) -> Asked:
    """(ts_us, label_id) of every entity, in ascending time."""
    keys = ", ".join(key_columns(plan, DUCKDB))
    found = con.execute(f"SELECT ts_us, label_id, {keys} FROM {DUCKDB.ident(LABELS)} ORDER BY ts_us").fetchall()
    asked: Asked = {}
    for ts_us, label_id, *key in found:
        asked.setdefault(tuple(key), []).append((ts_us, label_id))
    return asked


def _stream(con: duckdb.DuckDBPyConnection, query: str) -> Iterator[tuple[Any, ...]]:
    found = con.execute(query)
    while batch := found.fetchmany(BATCH):
        yield from batch


def _fill(
    plan: GroupPlan,
    program: WideProgram,
    asked: Sequence[tuple[int, int]],
    events: Iterator[tuple[Any, ...]],
    rows: Sequence[Row],
) -> None:
    sweep = program.start([ts_us for ts_us, _ in asked])
    for event in events:
        sweep.push(event)
    for (_, label_id), values in zip(asked, sweep.finish(), strict=True):
        rows[label_id].update({f"{plan.name}__{name}": value for name, value in values.items()})
