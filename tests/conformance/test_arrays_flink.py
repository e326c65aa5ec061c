"""The array operations on Flink: one query over all rows, in a batch environment of this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyflink.table import EnvironmentSettings, TableEnvironment

from featuredsl.compilers.scalar import FLINK, render
from tests.conformance.cases_arrays import CASES, COLUMNS, ROWS, wrong
from tests.conformance.test_expressions_flink import as_json

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def environment(tmp_path: Path) -> TableEnvironment:
    """A batch environment with the table `t` of all rows."""
    lines = [json.dumps({"n": n} | {k: as_json(v) for k, v in row.items()}) for n, row in enumerate(ROWS)]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    for name, value in {
        "parallelism.default": "1",
        "table.local-time-zone": "UTC",
        "io.tmp.dirs": str(tmp_path),
    }.items():
        made.get_config().set(name, value)
    columns = ", ".join(f"{FLINK.ident(name)} {FLINK.type_name(dtype)}" for name, dtype in COLUMNS.items())
    made.execute_sql(
        f"CREATE TABLE t (n BIGINT, {columns}) WITH ('connector' = 'filesystem', 'path' = '{file.as_uri()}', "
        "'format' = 'json')"
    )
    return made


def test_flink(environment: TableEnvironment) -> None:
    selected = ", ".join(f"{render(case.node, FLINK)} AS e{i}" for i, case in enumerate(CASES))
    with environment.execute_sql(f"SELECT n, {selected} FROM t").collect() as results:
        rows = {row[0]: tuple(row)[1:] for row in results}
    assert sorted(rows) == list(range(len(ROWS)))
    assert wrong([rows[n] for n in range(len(ROWS))]) == []
