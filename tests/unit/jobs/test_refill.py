"""Landed rows as records again, and what neither the topic nor the history holds."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from featuredsl import EventSource
from jobs.landed import Batch, History
from jobs.refill import Wanted, _gaps, _rows, as_record
from jobs.spark.decode import decode

SOURCE = EventSource(
    "events",
    event_time="ts",
    arrival_time="at",
    schema={"u": str, "n": int, "x": float, "b": bool, "v": list[float], "w": list[str]},
)
ROWS: list[dict[str, object]] = [
    {"u": "a", "n": 2**53 + 1, "x": 0.1, "b": False, "v": [1.5, -0.0], "w": ["", "\u00e9\U0001f600"]},
    {"u": 'quote" and \\', "n": -(2**63), "x": 5e-324, "b": True, "v": [], "w": []},
    {"u": "nulls", "n": None, "x": None, "b": None, "v": None, "w": None},
    {"u": "", "n": 0, "x": 1.7976931348623157e308, "b": None, "v": [0.1], "w": ["x"]},
]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("ts_us", [1_700_000_000_000_000, 1_700_000_000_123_456, 1_700_000_000_123_000])
def test_a_record_decodes_to_the_row(row: dict[str, object], ts_us: int) -> None:
    found = decode(SOURCE, as_record(SOURCE, {**row, "ts_us": ts_us, "arrival_us": 1_700_000_001_000_000}))
    assert found.reject is None
    assert dict(zip(SOURCE.column_names, found.values, strict=True)) == row
    assert (found.ts_us, found.arrival_us) == (ts_us, 1_700_000_001_000_000)


def test_text_takes_no_more_bytes_than_it_came_with() -> None:
    source = EventSource("e", event_time="ts", schema={"u": str})
    assert len(as_record(source, {"u": "\u6f22" * 1000, "ts_us": 1_700_000_000_000_000})) < 3_100


def test_seconds_stay_seconds() -> None:
    source = EventSource("e", event_time="when", schema={"u": str}, time_unit="s")
    assert as_record(source, {"u": "a", "ts_us": 1_700_000_000_000_000}) == b'{"u": "a", "when": 1700000000}'
    assert b"2023-11-14T22:13:20.500000Z" in as_record(source, {"u": "a", "ts_us": 1_700_000_000_500_000})


def landed(history: History, ranges: dict[str, tuple[int, int]], table: pa.Table | None = None) -> None:
    batch = Batch(history.topic, ranges, 0 if table is None else table.num_rows, 0)
    staging = history.data / f"{batch.name}.staging"
    if table is not None:
        (staging / "event_date=2023-11-14").mkdir(parents=True)
        pq.write_table(table, staging / "event_date=2023-11-14" / "part.parquet")
    history.commit(batch, staging)


@pytest.fixture
def history(tmp_path: Path) -> History:
    history = History(tmp_path, "events")
    with history.exclusive():
        return history


def test_gaps_before_the_first_offset(history: History) -> None:
    assert list(_gaps(history, 0, 0)) == []
    assert list(_gaps(history, 0, 4)) == [(0, 4)]
    landed(history, {"0": (2, 5), "1": (0, 9)})
    landed(history, {"0": (7, 9)})
    assert list(_gaps(history, 0, 1)) == [(0, 1)]
    assert list(_gaps(history, 0, 5)) == [(0, 2)]
    assert list(_gaps(history, 0, 8)) == [(0, 2), (5, 7)]
    assert list(_gaps(history, 0, 12)) == [(0, 2), (5, 7), (9, 12)]
    assert list(_gaps(history, 1, 9)) == []
    assert list(_gaps(history, 2, 3)) == [(0, 3)]


def test_rows_before_an_offset_in_order_also_of_files_before_a_column_was_added(
    history: History,
) -> None:
    source = EventSource("e", event_time="ts", schema={"u": str, "n": int}, arrival_time="at")
    columns = {"_partition": [0, 0, 1], "_offset": [3, 1, 0], "_kafka_ts": [30, 10, 99], "ts_us": [3, 1, 9]}
    old = pa.table({"u": ["c", "a", "z"], **columns, "arrival_us": pa.array([None, 7, None], pa.int64())})
    new = pa.table({"u": ["b", "d"], "n": [2, 4], "_partition": [0, 0], "_offset": [2, 4], "_kafka_ts": [20, 40],
                    "ts_us": [2, 4], "arrival_us": [8, 9]})  # fmt: skip
    landed(history, {"0": (0, 2), "1": (0, 1)}, old)
    landed(history, {"0": (2, 5)}, new)
    every = Wanted(source, None)
    found = list(_rows(history.paths(), every, 0, (0, 4)))
    assert [(row["u"], row["n"], row["ts_us"], row["arrival_us"]) for row in found] == [
        ("a", None, 1, 7),
        ("b", 2, 2, 8),
        ("c", None, 3, 30_000),
    ]
    assert [row["u"] for row in _rows(history.paths(), every, 1, (0, 4))] == ["z"]
    assert [row["u"] for row in _rows(history.paths(), every, 0, (2, 4))] == ["b", "c"]
    # 9 is the newest landed time: 6 back from it is 3
    assert [row["u"] for row in _rows(history.paths(), Wanted(source, 6), 0, (0, 9))] == ["c", "d"]


def test_an_event_ahead_of_its_record_does_not_say_what_is_recent(history: History) -> None:
    at = 1_700_000_000_000_000
    times = [at - 7, at - 6, at, at + 60_000_000, at + 60_000_001, at + 365 * 86_400_000_000]
    table = pa.table({"u": list("abcdef"), "_partition": [0] * 6, "_offset": range(6), "_kafka_ts": [at // 1000] * 6,
                      "ts_us": times, "arrival_us": pa.nulls(6, pa.int64())})  # fmt: skip
    landed(history, {"0": (0, 6)}, table)
    source = EventSource("e", event_time="ts", schema={"u": str})
    for reach_us, first in ((60_000_006, "b"), (60_000_000, "c"), (59_999_999, "d")):
        found = [row["u"] for row in _rows(history.paths(), Wanted(source, reach_us), 0, (0, 6))]
        assert found == list("abcdef"["abcdef".index(first) :])


def test_the_first_landing_begins_where_the_topic_does(history: History) -> None:
    assert history.pending({0: 9, 1: 5, 2: 3}, {0: 4, 1: 5, 2: 0}) == {0: (4, 9), 2: (0, 3)}
    landed(history, {"0": (4, 9), "2": (0, 3)})
    assert history.pending({0: 12, 1: 8, 2: 3}, {0: 6, 1: 5, 2: 1}) == {0: (9, 12), 1: (5, 8)}
    assert list(_gaps(history, 0, 6)) == [(0, 4)]
