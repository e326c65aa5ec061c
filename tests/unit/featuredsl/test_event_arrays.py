"""Array columns of event files: what is loaded and what is refused, for each format."""

from __future__ import annotations

import base64
import json
import math
from pathlib import Path
from typing import Any

import duckdb
import pytest

from featuredsl.errors import InputError
from featuredsl.events import load_events
from featuredsl.sources import EventSource

TS = 1_767_225_600_000
SOURCE = EventSource("events", event_time="ts", schema={"u": str, "i": list[int], "d": list[float], "it's": list[str]})
GOOD: list[tuple[dict[str, Any], tuple[Any, Any, Any]]] = [
    ({"i": [1, 2**53 + 1, -(2**63), 2**63 - 1]}, ([1, 2**53 + 1, -(2**63), 2**63 - 1], None, None)),
    ({"i": [], "d": [], "it's": []}, ([], [], [])),
    ({"i": None, "d": None}, (None, None, None)),
    ({"d": [0.1, 3, -1e-300]}, (None, [0.1, 3.0, -1e-300], None)),
    (
        {"it's": ["", 'a"b\\n', "日本 😀", "null", "1", "[1]"]},
        (None, None, ["", 'a"b\\n', "日本 😀", "null", "1", "[1]"]),
    ),
    ({"unknown": [None]}, (None, None, None)),
]
BAD: list[tuple[dict[str, Any], str]] = [
    ({"i": [1.0]}, "i"),
    ({"i": [1, 1.5]}, "i"),
    ({"i": ["1"]}, "i"),
    ({"i": [True]}, "i"),
    ({"i": [1, None]}, "i"),
    ({"i": [2**63]}, "i"),
    ({"i": [[1]]}, "i"),
    ({"i": {"0": 1}}, "i"),
    ({"i": 1}, "i"),
    ({"i": "[1]"}, "i"),
    ({"d": ["0.5"]}, "d"),
    ({"d": [None]}, "d"),
    ({"d": [0.5, False]}, "d"),
    ({"it's": [1]}, "it's"),
    ({"it's": ["a", None]}, "it's"),
    ({"it's": [["a"]]}, "it's"),
    ({"it's": "a"}, "it's"),
]


def load(path: Path) -> tuple[list[Any], list[dict[str, Any]]]:
    """The loaded rows (without key and time) and the dead letters."""
    letters = path.with_name("rejected.jsonl")
    con = duckdb.connect()
    load_events(con, SOURCE, path, letters)
    rows = con.execute('SELECT i, d, "it\'s" FROM events ORDER BY CAST(u AS BIGINT)').fetchall()
    lines = letters.read_text().splitlines() if letters.exists() else []
    return rows, [json.loads(line) for line in lines]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    records = [{"ts": TS, "u": str(n)} | row for n, (row, _) in enumerate([*GOOD, *BAD])]
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    rows, letters = load(path)
    assert rows == [expected for _, expected in GOOD]
    assert [(letter["reason"], letter["detail"]) for letter in letters] == [("bad_type", name) for _, name in BAD]
    payloads = [json.loads(base64.b64decode(letter["payload"])) for letter in letters]
    assert payloads == records[len(GOOD) :]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_json_lines_without_a_finite_number(tmp_path: Path, number: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(f'{{"ts": {TS}, "u": "0"}}\n{{"ts": {TS}, "u": "1", "d": [0.5, {number}]}}\n')
    rows, letters = load(path)
    assert len(rows) == 1
    assert letters[0]["reason"] in ("bad_json", "bad_type")


def test_csv_holds_arrays_as_json_text(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    cells = [
        '"[1, 2]",[],',
        '[9007199254740993],,"[""a"", ""b""]"',
        "[1.0],,",
        "1,,",
        "no,,",
        "[1,,",
        ",[null],",
        ",,[1]",
    ]
    path.write_text("ts,u,i,d,it's\n" + "".join(f"{TS},{n},{cell}\n" for n, cell in enumerate(cells)))
    rows, letters = load(path)
    assert rows == [([1, 2], [], None), ([2**53 + 1], None, ["a", "b"])]
    assert [letter["detail"] for letter in letters] == ["i", "i", "i", "i", "d", "it's"]


def write_parquet(path: Path, types: str, rows: list[tuple[Any, ...]]) -> None:
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t (ts BIGINT, u VARCHAR, {types})")
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    con.execute(f"COPY t TO '{path}' (FORMAT parquet)")


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    rows = [
        (TS, "0", [1, -5], [0.5, 2.0], ["a", ""]),
        (TS, "1", [], [], []),
        (TS, "2", None, None, None),
        (TS, "3", [1, None], None, None),
        (TS, "4", None, [math.nan], None),
        (TS, "5", None, [0.5, math.inf], None),
        (TS, "6", None, None, [None]),
    ]
    write_parquet(path, 'i INTEGER[], d FLOAT[], "it\'s" VARCHAR[]', rows)
    found, letters = load(path)
    assert found == [([1, -5], [0.5, 2.0], ["a", ""]), ([], [], []), (None, None, None)]
    assert [letter["detail"] for letter in letters] == ["i", "d", "d", "it's"]


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ('i BIGINT, d DOUBLE[], "it\'s" VARCHAR[]', r"'i' should be list\[int\], the file has BIGINT"),
        ('i DOUBLE[], d DOUBLE[], "it\'s" VARCHAR[]', r"'i' should be list\[int\], the file has DOUBLE"),
        ('i BIGINT[][], d DOUBLE[], "it\'s" VARCHAR[]', r"'i' should be list\[int\]"),
        ('i BIGINT[], d VARCHAR[], "it\'s" VARCHAR[]', r"'d' should be list\[float\]"),
    ],
)
def test_parquet_of_other_types_is_refused(tmp_path: Path, types: str, message: str) -> None:
    path = tmp_path / "events.parquet"
    write_parquet(path, types, [(TS, "0", None, None, None)])
    with pytest.raises(InputError, match=message):
        load(path)


def test_a_parquet_list_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "numbers.parquet"
    write_parquet(path, "i BIGINT[], d DOUBLE, x VARCHAR", [(TS, "0", [1], 0.5, "a")])
    source = EventSource("events", event_time="ts", schema={"i": int})
    with pytest.raises(InputError, match=r"'i' should be int, the file has BIGINT\[\]"):
        load_events(duckdb.connect(), source, path, None)
