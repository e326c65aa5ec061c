"""Expressions: the evaluator, DuckDB and the types agree; windows and durations."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featuredsl.compilers.scalar import DUCKDB, render
from featuredsl.errors import DefinitionError, InputError
from featuredsl.evaluate import evaluate
from featuredsl.nodes import Column, Literal, Node, call
from featuredsl.times import DAY, HOUR, MINUTE, SECOND, floor, format_time, parse_duration, parse_time
from featuredsl.windows import TIERS, default_hop, window

A, B, F, S = Column("a", "int"), Column("b", "int"), Column("f", "float"), Column("s", "str")
ROW_TYPES = {"a": "BIGINT", "b": "BIGINT", "f": "DOUBLE", "s": "VARCHAR"}


def lit(value: Any) -> Literal:
    return Literal(value, {int: "int", float: "float", str: "str", bool: "bool"}[type(value)])  # type: ignore[arg-type]


EXPRESSIONS: list[Node] = [
    call("+", A, B),
    call("-", A, call("*", B, lit(3))),
    call("/", A, B),
    call("//", A, B),
    call("%", A, B),
    call("neg", A),
    call("abs", B),
    call("==", A, B),
    call("<", A, F),
    call(">=", F, lit(0.5)),
    call("and", call(">", A, lit(0)), call("is_null", B)),
    call("or", call(">", A, lit(0)), call("<", B, lit(0))),
    call("not", call("!=", S, lit("it's\\"))),
    call("in", S, lit("A"), lit("b")),
    call("coalesce", F, A, lit(7)),
    call("if_else", call(">", A, B), A, F),
    call("lower", S),
    call("to_float", A),
]
small = st.none() | st.integers(-50, 50)
ROWS = st.fixed_dictionaries(
    {
        "a": small,
        "b": small,
        "f": st.none() | st.integers(-8, 8).map(lambda x: x / 4),
        "s": st.none() | st.sampled_from(["", "A", "b", "ÄB", "it's\\", "İ"]),
    }
)


@given(ROWS)
def test_evaluator_and_duckdb_agree(row: dict[str, Any]) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t (" + ", ".join(f"{k} {v}" for k, v in ROW_TYPES.items()) + ")")
    con.execute("INSERT INTO t VALUES (?, ?, ?, ?)", [row[name] for name in ROW_TYPES])
    sql = ", ".join(render(node, DUCKDB) for node in EXPRESSIONS)
    found = con.execute(f"SELECT {sql} FROM t").fetchone()
    assert found is not None
    for node, value in zip(EXPRESSIONS, found, strict=True):
        assert evaluate(node, row) == value, node


@pytest.mark.parametrize(
    ("node", "row", "value"),
    [
        (call("//", A, lit(3)), {"a": -2}, -1),
        (call("%", A, lit(3)), {"a": -2}, 1),
        (call("/", A, lit(0)), {"a": 1}, None),
        (call("//", A, lit(0)), {"a": 1}, None),
        (call("+", A, lit(1)), {"a": 2**53}, 2**53 + 1),
        (call("and", call("is_null", A), lit(False)), {"a": None}, False),
        (call("==", A, lit(1)), {"a": None}, None),
        (call("lower", S), {"s": "ÄB"}, "Äb"),
    ],
)
def test_values(node: Node, row: dict[str, Any], value: Any) -> None:
    assert evaluate(node, row) == value
    assert type(evaluate(node, row)) is type(value)


def test_overflow_is_an_error() -> None:
    with pytest.raises(InputError, match="overflow"):
        evaluate(call("+", A, lit(1)), {"a": 2**63 - 1})


def test_wrong_types_are_errors() -> None:
    with pytest.raises(DefinitionError, match=r"'\+' takes numbers, not str and int"):
        call("+", S, A)
    with pytest.raises(DefinitionError, match="booleans"):
        call("and", A, B)


@pytest.mark.parametrize(
    ("size", "hop"),
    [
        ("12s", SECOND),
        ("1m", 5 * SECOND),
        ("6m", 30 * SECOND),
        ("10m", 30 * SECOND),
        ("1h", 5 * MINUTE),
        ("6h", 5 * MINUTE),
        ("12h", HOUR),
        ("24h", HOUR),
        ("7d", HOUR),
        ("12d", DAY),
        ("90m", 5 * MINUTE),
    ],
)
def test_default_hop(size: str, hop: int) -> None:
    assert default_hop(parse_duration(size)) == hop


def test_window_bounds() -> None:
    assert window("1h").bounds(2 * HOUR + 7 * MINUTE) == (HOUR + 5 * MINUTE, 2 * HOUR + 7 * MINUTE)
    assert window("1d", offset="1d").bounds(3 * DAY + 90 * MINUTE) == (DAY + HOUR, 2 * DAY + HOUR)
    assert floor(-1, HOUR) == -HOUR


def test_tiers_defer_the_query() -> None:
    assert TIERS["realtime"].query_time(123) == 123
    assert TIERS["1h"].query_time(5 * HOUR + 9 * MINUTE) == 4 * HOUR
    assert TIERS["1h"].query_time(5 * HOUR + 10 * MINUTE) == 5 * HOUR
    assert TIERS["1d"].query_time(2 * DAY + HOUR - 1) == DAY


@pytest.mark.parametrize("text", ["", "1", "1x", "h1", "-5m", "0s"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(InputError, match="duration"):
        parse_duration(text)


def test_times() -> None:
    assert parse_duration("3h 20m") == 200 * MINUTE
    assert parse_time("2026-01-01T01:00:00+01:00") == parse_time(1_767_225_600_000, "ms")
    assert format_time(parse_time("2026-01-01T00:00:00.000001Z")) == "2026-01-01T00:00:00.000001Z"
    with pytest.raises(InputError, match="no zone"):
        parse_time("2026-01-01T00:00:00")


def test_import_is_light() -> None:
    code = (
        "import sys, featuredsl; heavy = {'numpy', 'pandas', 'pyarrow', 'pyspark', 'pyflink', 'duckdb', 'redis'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
