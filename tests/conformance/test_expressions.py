"""The expression cases on the evaluator and on DuckDB."""

from __future__ import annotations

import duckdb
import pytest

from featuredsl.compilers.scalar import DUCKDB, render
from featuredsl.evaluate import evaluate
from featuredsl.nodes import Call, Node
from featuredsl.operations import OPERATIONS
from tests.conformance.cases_arrays import CASES as ARRAY_CASES
from tests.conformance.expression_cases import CASES, COLUMNS, ROWS, Case, same, wrong
from tests.support.duckdb_tables import create


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_evaluator(case: Case) -> None:
    for row, expected in case.rows:
        found = evaluate(case.node, {name: row.get(name) for name in COLUMNS})
        assert same(case, found, expected), (row, found, expected)


def test_duckdb() -> None:
    with duckdb.connect() as con:
        create(con, "t", [("n", "int"), *COLUMNS.items()], [[n, *row.values()] for n, row in enumerate(ROWS)])
        sql = ", ".join(render(case.node, DUCKDB) for case in CASES)
        assert wrong(con.execute(f"SELECT {sql} FROM t ORDER BY n").fetchall()) == []


def test_every_operation_has_a_case() -> None:
    def used(node: Node) -> set[str]:
        return {node.op}.union(*(used(arg) for arg in node.args)) if isinstance(node, Call) else set()

    assert set(OPERATIONS) == set().union(*(used(case.node) for case in (*CASES, *ARRAY_CASES)))
    assert len({case.name for case in CASES}) == len(CASES)
