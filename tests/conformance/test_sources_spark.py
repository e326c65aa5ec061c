"""The cases about sources on Spark, in a local session configured like the jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from featuredsl.compilers.scalar import SPARK
from featuredsl.compilers.snapshot import snapshot
from featuredsl.dtypes import DType
from featuredsl.plan import inputs_of
from jobs.spark.point_in_time import ARROW_TYPES, arrow_values, group_values, register
from jobs.spark.runtime import SparkConfig, session
from tests.conformance.cases import Case, us
from tests.conformance.cases_sources import CASES
from tests.conformance.test_snapshot import of_no_event
from tests.conformance.test_sources_duckdb import cells

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that ends with this module: one process has one at a time."""
    with session(SparkConfig("local[1]", tmp_path_factory.mktemp("spark"), shuffle_partitions=1)) as started:
        yield started


def table(columns: list[tuple[str, DType]], rows: list[list[Any]]) -> pa.Table:
    return pa.table({n: pa.array([row[i] for row in rows], ARROW_TYPES[t]) for i, (n, t) in enumerate(columns)})


def register_inputs(spark: SparkSession, case: Case) -> None:
    frames = {}
    for name, source in inputs_of([case.group]).items():
        times: list[tuple[str, DType]] = [(time, "int") for time in source.time_columns]
        rows = [cells(source, row) for row in case.events[name]]
        frames[name] = spark.createDataFrame(table([*source.columns, *times], rows))
    register(frames)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(spark: SparkSession, case: Case) -> None:
    register_inputs(spark, case)
    labels = [[i, *key, us(seconds)] for i, (key, seconds, _) in enumerate(case.reads)]
    columns: list[tuple[str, DType]] = [("label_id", "int"), *case.group.entity, ("ts_us", "int")]
    values = arrow_values(group_values(spark, case.group, spark.createDataFrame(table(columns, labels))))
    for i, (key, seconds, expected) in enumerate(case.reads):
        found = {name: values[f"{case.group.name}__{name}"][i].as_py() for name in expected}
        assert found == expected, (key, seconds)
    key, seconds, expected = case.reads[-1]
    rows = spark.sql(snapshot(case.group, SPARK, us(seconds), case.group.features)).collect()
    mine = [row.asDict() for row in rows if tuple(row[name] for name, _ in case.group.entity) == key]
    if mine:
        assert {name: mine[0][f"{case.group.name}__{name}"] for name in expected} == expected
    else:
        assert of_no_event(case.group, expected)
