"""`history` on files: arrival times, restatements, tables, unions, units. Values worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from featuredsl.cli.history import history
from featuredsl.errors import InputError

DEFINITIONS = """
from featuredsl import EventSource, TableSource, feature, feature_group, union

clicks = EventSource(
    "clicks", event_time="ts", arrival_time="at", schema={"u": str, "item": str, "v": int}, unique=("u", "item", "v")
)
views = EventSource("views", event_time="when", schema={"u": str, "item": str, "v": int}, time_unit="s")
items = TableSource("items", key="item", valid_from="since", schema={"item": str, "price": float}, time_unit="s")
both = union("both", clicks, views)


@feature_group(name="g", entity="u")
class G:
    @feature(freshness="realtime")
    def last(c: clicks) -> int:
        return c.latest().v

    @feature(freshness="realtime", window="6h")
    def n(e: both) -> int:
        return e.count()

    @feature(freshness="realtime", window="6h")
    def spend(e: both) -> float:
        return e.join(items).price.sum()
"""
DAY = 1_767_225_600  # 2026-01-01


def at(hour: float) -> int:
    return int((DAY + hour * 3600) * 1000)


def click(event: float, arrived: float, v: int, item: str = "p") -> dict[str, Any]:
    return {"u": "a", "item": item, "v": v, "ts": at(event), "at": at(arrived)}


CLICKS = [click(9, 9.1, 1), click(9, 12, 2), click(9, 12, 2), click(10, 10, 3, "q")]
VIEWS = [{"u": "a", "item": "p", "v": 0, "when": at(9.5) // 1000}]
ITEMS = [
    {"item": "p", "price": 2.5, "since": at(0) // 1000},
    {"item": "p", "price": 4.0, "since": at(9.5) // 1000},
    {"item": "q", "price": 8.0, "since": "2026-01-01T10:00:00+00:00"},
]
LABELS = [{"u": "a", "ts": at(hour)} for hour in (9.05, 9.6, 11, 13)]


class Folder:
    """Files of one test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "defs.py").write_text(DEFINITIONS)
        self.files = {
            "clicks": self.lines("clicks", CLICKS),
            "views": self.lines("views", VIEWS),
            "items": self.lines("items", ITEMS),
        }
        self.labels = self.lines("labels", LABELS)

    def lines(self, name: str, rows: Sequence[dict[str, Any]]) -> Path:
        path = self.path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def run(self, *options: str) -> list[dict[str, Any]]:
        arguments = [str(self.path / "defs.py"), "--labels", str(self.labels), "--out", str(self.path / "out.jsonl")]
        for name, file in self.files.items():
            arguments += ["--events", f"{name}={file}"]
        result = CliRunner().invoke(history, [*arguments, *options])
        if result.exception is not None:
            raise result.exception
        return [json.loads(line) for line in (self.path / "out.jsonl").read_text().splitlines()]

    def rejected(self) -> list[tuple[str, str | None]]:
        path = self.path / "out.jsonl.rejected.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(line["reason"], line["detail"]) for line in map(json.loads, lines)]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def column(rows: Sequence[dict[str, Any]], name: str) -> list[Any]:
    return [row[f"g__{name}"] for row in rows]


def test_as_known(folder: Folder) -> None:
    rows = folder.run()
    assert column(rows, "last") == [None, 1, 3, 3]
    assert column(rows, "n") == [0, 2, 3, 4]
    assert column(rows, "spend") == [None, 6.5, 14.5, 17.0]
    assert folder.rejected() == []


def test_no_as_known_counts_from_the_event_time(folder: Folder) -> None:
    rows = folder.run("--no-as-known")
    assert column(rows, "last") == [2, 2, 3, 3]
    assert column(rows, "n") == [2, 3, 4, 4]


def test_as_of_gives_the_same_rows_after_a_restatement(folder: Folder) -> None:
    before = folder.run("--as-of", "2026-01-01T11:00:00Z")
    text = (folder.path / "out.jsonl").read_bytes()
    assert column(before, "last") == [None, 1, 3, 3]
    assert column(before, "n") == [0, 2, 3, 3]
    folder.lines("clicks", [*CLICKS, click(9, 30, 99), click(9, 30, 1), click(8, 31, 5)])
    folder.run("--as-of", "2026-01-01T11:00:00Z")
    assert (folder.path / "out.jsonl").read_bytes() == text
    assert column(folder.run("--as-of", str(at(11))), "last") == [None, 1, 3, 3]
    assert column(folder.run("--no-as-known"), "last") == [99, 99, 3, 3]


def test_as_of_takes_the_event_time_where_there_is_no_arrival(folder: Folder) -> None:
    rows = folder.run("--as-of", "2026-01-01T09:29:59Z")
    assert column(rows, "n") == [0, 1, 1, 1]
    assert column(rows, "spend") == [None, 2.5, 2.5, 2.5]


def test_a_record_without_a_usable_arrival_is_rejected(folder: Folder) -> None:
    bad = [{**CLICKS[0], "at": value} for value in (None, at(9) // 1000, "2026-01-01T09:00:00", 1.5)]
    missing = {name: value for name, value in CLICKS[0].items() if name != "at"}
    folder.lines("clicks", [*CLICKS, *bad, missing])
    assert column(folder.run(), "n") == [0, 2, 3, 4]
    assert folder.rejected() == [
        ("bad_time", "at: found None; a time is ISO 8601 with a zone, or an integer in ms"),
        ("bad_time", "at: found 1767258000; in unit 's' it would fit"),
        ("bad_time", "at: found '2026-01-01T09:00:00'; a time is ISO 8601 with a zone, or an integer in ms"),
        ("bad_time", "at: found 1.5; a time is ISO 8601 with a zone, or an integer in ms"),
        ("bad_time", "at: found None; a time is ISO 8601 with a zone, or an integer in ms"),
    ]


def test_an_arrival_in_another_unit_is_refused_naming_the_unit(folder: Folder) -> None:
    folder.lines("clicks", [{**row, "at": row["at"] // 1000} for row in CLICKS])
    with pytest.raises(InputError, match=r"'at' \(unit ms\).*in unit 's' it would fit: set time_unit='s'"):
        folder.run()


def test_a_valid_from_in_another_unit_is_refused_naming_the_unit(folder: Folder) -> None:
    folder.lines("items", [{"item": "p", "price": 1.0, "since": at(0)}])
    with pytest.raises(InputError, match=r"'since' \(unit s\).*in unit 'ms' it would fit"):
        folder.run()


def test_labels_in_another_unit_are_refused_naming_the_unit(folder: Folder) -> None:
    folder.lines("labels", [{"u": "a", "ts": at(9)}, {"u": "a", "ts": at(9) // 1000}])
    with pytest.raises(InputError, match=r"row 2: ts is 1767258000, outside 1980 to 2100 in unit 'ms'; in unit 's'"):
        folder.run()
    folder.lines("labels", [{"u": "a", "ts": str(at(9) * 1000)}])
    with pytest.raises(InputError, match="use --label-unit us"):
        folder.run()


def test_csv_without_a_column(folder: Folder) -> None:
    folder.files["items"] = folder.path / "items.csv"
    folder.files["items"].write_text("item,price,sinc\np,1.0,1767225600\n")
    with pytest.raises(InputError, match=r"column 'since' is not in 'items.csv'; .*Did you mean 'sinc'"):
        folder.run()


@pytest.mark.parametrize("second", ["price", "Price"])
def test_csv_with_a_column_twice(folder: Folder, second: str) -> None:
    folder.files["items"] = folder.path / "items.csv"
    folder.files["items"].write_text(f"item,price,since,{second}\np,1.0,1767225600,2.0\n")
    with pytest.raises(InputError, match=f"items.csv: the header has column '{second}' twice"):
        folder.run()


def test_a_table_needs_a_file(folder: Folder) -> None:
    del folder.files["items"]
    with pytest.raises(InputError, match="no file for source 'items': add --events items=FILE"):
        folder.run()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_other_formats(folder: Folder, suffix: str) -> None:
    expected = folder.run()
    folder.lines("items", [*ITEMS[:2], {**ITEMS[2], "since": at(10) // 1000}])
    for name in ("clicks", "items"):
        source = folder.files[name]
        folder.files[name] = source.with_suffix(suffix)
        query = f"SELECT * FROM read_json('{source}', format = 'newline_delimited', auto_detect = true)"
        duckdb.sql(query).write_csv(str(folder.files[name])) if suffix == ".csv" else duckdb.sql(query).write_parquet(
            str(folder.files[name])
        )
    assert folder.run() == expected


@pytest.mark.parametrize(
    ("kind", "problem"),
    [("TIMESTAMP", "'at' is TIMESTAMP, without a zone"), (None, "no time column 'at'"), ("DOUBLE", "'at' is DOUBLE")],
)
def test_parquet_arrival_of_the_wrong_type(folder: Folder, kind: str | None, problem: str) -> None:
    arrival = f", CAST(NULL AS {kind}) AS at" if kind else ""
    path = folder.path / "clicks.parquet"
    duckdb.sql(f"SELECT 'a' AS u, 'p' AS item, 1 AS v, {at(9)} AS ts{arrival}").write_parquet(str(path))
    folder.files["clicks"] = path
    with pytest.raises(InputError, match=problem):
        folder.run()


def test_parquet_times_with_a_zone(folder: Folder) -> None:
    rows = ", ".join(f"('a', '{r['item']}', {r['v']}, {r['ts']}, {r['at']})" for r in CLICKS)
    path = folder.path / "clicks.parquet"
    zoned = 'make_timestamptz(seen * 1000) AS "at"'
    duckdb.sql(f"SELECT u, item, v, ts, {zoned} FROM (VALUES {rows}) c(u, item, v, ts, seen)").write_parquet(str(path))
    expected = folder.run()
    folder.files["clicks"] = path
    assert folder.run() == expected
