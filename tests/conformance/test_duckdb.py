"""The conformance cases on DuckDB."""

from __future__ import annotations

import duckdb
import pytest

from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB
from tests.conformance.cases import CASES, Case, us
from tests.conformance.cases_windows import WINDOW_CASES
from tests.support.duckdb_tables import create


@pytest.mark.parametrize("case", [*CASES, *WINDOW_CASES], ids=lambda case: case.name)
def test_case(case: Case) -> None:
    con = duckdb.connect()
    for source in case.group.sources:
        rows = [
            [*(columns.get(name) for name in source.column_names), us(seconds)]
            for seconds, columns in case.events[source.name]
        ]
        create(con, source.name, [*source.columns, ("ts_us", "int")], rows)
    labels = [[i, *key, us(seconds)] for i, (key, seconds, _) in enumerate(case.reads)]
    create(con, "labels", [("label_id", "int"), *case.group.entity, ("ts_us", "int")], labels)
    found = con.execute(point_in_time(case.group, DUCKDB))
    names = [column[0].split("__", 1)[-1] for column in found.description]
    values = {row[0]: dict(zip(names, row, strict=True)) for row in found.fetchall()}
    assert len(values) == len(case.reads)
    for i, (_, _, expected) in enumerate(case.reads):
        assert {name: values[i][name] for name in expected} == expected
