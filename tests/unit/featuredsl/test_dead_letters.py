"""Dead letters of event files: every record that cannot be used, with its line, reason and bytes; the others count."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from featuredsl import EventSource, TableSource, feature, feature_group
from featuredsl.events import Loaded
from featuredsl.history import HistoryRequest, HistoryResult, build
from featuredsl.labels import read_labels
from featuredsl.plan import GroupPlan
from tests.conformance.cases import plan_of

T = 1_767_225_600_000
clicks = EventSource("clicks", event_time="ts", schema={"u": str, "m": int, "x": float, "ok": bool})
numbered = EventSource("clicks", event_time="ts", schema={"u": str, "rowid": int})
names = TableSource("names", key="u", valid_from="ts", schema={"u": str, "name": str})


@feature_group(name="g", entity="u")
class ByUser:
    """Counts and a mean, so that a row that counts is told from one that is read as nothing."""

    @feature(freshness="realtime", window="1h")
    def n(e: clicks) -> int:
        return e.count()

    @feature(freshness="realtime", window="1h")
    def total(e: clicks) -> float:
        return e.x.sum()

    @feature(freshness="realtime")
    def last(e: clicks) -> int:
        return e.latest().m

    @feature(freshness="realtime", window="1h")
    def often(e: clicks) -> list[int]:
        return e.m.top_k(2)


@feature_group(name="p", entity=("u", "m"))
class ByPair:
    """A composite entity over the same source."""

    @feature(freshness="realtime", window="1h")
    def n(e: clicks) -> int:
        return e.count()


@feature_group(name="named", entity="u")
class Named:
    """A joined table."""

    @feature(freshness="realtime")
    def name(e: clicks) -> str:
        return e.join(names).latest().name


@feature_group(name="r", entity="u")
class RowIds:
    """A column with the name of DuckDB's row number."""

    @feature(freshness="realtime", window="1h")
    def total(e: numbered) -> int:
        return e.rowid.sum()


A_TIME = "a time is ISO 8601 with a zone, or an integer in ms"


class Files:
    """Events and labels in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.labels(json.dumps({"u": "a", "m": 1, "ts": T + 60_000}))

    def labels(self, *lines: str) -> None:
        (self.folder / "labels.jsonl").write_text("\n".join(lines) + "\n")

    def build(self, file: str, content: bytes | str, *groups: type, **other: Path) -> HistoryResult:
        path = self.folder / file
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif path.suffix == ".parquet":
            duckdb.sql(content).write_parquet(str(path))
        plans: list[GroupPlan] = [plan_of(group) for group in groups or (ByUser,)]
        (self.folder / "dead.jsonl").unlink(missing_ok=True)
        labels = read_labels(self.folder / "labels.jsonl", "ms")
        named = {plan.name: plan for plan in plans}
        return build(HistoryRequest(named, {"clicks": path, **other}, labels, self.folder / "dead.jsonl"))

    def letters(self) -> list[tuple[Any, ...]]:
        """Line, reason, detail and bytes."""
        path = self.folder / "dead.jsonl"
        found = []
        for letter in map(json.loads, path.read_text().splitlines() if path.exists() else []):
            payload = base64.b64decode(letter["payload"])
            assert letter["sha256"] == hashlib.sha256(payload).hexdigest()
            found.append((letter["line"], letter["reason"], letter["detail"], payload))
        return found


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


HEADER = b"u,m,x,ok,ts\n"
GOOD = b"a,1,0.5,true,%d\n" % T


def values(result: HistoryResult) -> list[tuple[Any, ...]]:
    return [(row["g__n"], row["g__total"], row["g__last"], row["g__often"]) for row in result.rows]


@pytest.mark.parametrize(
    ("bad", "reason", "detail"),
    [
        (b"a,1,0.5,true\n", "too_few_cells", "4, the header has 5"),
        (b"a\n", "too_few_cells", "1, the header has 5"),
        (b"a,1,0.5,true,%d,9\n" % T, "too_many_cells", "6, the header has 5"),
        (b"a,1,0.5,true,%d,8,9\n" % T, "too_many_cells", "7, the header has 5"),
        (b"a\xe9,1,0.5,true,%d\n" % T, "bad_utf8", None),
        (b"a\xe9,1\n", "bad_utf8", None),
        (b'"a"b,1,0.5,true,%d\n' % T, "bad_quotes", None),
        (b"a,1,0.5,true,9223372036854775807\n", "bad_time", f"ts: found '9223372036854775807'; {A_TIME}"),
        (b"a,1,0.5,true,%d000000\n" % T, "bad_time", f"ts: found '{T}000000'; {A_TIME}"),
        (b"a,x,0.5,true,%d\n" % T, "bad_type", "m"),
        (b"a,1.5,0.5,true,%d\n" % T, "bad_type", "m"),
        (b"a,9223372036854775808,0.5,true,%d\n" % T, "bad_type", "m"),
        (b"a,1,nan,true,%d\n" % T, "not_finite", "x"),
        (b"a,1,-inf,true,%d\n" % T, "not_finite", "x"),
        (b"a,1,zero,true,%d\n" % T, "bad_type", "x"),
        (b"a,1,0.5,maybe,%d\n" % T, "bad_type", "ok"),
        (b"a,1,1_0,true,%d\n" % T, "bad_type", "x"),
        (b"a,1, 1.0,true,%d\n" % T, "bad_type", "x"),
        (b"a,1,1e,true,%d\n" % T, "bad_type", "x"),
        (b"a,1,0.5,yes,%d\n" % T, "bad_type", "ok"),
        (b",1,0.5,true,%d\n" % T, "null_entity", "u"),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_bad_record_of_csv_leaves_its_neighbours(
    files: Files, bad: bytes, reason: str, detail: str | None, end: bytes
) -> None:
    content = (HEADER + GOOD + bad + GOOD + bad + GOOD + GOOD + bad.rstrip(b"\n")).replace(b"\n", end)
    result = files.build("clicks.csv", content)
    assert values(result) == [(4, 2.0, 1, [1])]
    assert result.loaded == [Loaded("clicks", 4, 3)]
    assert files.letters() == [(line, reason, detail, bad.rstrip(b"\n")) for line in (3, 5, 8)]


def test_blank_lines_and_cells_of_several_lines_in_csv(files: Files) -> None:
    """Lines of malformed records stay exact; of a row with a bad cell the line is unknown, and the row is JSON."""
    text = b'"a\nb",1,0.5,true,%d\n' % T
    content = HEADER + b"\n" + text + GOOD + b"\n\na,1\n" + text + b"a,x,0.5,true,%d\n" % T + b'"c\nd",2\n' + GOOD
    result = files.build("clicks.csv", content)
    assert values(result) == [(2, 1.0, 1, [1])]
    assert result.loaded == [Loaded("clicks", 4, 3)]
    typed, *malformed = files.letters()
    assert malformed == [
        (8, "too_few_cells", "2, the header has 5", b"a,1"),
        (12, "too_few_cells", "2, the header has 5", b'"c\nd",2'),
    ]
    assert typed[:3] == (None, "bad_type", "m")
    assert json.loads(typed[3]) == {"u": "a", "m": "x", "x": "0.5", "ok": "true", "ts": str(T)}


def test_lines_of_a_csv_file_that_is_read_in_parts(files: Files) -> None:
    """DuckDB reads large files in parallel; lines stay those of the file."""
    bad = {7: b"a,1\n", 8: b"a,x,0.5,true,%d\n" % T, 150_000: b"a,1,2\n", 150_001: b"a,1,0.5,no?,%d\n" % T}
    bad[399_999] = b"a,1,2,3,4,5,6\n"
    lines = [bad.get(line, b"a,1,0.5,true,%d\n" % (T + line % 1000)) for line in range(2, 400_001)]
    result = files.build("clicks.csv", HEADER + b"".join(lines), ByPair)
    assert result.loaded == [Loaded("clicks", 399_999 - len(bad), len(bad))]
    assert [(line, payload + b"\n") for line, _, _, payload in files.letters()] == sorted(bad.items())


@pytest.mark.parametrize(
    ("bad", "reason", "detail"),
    [
        (b'{"u": "a", "x": NaN, "ts": %d}' % T, "not_finite", "x"),
        (b'{"u": "a", "x": Infinity, "ts": %d}' % T, "not_finite", "x"),
        (b'{"u": "a", "x": -1e999, "ts": %d}' % T, "not_finite", "x"),
        (b'{"u": "a", "x": "NaN", "ts": %d}' % T, "bad_type", "x"),
        (b'{"u": "a", "m": 1e999, "ts": %d}' % T, "bad_type", "m"),
        (b'{"u": "a", "m": 9223372036854775808, "ts": %d}' % T, "bad_type", "m"),
        (b'{"u": "a"', "bad_json", None),
        (b"[1]", "bad_json", None),
        (b"\xff", "bad_utf8", None),
        (b'{"u": null, "ts": %d}' % T, "null_entity", "u"),
        (b'{"ts": %d}' % T, "null_entity", "u"),
        (b'{"u": "a", "x": 1}', "bad_time", f"ts: found None; {A_TIME}"),
        (b'{"u": "a", "ts": %d000000}' % T, "bad_time", f"ts: found {T}000000; {A_TIME}"),
        (b'{"u": "a", "ts": -9223372036854775808}', "bad_time", f"ts: found -9223372036854775808; {A_TIME}"),
        (b'{"u": "a", "ts": "%d000000"}' % T, "bad_time", f"ts: found '{T}000000'; {A_TIME}"),
        (b'{"u": "a", "m": 1, "ts": %d, "m": 2}' % T, "duplicate_key", "m"),
        (b'{"u": "a", "other": 1, "ts": %d, "other": 1}' % T, "duplicate_key", "other"),
        (b'{"u": "a", "m": 1, "ts": %d, "\\u006d": 1}' % T, "duplicate_key", "m"),
    ],
)
def test_a_bad_record_of_json_lines_has_its_line(files: Files, bad: bytes, reason: str, detail: str | None) -> None:
    good = b'{"u": "a", "m": 1, "x": 0.5, "ok": true, "ts": %d}' % T
    result = files.build("clicks.jsonl", b"\n\n" + good + b"\n" + bad + b"\n  \n" + good + b"\n\n" + bad)
    assert values(result) == [(2, 1.0, 1, [1])]
    assert result.loaded == [Loaded("clicks", 2, 2)]
    assert files.letters() == [(4, reason, detail, bad), (8, reason, detail, bad)]


def test_keys_that_only_look_repeated(files: Files) -> None:
    """A text that holds the key, an escaped quote, a key that holds another, the same key in an object inside."""
    lines = [
        {"u": "a", "m": 1, "x": 0.5, "ts": T, "note": '"m": 2, "m"'},
        {"u": "a", "m": 1, "x": 0.5, "ts": T, "m, m": 1, 'm"': 2},
        {"u": "a", "m": 1, "x": 0.5, "ts": T, "inside": {"m": 1, "u": {"u": 2}}},
    ]
    result = files.build("clicks.jsonl", "\n".join(map(json.dumps, lines)).encode())
    assert values(result) == [(3, 1.5, 1, [1])]
    assert files.letters() == []


def test_line_ends_of_two_kinds(files: Files) -> None:
    good = b'{"u": "a", "m": 1, "x": 0.5, "ts": %d}' % T
    result = files.build("clicks.jsonl", good + b"\r\n" + good + b"\nno\r\n" + good)
    assert values(result) == [(3, 1.5, 1, [1])]
    assert files.letters() == [(3, "bad_json", None, b"no")]


@pytest.mark.parametrize("value", ["'NaN'", "'Infinity'", "'-Infinity'"])
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_floats_that_are_not_finite_in_parquet(files: Files, value: str, kind: str) -> None:
    rows = [f"SELECT 'a' AS u, 1 AS m, CAST({x} AS {kind}) AS x, true AS ok, {T} AS ts" for x in ("0.5", value)]
    result = files.build("clicks.parquet", " UNION ALL ".join(rows))
    assert values(result) == [(1, 0.5, 1, [1])]
    assert [letter[:3] for letter in files.letters()] == [(None, "not_finite", "x")]


def test_integers_beyond_64_bits_in_parquet(files: Files) -> None:
    rows = f"SELECT 'a' AS u, CAST(m AS UBIGINT) AS m, 0.5 AS x, true AS ok, {T} AS ts FROM (VALUES (1), (2**63)) v(m)"
    result = files.build("clicks.parquet", rows)
    assert values(result) == [(1, 0.5, 1, [1])]
    assert [letter[:3] for letter in files.letters()] == [(None, "bad_type", "m")]


def test_a_null_part_of_an_entity_is_a_dead_letter_and_counts_for_groups_that_do_not_need_it(files: Files) -> None:
    rows = [("a", 1), ("a", None), (None, 1), (None, None)]
    lines = [json.dumps({"u": u, "m": m, "x": 1.0, "ts": T}).encode() for u, m in rows]
    both = files.build("clicks.jsonl", b"\n".join(lines), ByUser, ByPair)
    assert both.loaded == [Loaded("clicks", 2, 3)]
    assert [(letter[0], letter[2]) for letter in files.letters()] == [(2, "m"), (3, "u"), (4, "u, m")]
    assert (both.rows[0]["g__n"], both.rows[0]["p__n"]) == (2, 1)
    one = files.build("clicks.jsonl", b"\n".join(lines), ByUser)
    assert one.loaded == [Loaded("clicks", 2, 2)]
    assert [letter[0] for letter in files.letters()] == [3, 4]


def test_a_row_of_a_table_without_a_key_is_a_dead_letter(files: Files) -> None:
    table = files.folder / "names.jsonl"
    rows = [{"u": "a", "name": "Ann", "ts": T}, {"u": None, "name": "Bob", "ts": T}]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = files.build("clicks.jsonl", b'{"u": "a", "ts": %d}\n' % T, Named, names=table)
    assert result.rows[0]["named__name"] == "Ann"
    assert [letter[:3] for letter in files.letters()] == [(2, "null_entity", "u")]


def test_labels_with_a_null_part_keep_their_rows(files: Files) -> None:
    """They match nothing: counts are 0, the rest is null; the row is there, where it was."""
    files.labels(*(json.dumps({"u": u, "m": m, "ts": T + 1}) for u, m in (("a", 1), (None, 1), ("a", None), ("b", 1))))
    lines = [json.dumps({"u": u, "m": m, "x": 1.0, "ts": T}).encode() for u, m in (("a", 1), (None, 1), ("a", None))]
    result = files.build("clicks.jsonl", b"\n".join(lines), ByUser, ByPair)
    nothing = (0, None, None, None)
    assert values(result) == [(2, 2.0, 1, [1]), nothing, (2, 2.0, 1, [1]), nothing]
    assert [row["p__n"] for row in result.rows] == [1, 0, 0, 0]


def test_a_column_named_like_the_row_number(files: Files) -> None:
    result = files.build("clicks.jsonl", b'{"u": "a", "rowid": 7, "ts": %d}\nno\n' % T, RowIds)
    assert result.rows[0]["r__total"] == 7
    assert [letter[1] for letter in files.letters()] == ["bad_json"]


def test_a_byte_order_mark_is_no_part_of_a_name(files: Files) -> None:
    mark = b"\xef\xbb\xbf"
    (files.folder / "labels.csv").write_bytes(mark + b"u,ts\na,%d\n" % (T + 1))
    for name, content in (("clicks.csv", HEADER + GOOD), ("clicks.jsonl", b'{"u": "a", "x": 1.5, "ts": %d}\n' % T)):
        (files.folder / name).write_bytes(mark + content)
        labels = read_labels(files.folder / "labels.csv", "ms")
        result = build(HistoryRequest({"g": plan_of(ByUser)}, {"clicks": files.folder / name}, labels))
        assert result.rows[0]["g__n"] == 1


def test_an_empty_cell_of_csv_is_null(files: Files) -> None:
    """With quotes or without; there is no empty text in an event of CSV."""
    result = files.build("clicks.csv", HEADER + b'a,,,,%d\n"",1,0.5,,%d\na,"",,"",%d\n' % (T, T, T))
    assert values(result) == [(2, None, None, None)]
    assert files.letters() == [(3, "null_entity", "u", b'"",1,0.5,,%d' % T)]
