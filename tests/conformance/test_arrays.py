"""The array cases on the evaluator, on DuckDB and through the layout of the online store."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB, render
from featuredsl.compilers.snapshot import snapshot
from featuredsl.evaluate import evaluate
from featuredsl.finalize import DEFAULT, OK, Finalizer
from featuredsl.online.codec import Snapshot, decode_snapshots, encode_snapshot
from featuredsl.online.request import EntityState
from featuredsl.tiles import store_layout
from tests.conformance.cases import Case as GroupCase
from tests.conformance.cases import us
from tests.conformance.cases_arrays import CASES, COLUMNS, GROUP_CASES, ROWS, kinds, wrong
from tests.conformance.expression_cases import Case
from tests.conformance.test_online import state_before
from tests.conformance.test_snapshot import of_no_event
from tests.support.duckdb_tables import create

STREAMED = [case for case in GROUP_CASES if all(f.freshness == "realtime" for f in case.group.features)]
BATCH = next(case for case in GROUP_CASES if case not in STREAMED)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_evaluator(case: Case) -> None:
    for row, expected in case.rows:
        found = evaluate(case.node, {name: row.get(name) for name in COLUMNS})
        assert found == expected, row
        assert kinds(found) == kinds(expected), row


def test_duckdb() -> None:
    with duckdb.connect() as con:
        create(con, "t", [("n", "int"), *COLUMNS.items()], [[n, *row.values()] for n, row in enumerate(ROWS)])
        sql = ", ".join(render(case.node, DUCKDB) for case in CASES)
        assert wrong(con.execute(f"SELECT {sql} FROM t ORDER BY n").fetchall()) == []


def load(case: GroupCase) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    for source in case.group.sources:
        rows = [[*(row.get(name) for name in source.column_names), us(at)] for at, row in case.events[source.name]]
        create(con, source.name, [*source.columns, ("ts_us", "int")], rows)
    return con


def fetched(con: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    found = con.execute(sql)
    names = [column[0].split("__", 1)[-1] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("case", GROUP_CASES, ids=lambda case: case.name)
def test_point_in_time(case: GroupCase) -> None:
    con = load(case)
    labels = [[i, *key, us(seconds)] for i, (key, seconds, _) in enumerate(case.reads)]
    create(con, "labels", [("label_id", "int"), *case.group.entity, ("ts_us", "int")], labels)
    values = {row["label_id"]: row for row in fetched(con, point_in_time(case.group, DUCKDB))}
    assert len(values) == len(case.reads)
    for i, read in enumerate(case.reads):
        assert {name: values[i][name] for name in read[2]} == read[2], read[:2]


@pytest.mark.parametrize("case", GROUP_CASES, ids=lambda case: case.name)
def test_snapshot(case: GroupCase) -> None:
    con = load(case)
    for key, seconds, expected in case.reads:
        rows = fetched(con, snapshot(case.group, DUCKDB, us(seconds), case.group.features))
        mine = [row for row in rows if (row["u"],) == key]
        assert {name: mine[0][name] for name in expected} == expected if mine else of_no_event(case.group, expected)


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.name)
def test_online(case: GroupCase) -> None:
    finalizer = Finalizer(case.group)
    for key, seconds, expected in case.reads:
        values = finalizer.values(state_before(case, key, us(seconds)), us(seconds), {})
        assert {name: values[name].value for name in expected} == expected, (key, seconds)


def test_batch_values_through_the_store_codec() -> None:
    plan, layout = BATCH.group, store_layout(BATCH.group)
    con, finalizer = load(BATCH), Finalizer(BATCH.group)
    for _, seconds, expected in BATCH.reads:
        row = next(iter(fetched(con, snapshot(plan, DUCKDB, us(seconds), plan.features))), None)
        batch, marks = {}, {}
        for tier, feature in zip(layout.batch, plan.features, strict=True):
            as_of = feature.tier.query_time(us(seconds))
            marks[tier.name] = (as_of,)
            if row is not None:
                stored = encode_snapshot(tier.columns, Snapshot(as_of, (row[feature.name],)))
                batch[tier.name] = decode_snapshots(tier.columns, b"\1" + stored)
        values = finalizer.values(EntityState(row is not None, {}, {}, batch), us(seconds), marks)
        assert {name: value.value for name, value in values.items()} == expected, seconds
        if row is not None and expected["daily"] != ["none"]:
            assert values["daily"].status == OK


def test_a_default_is_a_new_list_for_every_reader() -> None:
    finalizer = Finalizer(BATCH.group)
    state, marks = (
        EntityState(True, {}, {}, {}),
        {"1h": (us(0),), "1d": (BATCH.group.features[1].tier.query_time(us(0)),)},
    )
    first = finalizer.values(state, us(0), marks)["daily"]
    assert (first.value, first.status) == (["none"], DEFAULT)
    assert isinstance(first.value, list)
    first.value.append("changed")
    assert finalizer.values(state, us(0), marks)["daily"].value == ["none"]
