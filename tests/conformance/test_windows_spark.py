"""Cases of windows and reported cases on Spark: training sets for all, snapshots of the kinds, in one local session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from featuredsl.compilers.collapsed import collapsed
from featuredsl.compilers.scalar import SPARK
from featuredsl.compilers.snapshot import snapshot
from featuredsl.horizon import history_columns
from featuredsl.times import MINUTE
from jobs.spark.point_in_time import group_values
from jobs.spark.runtime import SparkConfig, session
from tests.conformance.cases import Case, plan_of, us
from tests.conformance.cases_reported import REPORTED_CASES
from tests.conformance.cases_windows import WINDOW_CASES
from tests.conformance.test_horizon import EVENTS, H1, Ever, row
from tests.conformance.test_snapshot import of_no_event
from tests.support.arrow_table import arrow_table
from tests.support.horizons import batch

pytestmark = pytest.mark.timeout(900)
SNAPSHOTS = [case for case in WINDOW_CASES if case.group.name in ("visits", "deferred")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that ends with this module: one process has one at a time."""
    config = SparkConfig("local[1]", tmp_path_factory.mktemp("spark"), shuffle_partitions=1)
    with session(config) as started:
        yield started


def load(spark: SparkSession, case: Case) -> None:
    """The events of a case as views."""
    for source in case.group.sources:
        rows = [
            [*(columns.get(name) for name in source.column_names), us(seconds)]
            for seconds, columns in case.events[source.name]
        ]
        frame = spark.createDataFrame(arrow_table([*source.columns, ("ts_us", "int")], rows))
        frame.createOrReplaceTempView(source.name)


def values_of(rows: pa.Table, width: int) -> dict[Any, dict[str, Any]]:
    """Rows by their first `width` columns, without the group's name."""
    names = [name.split("__", 1)[-1] for name in rows.column_names]
    tuples = zip(*(column.to_pylist() for column in rows.columns), strict=True)
    return {row[:width]: dict(zip(names, row, strict=True)) for row in tuples}


@pytest.mark.parametrize("case", [*WINDOW_CASES, *REPORTED_CASES], ids=lambda case: case.name)
def test_training_set(spark: SparkSession, case: Case) -> None:
    load(spark, case)
    labels = [[i, *key, us(seconds)] for i, (key, seconds, _) in enumerate(case.reads)]
    asked = spark.createDataFrame(arrow_table([("label_id", "int"), *case.group.entity, ("ts_us", "int")], labels))
    found = values_of(group_values(spark, case.group, asked).toArrow(), 1)
    assert len(found) == len(case.reads)
    for i, (_, seconds, expected) in enumerate(case.reads):
        assert {name: found[(i,)][name] for name in expected} == expected, seconds


@pytest.mark.parametrize("case", SNAPSHOTS, ids=lambda case: case.name)
def test_snapshot(spark: SparkSession, case: Case) -> None:
    load(spark, case)
    width = len(case.group.entity)
    for key, seconds, expected in case.reads[-4:]:
        sql = snapshot(case.group, SPARK, us(seconds), case.group.features)
        found = values_of(spark.sql(sql).toArrow(), width)
        if key in found:
            assert {name: found[key][name] for name in expected} == expected
        else:
            assert of_no_event(case.group, expected)


def test_collapsed_histories_are_those_of_duckdb(spark: SparkSession) -> None:
    """Which the reader's conformance is measured with; sums beyond 64 bits and beyond all doubles among them."""
    plan = plan_of(Ever)
    history = history_columns(plan)
    assert history is not None
    huge = [row(H1 - i, "huge", x=2**63 - 1, f=1.5e308) for i in (1, 2, 3)]
    events = {**EVENTS, "events": [*EVENTS["events"], *huge]}
    for source in plan.sources:
        rows = [
            [*(columns.get(name) for name in source.column_names), time_us] for time_us, columns in events[source.name]
        ]
        frame = spark.createDataFrame(arrow_table([*source.columns, ("ts_us", "int")], rows))
        frame.createOrReplaceTempView(source.name)
    run = H1 + 11 * MINUTE
    found = spark.sql(collapsed(plan, history, SPARK, H1, run)).toArrow().to_pylist()
    by_key = {one.pop("u"): tuple(one.values()) for one in found}
    right = {key: one.values for (key,), one in batch(plan, events, run).items()}
    assert by_key.keys() == right.keys() == {"a", "old", "nulls", "only_other", "huge"}
    for key, values in right.items():
        for mine, other in zip(by_key[key], values, strict=True):
            assert mine == other or mine == pytest.approx(other, rel=1e-9), (key, by_key[key], values)
    assert str(3 * (2**63 - 1)) in by_key["huge"]
    assert float("inf") in by_key["huge"]
