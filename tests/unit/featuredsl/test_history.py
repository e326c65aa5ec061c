"""Training sets from files on DuckDB: formats, order, types, label columns as given, errors, on-demand features."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from featuredsl.bulk import append, create_table
from featuredsl.cli.main import run
from featuredsl.errors import InputError
from featuredsl.files import replacing
from featuredsl.history import HistoryRequest, HistoryResult, build
from featuredsl.labels import read_labels
from featuredsl.loader import load_definitions

DEFINITIONS = """
from featuredsl import EventSource, feature, feature_group, on_demand

events = EventSource("events", event_time="ts", schema={"user": int, "item": str, "x": float}, time_unit="s")


@feature_group(name="u", entity="user")
class Users:
    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime")
    def item(e: events) -> str:
        return e.latest().item

    @on_demand(inputs=["n"], request={"price": float})
    def cost(n: int, price: float | None) -> float | None:
        return None if price is None else n * price


@feature_group(name="i", entity="item")
class Items:
    @feature(freshness="realtime", window="1h", default=-1.0)
    def total(e: events) -> float:
        return e.x.sum()
"""
T0 = 1_767_225_600  # 2026-01-01T00:00:00Z
BIG = 2**53 + 1
EVENTS = [
    {"user": 1, "item": "a", "x": 0.1, "ts": T0},
    {"user": 1, "item": 'q"é\u2028', "x": 2.5, "ts": T0 + 10},
    {"user": BIG, "item": "a", "x": 4.0, "ts": T0 + 20},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "defs.py").write_text(DEFINITIONS)
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in EVENTS))
    return tmp_path


def history(folder: Path, labels: Path, unit: str = "s") -> HistoryResult:
    files = {"events": folder / "events.jsonl"}
    return build(HistoryRequest(load_definitions(folder / "defs.py"), files, read_labels(labels, unit)))


def parquet(path: Path, query: str) -> Path:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    con.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


def text(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


FEATURES = ["u__n", "u__item", "u__cost", "i__total"]
# Three labels: user 1 after both of its events; 2^53 + 1 after its only one; nobody.
ASKED = [(1, "a", 10.0, T0 + 15), (BIG, "a", None, T0 + 21), (7, "zz", 1.0, T0 + 21)]
EXPECTED = [(2, 'q"é\u2028', 20.0, 0.1), (1, "a", None, 4.1), (0, None, 0.0, -1.0)]


def as_jsonl(path: Path) -> Path:
    rows = [dict(zip(("user", "item", "price", "ts"), row, strict=True)) for row in ASKED]
    return text(path / "labels.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


def as_csv(path: Path) -> Path:
    rows = "".join(f"{u},{i},{'' if p is None else p},{t}\n" for u, i, p, t in ASKED)
    return text(path / "labels.csv", "user,item,price,ts\n" + rows)


def as_parquet(path: Path) -> Path:
    rows = ", ".join(f"({u}, '{i}', {'NULL' if p is None else p}, {t})" for u, i, p, t in ASKED)
    query = f'SELECT u AS "user", i AS item, p::FLOAT AS price, t::INTEGER AS ts FROM (VALUES {rows}) v(u, i, p, t)'
    return parquet(path / "labels.parquet", query)


@pytest.mark.parametrize("source", [as_jsonl, as_csv, as_parquet])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_every_format_into_every_format(folder: Path, source: Callable[[Path], Path], suffix: str) -> None:
    result = history(folder, source(folder))
    out = folder / "deep" / f"out{suffix}"
    result.write(out)
    assert [tuple(row[name] for name in FEATURES) for row in result.rows] == [
        (n, item, cost, pytest.approx(total)) for n, item, cost, total in EXPECTED
    ]
    if suffix == ".jsonl":
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").split("\n")[:-1]]
    elif suffix == ".csv":
        with out.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    else:
        found = duckdb.connect().execute(f"SELECT * FROM '{out}'")
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    assert [list(row) for row in rows] == [["user", "item", "price", "ts", *FEATURES]] * 3
    shown = {"": None, None: None}
    for row, asked, (n, item, cost, total) in zip(rows, ASKED, EXPECTED, strict=True):
        assert (int(row["user"]), row["item"], int(row["ts"])) == (asked[0], asked[1], asked[3])
        assert int(row["u__n"]) == n
        assert shown.get(row["u__item"], row["u__item"]) == item
        assert shown.get(row["u__cost"], row["u__cost"]) == (
            cost if cost is None else pytest.approx(cost) if suffix != ".csv" else str(cost)
        )
        assert float(row["i__total"]) == pytest.approx(total)


def test_parquet_keeps_the_types_of_labels(folder: Path) -> None:
    labels = parquet(
        folder / "labels.parquet",
        "SELECT 1::SMALLINT AS \"user\", 'a' AS item, 1.5::DOUBLE AS price, DATE '2026-01-02' AS day, [1, 2] AS l, "
        f"3.25::DECIMAL(9, 2) AS d, to_timestamp({T0 + 15}) AS ts, 5 AS label_id, 6 AS id",
    )
    history(folder, labels).write(folder / "out.parquet")
    con = duckdb.connect()
    given = con.execute(f"DESCRIBE SELECT * FROM '{labels}'").fetchall()
    found = con.execute(f"DESCRIBE SELECT * FROM '{folder / 'out.parquet'}'").fetchall()
    assert found[: len(given)] == given
    kinds = [("u__n", "BIGINT"), ("u__item", "VARCHAR"), ("u__cost", "DOUBLE"), ("i__total", "DOUBLE")]
    assert [row[:2] for row in found[len(given) :]] == kinds
    con.execute("SET TimeZone = 'UTC'")
    row = con.execute(f"SELECT * FROM '{folder / 'out.parquet'}'").fetchone()
    assert row[3:5] == (datetime(2026, 1, 2).date(), [1, 2])  # noqa: DTZ001
    assert row[6].astimezone(UTC) == datetime(2026, 1, 1, 0, 0, 15, tzinfo=UTC)
    assert row[7:] == (5, 6, 2, 'q"é\u2028', 3.0, 0.1)


def test_times_of_parquet_are_printed_as_iso(folder: Path) -> None:
    query = f"SELECT 1 AS \"user\", 'a' AS item, 1.5::DOUBLE AS price, 'nan'::DOUBLE AS other, to_timestamp({T0}) AS ts"
    result = history(folder, parquet(folder / "labels.parquet", query))
    result.write(folder / "out.jsonl")
    row = json.loads((folder / "out.jsonl").read_text())
    assert (row["ts"], row["other"]) == ("2026-01-01T00:00:00.000000Z", None)
    result.write(folder / "out.csv")
    assert "2026-01-01T00:00:00.000000Z" in (folder / "out.csv").read_text()


def test_json_lines_are_kept_as_given(folder: Path) -> None:
    given = [
        '{"user": 1, "item": "a", "price": 1, "ts": 1767225615, "deep": {"b": [1, 2.50]}, "z": 123456789012345678901}',
        '{ "item":"a\\u00e9", "user":2,"price":null,"ts":"2026-01-01T01:00:15.5+01:00" , "only here": true }  ',
    ]
    labels = text(folder / "labels.jsonl", "\n".join(["", given[0], "   ", given[1]]))
    result = history(folder, labels)
    result.write(folder / "out.jsonl")
    lines = (folder / "out.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    assert len(lines) == 2
    for line, before in zip(lines, given, strict=True):
        assert line.startswith(before.strip()[:-1].strip() + ", ")
        assert list(json.loads(line))[-4:] == FEATURES
    assert [json.loads(line)["u__n"] for line in lines] == [2, 0]
    result.write(folder / "out.parquet")
    rows = duckdb.connect().execute(f"SELECT \"only here\", deep FROM '{folder / 'out.parquet'}'").fetchall()
    assert rows[0] == (None, '{"b":[1,2.5]}')
    assert rows[1] == (True, None)


TIMES = [
    (T0 + 15, "s", 2),
    ("2026-01-01T00:00:15Z", "s", 2),
    ("2026-01-01 00:00:15.000000+00:00", "ms", 2),
    ("2026-01-01T05:45:15+05:45", "ms", 2),
    ("20260101T000015Z", "ms", 2),
    ("2026-01-01T00:00:10.000001Z", "ms", 2),
    ("2026-01-01T00:00:10.0000009Z", "ms", 1),
    ("2026-01-01T00:00:10Z", "ms", 1),
    (str(T0 * 1000 + 10_001), "ms", 2),
    (T0 * 1_000_000 + 10_001_000, "us", 2),
]


@pytest.mark.parametrize(("ts", "unit", "count"), TIMES)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_times(folder: Path, ts: Any, unit: str, count: int, suffix: str) -> None:
    labels = folder / f"labels{suffix}"
    if suffix == ".jsonl":
        text(labels, json.dumps({"user": 1, "item": "a", "price": 1, "ts": ts}))
    elif suffix == ".csv":
        text(labels, f"user,item,price,ts\n1,a,1,{ts}\n")
    else:
        value = f"'{ts}'" if isinstance(ts, str) else f"{ts}::BIGINT"
        parquet(labels, f"SELECT 1 AS \"user\", 'a' AS item, 1.0 AS price, {value} AS ts".replace("1.0", "1.0::DOUBLE"))
    result = history(folder, labels, unit)
    assert [row["u__n"] for row in result.rows] == [count]
    assert [str(row["ts"]) for row in result.rows] == [str(ts)]


GOOD = '{"user": 1, "item": "a", "price": 1, "ts": 1767225615}\n'
BAD = [
    ("labels.jsonl", GOOD + "{oops\n", "line 2 is not JSON"),
    ("labels.jsonl", GOOD + "\n[1]\n", "line 3 is not a JSON object"),
    ("labels.jsonl", "\n", "holds no label"),
    ("labels.jsonl", GOOD + '{"user": 1, "item": "a", "price": 1}', "row 2: ts is None"),
    ("labels.jsonl", GOOD + '{"user": 1, "item": "a", "price": 1, "ts": true}', "row 2: ts is True"),
    ("labels.jsonl", GOOD + '{"user": 1, "item": "a", "price": 1, "ts": 1.5}', "row 2: ts is 1.5"),
    ("labels.jsonl", '{"user": 1, "item": "a", "price": 1, "ts": "2026-01-01T00:00:00"}', "has no zone"),
    ("labels.jsonl", '{"user": 1, "item": "a", "price": 1, "ts": "soon"}', "neither ISO 8601"),
    (
        "labels.jsonl",
        '{"user": 1, "item": "a", "price": 1, "ts": 9223372036854775807}',
        "outside 1980 to 2100 in unit 's'",
    ),
    ("labels.jsonl", GOOD + '{"item": "a", "price": 1, "ts": 1767225615}', "row 2 has no column 'user'; it has item"),
    ("labels.jsonl", '{"user": 1.0, "item": "a", "price": 1, "ts": 1767225615}', "user is 1.0, not int"),
    ("labels.jsonl", '{"user": 1, "item": 5, "price": 1, "ts": 1767225615}', "item is 5, not str"),
    ("labels.jsonl", '{"user": 9223372036854775808, "item": "a", "price": 1, "ts": 1767225615}', "64 bits"),
    ("labels.jsonl", '{"user": 1, "item": "a", "price": "x", "ts": 1767225615}', "price is 'x', not float"),
    ("labels.jsonl", '{"user": 1, "item": "a", "price": 1, "ts": 1767225615, "u__n": 3}', "name of a feature"),
    ("labels.csv", "user,item,price,ts\n1,a,1,1767225615\nx,a,1,1767225615\n", "row 2: user is 'x', not int"),
    ("labels.csv", "user,item,price\n1,a,1\n", "row 1: ts is None"),
    ("labels.csv", "user,item,price,ts\n", "holds no label"),
    ("labels.csv", "user,item,price,ts\n1,a,1,1767225615\n1,a,1\n", "labels.csv, line 3 cannot be read"),
    ("labels.csv", "user,user,price,ts\n1,a,1,1767225615\n", "a column twice"),
    ("labels.txt", "", "is none of .jsonl, .csv, .parquet"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_bad_labels(folder: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        history(folder, text(folder / name, content)).write(folder / "out.jsonl")
    assert message in str(refused.value)
    assert not (folder / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1 AS \"user\", 'a' AS item, 1.0::DOUBLE AS price, TIMESTAMP '2026-01-01' AS ts", "has no zone"),
        ("SELECT 1 AS \"user\", 'a' AS item, 1.0::DOUBLE AS price, DATE '2026-01-01' AS ts", "ts is datetime.date"),
        ("SELECT 1 AS \"user\", 'a' AS item, 1.0::DOUBLE AS price, NULL::TIMESTAMPTZ AS ts", "ts is None"),
        (f"SELECT 1.5::DOUBLE AS \"user\", 'a' AS item, 1.0::DOUBLE AS price, {T0} AS ts", "user is 1.5, not int"),
        (f"SELECT 'a' AS item, 1.0::DOUBLE AS price, {T0} AS ts", "no column 'user'; it has item, price, ts"),
    ],
)
def test_bad_parquet_labels(folder: Path, query: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        history(folder, parquet(folder / "labels.parquet", query))
    assert message in str(refused.value)


def test_irregular_cells_keep_their_meaning(folder: Path) -> None:
    labels = text(
        folder / "labels.csv", f"user,item,price,ts\n 1 ,a,1e1,{T0 + 15}\n,a,,{T0 + 15}\n1_0,a, .5,{T0 + 15}\n"
    )
    rows = history(folder, labels).rows
    assert [row["u__n"] for row in rows] == [2, 0, 0]
    assert [row["u__cost"] for row in rows] == [20.0, None, 0.0]
    assert [row["user"] for row in rows] == [" 1 ", "", "1_0"]


def test_order_and_duplicates_of_many_labels(folder: Path) -> None:
    count = 50_000
    asked = [(i * 7919) % count for i in range(count)]
    rows = (f'{{"user": {1 if n % 2 else 2}, "item": "a", "price": {n}, "ts": {T0 + n % 3 * 100}}}\n' for n in asked)
    result = history(folder, text(folder / "labels.jsonl", "".join(rows)))
    result.write(folder / "out.parquet")
    out = duckdb.connect().execute(f"SELECT price, u__n, u__cost FROM '{folder / 'out.parquet'}'").fetchall()
    counts = [2 if n % 2 and n % 3 else 0 for n in asked]
    assert out == [(n, c, float(c * n)) for n, c in zip(asked, counts, strict=True)]


def arguments(folder: Path, out: Path) -> list[str]:
    files = ["--events", f"events={folder / 'events.jsonl'}", "--labels", str(as_jsonl(folder))]
    return ["history", str(folder / "defs.py"), *files, "--label-unit", "s", "--out", str(out)]


def test_command_writes_and_tells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (folder / "events.jsonl").open("a") as file:
        file.write('{"ts": "never"}\n')
    out = folder / "out.jsonl"
    assert run(arguments(folder, out)) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "3 events, 1 rejected" in said.err.replace("\n", " ")
    assert "3 rows, 4 features" in said.err
    assert len(out.read_text(encoding="utf-8").split("\n")) == 4
    (reject,) = (folder / "out.jsonl.rejected.jsonl").read_text().splitlines()
    assert json.loads(reject)["reason"] == "bad_time"


def test_interrupted_command_leaves_the_files_of_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = folder / "out.jsonl"
    out.write_text("before")
    with (folder / "events.jsonl").open("a") as file:
        file.write('{"ts": "never"}\n')

    def interrupt(self: HistoryResult, path: Path) -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    monkeypatch.setattr(HistoryResult, "write", interrupt)
    asked = arguments(folder, out)
    before = set(folder.iterdir())
    assert run(asked) == 130
    assert out.read_text() == "before"
    assert set(folder.iterdir()) == before


ENDLESS = """
import sys
from featuredsl.cli.main import run
from featuredsl.history import HistoryResult

def write(self, path):
    print("querying", flush=True)
    self.labels.con.execute("SELECT COUNT(*) FROM range(3000000) a(i), range(3000000) b(j) WHERE i * j % 7 = 3")

HistoryResult.write = write
sys.exit(run(sys.argv[1:]))
"""


def test_ctrl_c_during_a_query_ends_with_130(folder: Path) -> None:
    out = folder / "out.jsonl"
    asked = arguments(folder, out)
    before = set(folder.iterdir())
    command = [sys.executable, "-c", ENDLESS, *asked]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, said
    assert said.strip() == "interrupted"
    assert {path for path in folder.iterdir() if path.name != "__pycache__"} == before


def test_bulk_values_are_exact() -> None:
    con = duckdb.connect()
    types = {"a": "BIGINT", 'b"': "DOUBLE", "c": "VARCHAR", "d": "BOOLEAN", "e": "BIGINT[]"}
    create_table(con, "t", types)
    columns = [[BIG, -(2**63), None], [0.1, None, -0.0], ["", None, "é'\u2028"], [True, False, None], [[1], [], None]]
    append(con, "t", types, columns)
    append(con, "t", types, [[], [], [], [], []])
    append(con, "t", types, [[None], [None], [None], [None], [None]])
    rows = con.execute("SELECT * FROM t").fetchall()
    assert rows == [*zip(*columns, strict=True), (None,) * 5]
