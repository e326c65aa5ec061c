"""The conformance cases through the snapshot program of the batch tiers, on DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import pytest

from featuredsl.compilers.scalar import DUCKDB
from featuredsl.compilers.snapshot import snapshot
from featuredsl.plan import GroupPlan
from tests.conformance.cases import CASES, Case, us
from tests.conformance.cases_windows import WINDOW_CASES
from tests.support.duckdb_tables import create


def of_no_event(plan: GroupPlan, expected: Mapping[str, Any]) -> bool:
    """True when the values are those of an entity without events: 0, null or the default."""
    constants = {feature.name: feature.default for feature in plan.features}
    defaults = {name: list(value) if isinstance(value, tuple) else value for name, value in constants.items()}
    return all(value in (0, None) or value == defaults[name] for name, value in expected.items())


@pytest.mark.parametrize("case", [*CASES, *WINDOW_CASES], ids=lambda case: case.name)
def test_case(case: Case) -> None:
    con = duckdb.connect()
    for source in case.group.sources:
        rows = [
            [*(columns.get(name) for name in source.column_names), us(seconds)]
            for seconds, columns in case.events[source.name]
        ]
        create(con, source.name, [*source.columns, ("ts_us", "int")], rows)
    width = len(case.group.entity)
    for key, seconds, expected in case.reads:
        found = con.execute(snapshot(case.group, DUCKDB, us(seconds), case.group.features))
        names = [column[0].split("__", 1)[-1] for column in found.description]
        by_key = {row[:width]: dict(zip(names, row, strict=True)) for row in found.fetchall()}
        if key in by_key:
            assert {name: by_key[key][name] for name in expected} == expected
        else:
            assert of_no_event(case.group, expected)
