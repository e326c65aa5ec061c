"""The cases of wide aggregates on Spark: training sets, snapshots of the batch tiers, and sketches that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from featuredsl.wide.distinct import Distinct
from jobs.spark.history import compute
from jobs.spark.materialise import snapshot_values
from jobs.spark.runtime import SparkConfig, session
from tests.conformance.cases import Case, us
from tests.conformance.cases_wide import WIDE_CASES
from tests.conformance.cases_wide_sessions import WIDE_SESSION_CASES
from tests.support.wide_cases import differences, request_of, same

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that ends with this module: one process has one at a time."""
    with session(SparkConfig("local[1]", tmp_path_factory.mktemp("spark"), shuffle_partitions=1)) as started:
        yield started


@pytest.mark.parametrize("case", [*WIDE_CASES, *WIDE_SESSION_CASES], ids=lambda case: case.name)
def test_case(spark: SparkSession, case: Case, tmp_path: Path) -> None:
    result = compute(spark, request_of(case, tmp_path))
    assert differences(case, [dict(row) for row in result.rows]) == []


def test_snapshots_of_batch_tiers(spark: SparkSession, tmp_path: Path) -> None:
    """Entities in reach have a row, with the values that a label at that time would get."""
    case = next(case for case in WIDE_CASES if case.group.name == "layers")
    compute(spark, request_of(case, tmp_path))
    batch = [feature for feature in case.group.features if feature.freshness != "realtime"]
    seen = 0
    for key, seconds, expected in case.reads:
        rows = snapshot_values(spark, case.group, us(seconds), batch).collect()
        found = {row["u"]: row.asDict() for row in rows}
        for feature in batch:
            if feature.name in expected and key[0] in found:
                seen += 1
                assert same(found[key[0]][f"layers__{feature.name}"], expected[feature.name]), (seconds, feature.name)
    assert seen >= 8


def test_spark_reads_the_sketch_of_distinct_values(spark: SparkSession) -> None:
    sets = ([], ["a"], [f"user-{i}" for i in range(300)], list(range(20_000)))
    monoid, images = Distinct(), []
    for values in sets:
        state = monoid.empty()
        for value in values:
            state = monoid.add(state, 0, (value,))
        images.append(monoid.to_bytes(state)[1:])
    frame = spark.createDataFrame(pa.table({"n": [len(v) for v in sets], "sketch": pa.array(images, pa.binary())}))
    frame.createOrReplaceTempView("sketches")
    for n, found in spark.sql("SELECT n, hll_sketch_estimate(sketch) FROM sketches").collect():
        assert found == pytest.approx(n, rel=0.05)
    union = "SELECT hll_sketch_estimate(hll_union(sketch, hll_sketch_agg(id, 12))) FROM sketches, range(20000)"
    (row,) = spark.sql(f"{union} WHERE n = 20000 GROUP BY sketch").collect()
    assert row[0] == pytest.approx(20_000, rel=0.05)
