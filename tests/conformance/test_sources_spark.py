"""The cases about sources on Spark, in a local session configured like the jobs; all cases of a group in one query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from featuredsl.compilers.scalar import SPARK
from featuredsl.compilers.snapshot import snapshot
from featuredsl.dtypes import DType
from featuredsl.plan import GroupPlan, inputs_of
from jobs.spark.point_in_time import arrow_values, group_values, register
from jobs.spark.runtime import SparkConfig, session
from tests.conformance.cases import Case, us
from tests.conformance.cases_sources import CASES
from tests.conformance.test_sources_duckdb import cells
from tests.support.arrow_table import arrow_table

pytestmark = pytest.mark.timeout(1800)
KEYS = ("u", "id", "item")
"""Columns that tell rows apart; the number of the case is put before their texts."""
GROUPS = {case.group.name: case.group for case in CASES}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that ends with this module: one process has one at a time."""
    with session(SparkConfig("local[1]", tmp_path_factory.mktemp("spark"), shuffle_partitions=1)) as started:
        yield started


def apart(number: int, value: Any) -> Any:
    return f"{number}:{value}" if isinstance(value, str) else value


def register_inputs(spark: SparkSession, plan: GroupPlan, cases: Sequence[tuple[int, Case]]) -> None:
    frames = {}
    for name, source in inputs_of([plan]).items():
        times: list[tuple[str, DType]] = [(time, "int") for time in source.time_columns]
        rows = []
        for number, case in cases:
            for seconds, row in case.events[name]:
                mine = {column: apart(number, v) if column in KEYS else v for column, v in row.items()}
                rows.append(cells(source, (seconds, mine)))
        frames[name] = spark.createDataFrame(arrow_table([*source.columns, *times], rows))
    register(frames)


@pytest.mark.parametrize("plan", GROUPS.values(), ids=GROUPS)
def test_group(spark: SparkSession, plan: GroupPlan) -> None:
    cases = [(number, case) for number, case in enumerate(CASES) if case.group == plan]
    register_inputs(spark, plan, cases)
    reads = [
        (tuple(apart(number, part) for part in key), seconds, expected)
        for number, case in cases
        for key, seconds, expected in case.reads
    ]
    labels = [[i, *key, us(seconds)] for i, (key, seconds, _) in enumerate(reads)]
    columns: list[tuple[str, DType]] = [("label_id", "int"), *plan.entity, ("ts_us", "int")]
    values = arrow_values(group_values(spark, plan, spark.createDataFrame(arrow_table(columns, labels))))
    for i, (key, seconds, expected) in enumerate(reads):
        found = {name: values[f"{plan.name}__{name}"][i].as_py() for name in expected}
        assert found == expected, (key, seconds)
    if plan.name in ("arrived", "bought", "spaced"):
        check_snapshot(spark, plan, reads[-1])


def check_snapshot(spark: SparkSession, plan: GroupPlan, read: tuple[tuple[Any, ...], float, dict[str, Any]]) -> None:
    key, seconds, expected = read
    rows = spark.sql(snapshot(plan, SPARK, us(seconds), plan.features)).collect()
    mine = [row.asDict() for row in rows if tuple(row[name] for name, _ in plan.entity) == key]
    assert {name: mine[0][f"{plan.name}__{name}"] for name in expected} == expected
