"""The cases about sources on DuckDB: point in time and snapshots; shuffled rows and more threads change nothing."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest

from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.compilers.snapshot import snapshot
from featuredsl.plan import inputs_of
from featuredsl.sources import EventSource
from tests.conformance.cases import Case, Row, us
from tests.conformance.cases_sources import CASES
from tests.conformance.test_snapshot import of_no_event
from tests.support.duckdb_tables import create


def cells(source: EventSource, row: Row) -> list[Any]:
    """A row of a source's view."""
    seconds, columns = row
    times = {"ts_us": us(seconds), "arrival_us": us(columns["arrival"]) if "arrival" in columns else None}
    return [(columns | times).get(name) for name in source.view_columns]


def connect(case: Case, rng: random.Random | None = None) -> duckdb.DuckDBPyConnection:
    """The views of the case's inputs."""
    con = duckdb.connect(config={"threads": 8 if rng else 1})
    for name, source in inputs_of([case.group]).items():
        rows = [cells(source, row) for row in case.events[name]]
        if rng:
            rng.shuffle(rows)
        create(con, name, [*source.columns, *((time, "int") for time in source.time_columns)], rows)
    labels = [[i, *key, us(seconds)] for i, (key, seconds, _) in enumerate(case.reads)]
    create(con, "labels", [("label_id", "int"), *case.group.entity, ("ts_us", "int")], labels)
    return con


def values_of(case: Case, con: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """What each read finds."""
    found = con.execute(point_in_time(case.group, DUCKDB) + " ORDER BY label_id")
    names = [column[0].split("__", 1)[-1] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_point_in_time(case: Case) -> None:
    values = values_of(case, connect(case))
    assert len(values) == len(case.reads)
    for found, (_, seconds, expected) in zip(values, case.reads, strict=True):
        assert {name: found[name] for name in expected} == expected, seconds


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_snapshot(case: Case) -> None:
    con, width = connect(case), len(case.group.entity)
    for key, seconds, expected in case.reads:
        found = con.execute(snapshot(case.group, DUCKDB, us(seconds), case.group.features))
        names = [column[0].split("__", 1)[-1] for column in found.description]
        by_key = {row[:width]: dict(zip(names, row, strict=True)) for row in found.fetchall()}
        if key in by_key:
            assert {name: by_key[key][name] for name in expected} == expected, seconds
        else:
            assert of_no_event(case.group, expected), seconds


@pytest.mark.parametrize("case", CASES[:14:3], ids=lambda case: case.name)
def test_order_of_rows_does_not_matter(case: Case) -> None:
    rng = random.Random(3)
    first = values_of(case, connect(case))
    assert all(values_of(case, connect(case, rng)) == first for _ in range(3))
