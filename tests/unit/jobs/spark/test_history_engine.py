"""How training sets go to Spark and come back, with DuckDB in the place of the session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.history import HistoryRequest, build
from featuredsl.labels import read_labels
from featuredsl.loader import load_definitions
from featuredsl.plan import GroupPlan
from jobs.spark import history

DEFINITIONS = """
from featuredsl import EventSource, feature, feature_group, on_demand

events = EventSource("events", event_time="ts", schema={"user": int, "item": str}, time_unit="s")


@feature_group(name="u", entity="user")
class Users:
    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()

    @on_demand(inputs=["n"], request={"price": float})
    def cost(n: int, price: float) -> float | None:
        return n * price


@feature_group(name="i", entity="item")
class Items:
    @feature(freshness="realtime")
    def user(e: events) -> int:
        return e.latest().user
"""
T0 = 1_767_225_600


class Session:
    """Keeps Arrow tables as they are."""

    def createDataFrame(self, table: pa.Table) -> pa.Table:
        return table


class Frame:
    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def toArrow(self) -> pa.Table:
        return self._table


def test_values_come_back_to_their_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    con = duckdb.connect()
    sent: list[str] = []

    def register(tables: dict[str, Any]) -> None:
        for name, table in tables.items():
            sent.append(name)
            con.register(name, table)

    def group_values(spark: Any, plan: GroupPlan, labels: pa.Table, as_known: bool) -> Frame:
        con.register("labels", labels)
        shuffled = f"SELECT * FROM ({point_in_time(plan, DUCKDB, as_known=as_known)}) ORDER BY hash(label_id)"
        return Frame(con.sql(shuffled).to_arrow_table())

    monkeypatch.setattr(history, "register", register)
    monkeypatch.setattr(history, "group_values", group_values)
    (tmp_path / "defs.py").write_text(DEFINITIONS)
    events = [{"user": 2**53 + i % 3, "item": f"i{i % 5}", "ts": T0 + i} for i in range(60)]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in events))
    labels = [{"user": 2**53 + i % 4, "item": f"i{i % 6}", "price": 2.0, "ts": T0 + i} for i in range(50, 0, -1)]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    request = HistoryRequest(
        load_definitions(tmp_path / "defs.py"),
        {"events": tmp_path / "events.jsonl"},
        read_labels(tmp_path / "labels.jsonl", "s"),
    )
    result, expected = history.compute(Session(), request), build(request)
    assert sent == ["events"]
    assert (result.types, result.loaded) == (expected.types, expected.loaded)
    for row, label in zip(result.rows, labels, strict=True):
        earlier = [event for event in events if event["ts"] < label["ts"]]
        count = sum(event["user"] == label["user"] for event in earlier)
        users = [event["user"] for event in earlier if event["item"] == label["item"]]
        assert row == label | {"u__n": count, "u__cost": 2.0 * count, "i__user": users[-1] if users else None}
    assert result.rows == expected.rows
