"""The expression cases on Spark: one query over all rows, in a local session configured like the jobs."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from featuredsl.compilers.scalar import SPARK, render
from jobs.spark.point_in_time import ARROW_TYPES
from jobs.spark.runtime import SparkConfig, session
from tests.conformance.expression_cases import CASES, COLUMNS, ROWS, wrong

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that ends with this module: one process has one at a time."""
    with session(SparkConfig("local[1]", tmp_path_factory.mktemp("spark"))) as started:
        yield started


def test_spark(spark: SparkSession) -> None:
    columns = {"n": pa.array(range(len(ROWS)), pa.int64())}
    columns |= {name: pa.array([row[name] for row in ROWS], ARROW_TYPES[dtype]) for name, dtype in COLUMNS.items()}
    spark.createDataFrame(pa.table(columns)).createOrReplaceTempView("t")
    selected = ", ".join(f"{render(case.node, SPARK)} AS e{i}" for i, case in enumerate(CASES))
    rows = spark.sql(f"SELECT {selected} FROM t ORDER BY n").collect()
    assert len(rows) == len(ROWS)
    assert wrong([tuple(row) for row in rows]) == []
