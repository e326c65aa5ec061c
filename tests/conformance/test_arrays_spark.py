"""The array cases on Spark, in a local session configured like the jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from featuredsl.compilers.scalar import SPARK, render
from featuredsl.compilers.snapshot import snapshot
from featuredsl.dtypes import DType
from jobs.landed import History
from jobs.spark.landing import land_records, read_history
from jobs.spark.point_in_time import arrow_values, group_values, register
from jobs.spark.runtime import SparkConfig, session
from tests.conformance.array_groups import bare
from tests.conformance.cases import Case as GroupCase
from tests.conformance.cases import us
from tests.conformance.cases_arrays import CASES, COLUMNS, GROUP_CASES, ROWS, wrong
from tests.conformance.test_snapshot import of_no_event
from tests.support.arrow_table import arrow_table

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session that ends with this module: one process has one at a time."""
    with session(SparkConfig("local[1]", tmp_path_factory.mktemp("spark"))) as started:
        yield started


def frame(spark: SparkSession, columns: list[tuple[str, DType]], rows: list[list[Any]]) -> Any:
    return spark.createDataFrame(arrow_table(columns, rows))


def test_expressions(spark: SparkSession) -> None:
    rows = [[n, *row.values()] for n, row in enumerate(ROWS)]
    frame(spark, [("n", "int"), *COLUMNS.items()], rows).createOrReplaceTempView("t")
    selected = ", ".join(f"{render(case.node, SPARK)} AS e{i}" for i, case in enumerate(CASES))
    found = spark.sql(f"SELECT {selected} FROM t ORDER BY n").collect()
    assert len(found) == len(ROWS)
    assert wrong([tuple(row) for row in found]) == []


def register_events(spark: SparkSession, case: GroupCase) -> None:
    views = {}
    for source in case.group.sources:
        rows = [[*(row.get(name) for name in source.column_names), us(at)] for at, row in case.events[source.name]]
        views[source.name] = frame(spark, [*source.columns, ("ts_us", "int")], rows)
    register(views)


@pytest.mark.parametrize("case", GROUP_CASES, ids=lambda case: case.name)
def test_point_in_time(spark: SparkSession, case: GroupCase) -> None:
    register_events(spark, case)
    cells = [[i, *key, us(seconds)] for i, (key, seconds, _) in enumerate(case.reads)]
    labels = frame(spark, [("label_id", "int"), *case.group.entity, ("ts_us", "int")], cells)
    values = arrow_values(group_values(spark, case.group, labels))
    for i, read in enumerate(case.reads):
        found = {name: values[f"{case.group.name}__{name}"][i].as_py() for name in read[2]}
        assert found == read[2], read[:2]


@pytest.mark.parametrize("case", GROUP_CASES, ids=lambda case: case.name)
def test_snapshot(spark: SparkSession, case: GroupCase) -> None:
    register_events(spark, case)
    for key, seconds, expected in case.reads[3:5]:
        rows = spark.sql(snapshot(case.group, SPARK, us(seconds), case.group.features)).toArrow().to_pylist()
        mine = [row for row in rows if (row["u"],) == key]
        if mine:
            assert {name: mine[0][f"{case.group.name}__{name}"] for name in expected} == expected
        else:
            assert of_no_event(case.group, expected)


def test_records_land_with_their_arrays(spark: SparkSession, tmp_path: Path) -> None:
    """From the bytes of a topic to Parquet and back."""
    records: list[dict[str, Any]] = [
        {"ts": us(0), "u": "a", "i": [1, 2**53 + 1], "d": [0.5, 2], "w": ["é", ""]},
        {"ts": us(1), "u": "b", "i": [], "d": None},
        {"ts": us(2), "u": "c", "i": [1, None]},
        {"ts": us(3), "u": "d", "d": ["0.5"]},
    ]
    payloads = [json.dumps(record).encode() for record in records]
    raw = spark.createDataFrame(
        [(0, offset, 0, payload) for offset, payload in enumerate(payloads)],
        "partition int, offset long, kafka_ts long, value binary",
    )
    history = History(tmp_path, "bare")
    with history.exclusive():
        batch = land_records(raw, bare, history, {0: (0, len(records))})
    assert (batch.rows, batch.rejected) == (2, {"bad_type": 2})
    found = read_history(spark, history, bare).orderBy("ts_us").toArrow().to_pylist()
    assert [(row["i"], row["d"], row["w"]) for row in found] == [
        ([1, 2**53 + 1], [0.5, 2.0], ["é", ""]),
        ([], None, None),
    ]
