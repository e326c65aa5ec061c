"""The conformance cases and the history command's engine on Spark, all in one session."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from featuredsl.compilers.scalar import SPARK
from featuredsl.compilers.snapshot import snapshot
from featuredsl.history import HistoryRequest, build
from featuredsl.labels import read_labels
from featuredsl.loader import load_definitions
from featuredsl.parity import LoggedRead, equal
from featuredsl.sources import EventSource
from jobs.spark.history import compute
from jobs.spark.parity import offline_values
from jobs.spark.point_in_time import ARROW_TYPES, arrow_values, group_values, register
from tests.conformance.cases import CASES, Case, Row, us
from tests.conformance.test_snapshot import of_no_event

DEFINITIONS = Path(__file__).parents[3] / "examples" / "open_bandit" / "definitions.py"


def table(columns: list[tuple[str, Any]], rows: list[list[Any]]) -> pa.Table:
    """An Arrow table of typed columns."""
    return pa.table({n: pa.array([row[i] for row in rows], ARROW_TYPES[t]) for i, (n, t) in enumerate(columns)})


def register_events(spark: SparkSession, case: Case) -> None:
    """Views of the case's sources."""

    def view(source: EventSource, rows: Any) -> pa.Table:
        cells = [[*(row.get(name) for name in source.column_names), us(at)] for at, row in rows]
        return table([*source.columns, ("ts_us", "int")], cells)

    tables = {source.name: view(source, case.events[source.name]) for source in case.group.sources}
    register({name: spark.createDataFrame(events) for name, events in tables.items()})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_point_in_time(local_spark: SparkSession, case: Case) -> None:
    register_events(local_spark, case)
    cells = [[i, *key, us(seconds)] for i, (key, seconds, _) in enumerate(case.reads)]
    labels = local_spark.createDataFrame(table([("label_id", "int"), *case.group.entity, ("ts_us", "int")], cells))
    values = arrow_values(group_values(local_spark, case.group, labels))
    for i, (key, seconds, expected) in enumerate(case.reads):
        found = {name: values[f"{case.group.name}__{name}"][i].as_py() for name in expected}
        assert found == expected, (key, seconds)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_snapshot(local_spark: SparkSession, case: Case) -> None:
    register_events(local_spark, case)
    key, seconds, expected = case.reads[0]
    rows = local_spark.sql(snapshot(case.group, SPARK, us(seconds), case.group.features)).collect()
    names = [name for name, _ in case.group.entity]
    mine = [row.asDict() for row in rows if tuple(row[name] for name in names) == key]
    if mine:
        assert {name: mine[0][f"{case.group.name}__{name}"] for name in expected} == expected
    else:
        assert of_no_event(case.group, expected)


def test_offline_side_of_parity(local_spark: SparkSession) -> None:
    case = next(case for case in CASES if case.group.name == "tiers")
    register_events(local_spark, case)
    reads = [LoggedRead(us(seconds), "tiers", key, {}, {}) for key, seconds, _ in reversed(case.reads)]
    found = offline_values(local_spark, {"tiers": case.group}, reads)
    for values, (_, _, expected) in zip(found, reversed(case.reads), strict=True):
        assert {name: values[name] for name in expected} == expected
        assert set(values) == set(case.group.feature_names)


def exposures(rng: random.Random, count: int) -> list[Row]:
    """Events of nine days; half of them of one segment."""
    rows = []
    for number in range(count):
        segment = "s0" if rng.random() < 0.5 else f"s{rng.randrange(30)}"
        ts = 1_790_000_000_000 + rng.randrange(9 * 86_400_000)
        item = str(rng.randrange(20))
        row = {"event_id": str(number), "slot_id": "1", "segment": segment, "item_id": item, "policy": "p"}
        rows.append((0.0, row | {"position": "1", "affinity": rng.random(), "ts": ts}))
    return rows


def test_history_on_spark_equals_duckdb(local_spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(7)
    shown = [row for _, row in exposures(rng, 3000)]
    clicked = [row | {"ts": row["ts"] + 5000} for row in shown if rng.random() < 0.1]
    files = {"exposures": tmp_path / "exposures.jsonl", "clicks": tmp_path / "clicks.jsonl"}
    for name, rows in (("exposures", shown), ("clicks", clicked)):
        files[name].write_text("\n".join([*(json.dumps(row) for row in rows), '{"ts": "never"}', "{"]) + "\n")
    labels = tmp_path / "labels.jsonl"
    asked = [{"segment": r["segment"], "item_id": r["item_id"], "ts": r["ts"], "affinity": 0.5} for r in shown[:400]]
    labels.write_text("\n".join(json.dumps(row) for row in asked) + "\n")
    request = HistoryRequest(load_definitions(DEFINITIONS), files, read_labels(labels, "ms"))
    on_spark, on_duckdb = compute(local_spark, request), build(request)
    assert on_spark.loaded == on_duckdb.loaded
    assert on_spark.types == on_duckdb.types
    assert on_spark.loaded[0].rejected == 2
    wrong = [
        (i, name, mine[name], theirs[name])
        for i, (mine, theirs) in enumerate(zip(on_spark.rows, on_duckdb.rows, strict=True))
        for name, dtype in on_spark.types.items()
        if not equal(mine[name], theirs[name], dtype)
    ]
    assert wrong == []
    assert sum(row["segment__views_24h"] > 0 for row in on_spark.rows) > 300
