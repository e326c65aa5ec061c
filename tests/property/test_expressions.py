"""Random expressions on random rows: the evaluator and DuckDB give the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from featuredsl.compilers.scalar import DUCKDB, render
from featuredsl.dtypes import DType
from featuredsl.evaluate import evaluate
from featuredsl.nodes import Column, Literal, Node, Value, approximate_of, call, literal

COLUMNS: dict[str, DType] = {"a": "int", "b": "int", "f": "float", "g": "float", "s": "str", "t": "str", "p": "bool"}
CONNECTION = duckdb.connect()

near = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1, 0, 1, -1, 3600])
ints = near | st.integers(-20, 20)
floats = st.floats() | st.integers(-40, 40).map(lambda x: x / 8)
finite = floats.filter(math.isfinite)
texts = st.text(st.sampled_from("aB1-.e ßÄ😀'\\%_"), max_size=6)
VALUES: dict[DType, st.SearchStrategy[Any]] = {"int": ints, "float": floats, "str": texts, "bool": st.booleans()}
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | VALUES[dtype] for name, dtype in COLUMNS.items()}), min_size=1, max_size=5
)
COMPARED: tuple[DType, ...] = ("int", "float", "str")
BINARY: dict[DType, list[tuple[str, DType]]] = {
    "int": [(op, "int") for op in ("+", "-", "*", "//", "%", "min_of", "coalesce")],
    "float": [*((op, "float") for op in ("+", "-", "*", "/", "max_of", "coalesce")), ("/", "int")],
    "str": [("concat", "str"), ("min_of", "str"), ("coalesce", "str")],
    "bool": [(op, "bool") for op in ("and", "or", "==", "!=", "in")],
}
BINARY["bool"] += [(op, dtype) for op in ("==", "<", ">=", "in", "!=") for dtype in COMPARED]
INT_OF: list[tuple[str, DType]] = [
    ("neg", "int"),
    ("abs", "int"),
    ("sign", "float"),
    ("round", "float"),
    ("floor", "float"),
    ("ceil", "float"),
    ("to_int", "float"),
    ("to_int", "str"),
    ("to_int", "bool"),
    ("length", "str"),
    ("hour_of_day", "int"),
    ("minute_of_hour", "int"),
    ("day_of_week", "int"),
]
UNARY: dict[DType, list[tuple[str, DType]]] = {
    "int": INT_OF,
    "float": [("neg", "float"), ("abs", "float"), ("finite", "float"), ("to_float", "int"), ("to_float", "str")],
    "str": [("lower", "str"), ("upper", "str"), ("trim", "str"), ("to_str", "int"), ("to_str", "bool")],
    "bool": [
        ("not", "bool"),
        ("is_null", "float"),
        ("is_not_null", "int"),
        ("is_nan", "float"),
        ("is_finite", "float"),
    ],
}
WITH_CONSTANTS: dict[DType, Callable[[Node], Node]] = {
    "int": lambda node: call("floor_time", call("clip", node, literal(-(2**40)), literal(2**40)), literal(60_000_000)),
    "float": lambda node: call("round", node, literal(2)),
    "str": lambda node: call("replace", call("substring", node, literal(1), literal(3)), literal("B"), literal("ß")),
    "bool": lambda node: call("is_not_null", node),
}


def constants(dtype: DType) -> st.SearchStrategy[Node]:
    """Constants of a type, one of them null."""
    values = finite if dtype == "float" else VALUES[dtype]
    return values.map(lambda value: Literal(value, dtype)) | st.just(Literal(None, dtype))


def nodes(dtype: DType, depth: int = 3) -> st.SearchStrategy[Node]:
    """Expressions of a type."""
    columns = st.sampled_from([Column(name, kind) for name, kind in COLUMNS.items() if kind == dtype])
    leaves = columns | constants(dtype)
    if depth == 0:
        return leaves
    two = st.sampled_from(BINARY[dtype]).flatmap(
        lambda row: st.builds(call, st.just(row[0]), nodes(row[1], depth - 1), nodes(row[1], depth - 1))
    )
    one = st.sampled_from(UNARY[dtype]).flatmap(lambda row: nodes(row[1], depth - 1).map(lambda x: call(row[0], x)))
    choice = st.builds(
        call, st.just("if_else"), nodes("bool", depth - 1), nodes(dtype, depth - 1), nodes(dtype, depth - 1)
    )
    return columns | two | one | choice | nodes(dtype, depth - 1).map(WITH_CONSTANTS[dtype])


trees = st.deferred(lambda: st.one_of(*(nodes(dtype) for dtype in VALUES)))


def on_duckdb(node: Node, rows: list[dict[str, Value]]) -> list[Value]:
    """The values of a node on rows, from DuckDB."""
    selected = " UNION ALL ".join(
        f"SELECT {n} AS n, " + ", ".join(f"CAST(? AS {DUCKDB.type_name(t)}) AS {name}" for name, t in COLUMNS.items())
        for n in range(len(rows))
    )
    sql = f"SELECT {render(node, DUCKDB)} FROM ({selected}) ORDER BY n"
    return [value for (value,) in CONNECTION.execute(sql, [row[name] for row in rows for name in COLUMNS]).fetchall()]


def same(found: Value, expected: Value, tolerance: float) -> bool:
    if isinstance(found, float) and isinstance(expected, float):
        both_nan = math.isnan(found) and math.isnan(expected)
        return both_nan or found == expected or math.isclose(found, expected, rel_tol=tolerance)
    return found == expected and type(found) is type(expected)


@given(trees, ROWS)
def test_evaluator_and_duckdb_agree(node: Node, rows: list[dict[str, Value]]) -> None:
    expected = [evaluate(node, row) for row in rows]
    found = on_duckdb(node, rows)
    assert all(same(x, y, 0.0) for x, y in zip(found, expected, strict=True)), (found, expected, render(node, DUCKDB))


@given(nodes("float", 1), st.sampled_from(["ln", "log1p", "exp", "sqrt"]), ROWS)
def test_functions_agree_to_their_last_digits(node: Node, op: str, rows: list[dict[str, Value]]) -> None:
    applied = call(op, node)
    assert approximate_of(applied) == op
    expected = [evaluate(applied, row) for row in rows]
    assert all(same(x, y, 1e-9) for x, y in zip(on_duckdb(applied, rows), expected, strict=True)), expected
