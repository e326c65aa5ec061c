"""What batch runs and a stream job would have stored of an entity with streamed lifetimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from featuredsl.compilers.collapsed import collapsed
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.horizon import HISTORY, HORIZON, history_columns
from featuredsl.online.codec import FORMAT_VERSION, Snapshot, encode_snapshot
from featuredsl.online.request import EntityState, RawState, state_of
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout
from tests.support.duckdb_tables import create
from tests.support.online_tiles import Event, ring

Events = Mapping[str, Sequence[Event]]


def batch(plan: GroupPlan, events: Events, at_us: int) -> dict[tuple[Any, ...], Snapshot]:
    """The history of every entity as DuckDB collapses it when a run is as of a time."""
    history = history_columns(plan)
    assert history is not None
    con = duckdb.connect()
    for source in plan.sources:
        rows = [[*(row.get(name) for name in source.column_names), us] for us, row in events[source.name]]
        create(con, source.name, [*source.columns, ("ts_us", "int")], rows)
    horizon_us, width = HORIZON.query_time(at_us), len(plan.entity)
    found = con.execute(collapsed(plan, history, DUCKDB, horizon_us, at_us)).fetchall()
    return {row[:width]: Snapshot(horizon_us, row[width:]) for row in found}


def stored(
    plan: GroupPlan, events: Events, key: tuple[Any, ...], at_us: int, snapshots: Sequence[Snapshot]
) -> EntityState:
    """The state of a key, read back from its bytes, when a job has seen every event before `at_us` and batch runs
    (newest first) have written `snapshots`."""
    layout = store_layout(plan)
    names = [name for name, _ in plan.entity]
    mine = {
        name: [(us, row) for us, row in sorted(rows, key=lambda one: one[0]) if us < at_us and _key(row, names) == key]
        for name, rows in events.items()
    }
    tier = next(tier for tier in layout.batch if tier.name == HISTORY)
    field = b"".join(encode_snapshot(tier.columns, one) for one in snapshots)
    fields = {tier.hash_field: bytes([FORMAT_VERSION]) + field} if snapshots else {}
    raw = RawState(ring(plan, layout, mine), [fields.get(name) for name in layout.hash_fields])
    return state_of(layout, raw)


def _key(row: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)
