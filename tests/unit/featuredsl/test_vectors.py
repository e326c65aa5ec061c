"""Expressions over many rows at once: the values of `evaluate`, to the last bit; what is not known is left to it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from featuredsl.evaluate import evaluate
from featuredsl.nodes import Column, Literal, Node, Value, call
from featuredsl.variance import variance
from featuredsl.vectors import Vector, vector_program

INTS: list[Value] = [None, 0, 1, -3, 2**53 + 1, 2**63 - 1, -(2**63)]
FLOATS: list[Value] = [None, 0.0, 1.5, -2.0, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf]
N, M = Column("p0", "int"), Column("p1", "int")
X, Y = Column("p2", "float"), Column("p3", "float")
ROWS = [
    {"p0": a, "p1": b, "p2": x, "p3": y}
    for a, b, (x, y) in itertools.product(INTS, INTS, itertools.product(FLOATS, FLOATS))
]
KNOWN: list[Node] = [
    *(call(op, X, Y) for op in ("+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "coalesce")),
    *(call(op, N, M) for op in ("/", "==", "!=", "<", "<=", ">", ">=", "coalesce")),
    *(call(op, N, Y) for op in ("+", "-", "*", "/", "<", "==", "coalesce")),
    *(call(op, X) for op in ("neg", "abs", "sqrt", "is_null", "to_float")),
    *(call(op, N) for op in ("is_null", "to_float")),
    call("coalesce", N, Literal(0, "int")),
    call("coalesce", X, Literal(None, "float"), Y),
    call("if_else", call(">", N, Literal(1, "int")), X, Literal(None, "float")),
    call("if_else", call("<", X, Y), N, M),
    call("if_else", call("is_null", X), Y, call("/", X, Literal(2.0, "float"))),
    call("sqrt", call("/", call("to_float", N), call("to_float", M))),
    call("*", Literal(2.0, "float"), Literal(0.5, "float")),
    Literal(None, "int"),
    Literal(3, "int"),
]
LEFT: list[Node] = [
    call("+", N, M),
    call("neg", N),
    call("abs", N),
    call("round", X),
    call("to_int", X),
    call("exp", X),
]


def vectors() -> dict[str, Vector]:
    found = {}
    for column in (N, M, X, Y):
        values = [row[column.name] for row in ROWS]
        numbers = np.asarray([0 if value is None else value for value in values], column.dtype + "64")
        found[column.name] = Vector(numbers, np.asarray([value is None for value in values]), column.dtype == "int")
    return found


def exactly(value: Value) -> str:
    return "0.0" if value == 0.0 and isinstance(value, float) else repr(value)


@pytest.mark.parametrize("node", KNOWN, ids=str)
def test_a_known_expression_gives_the_values_of_evaluate(node: Node) -> None:
    program = vector_program(node)
    assert program is not None
    with np.errstate(all="ignore"):
        listed = program.run(vectors()).listed(len(ROWS))
    assert [exactly(value) for value in listed] == [exactly(evaluate(node, row)) for row in ROWS]


def test_variance_is_known() -> None:
    columns = (Column("p0", "int"), *(Column(f"p{i}", "float") for i in range(1, 7)))
    rows = [{"p0": n, **{f"p{i}": n * i + 0.25 for i in range(1, 7)}} for n in range(50)]
    row = {c.name: Vector(np.asarray([one[c.name] for one in rows])) for c in columns}
    for sample in (True, False):
        node = variance(columns, sample=sample)
        program = vector_program(node)
        assert program is not None
        with np.errstate(all="ignore"):
            assert program.run(row).listed(50) == [evaluate(node, one) for one in rows]


@pytest.mark.parametrize("node", LEFT, ids=str)
def test_what_could_leave_64_bits_or_is_not_known_is_left_to_evaluate(node: Node) -> None:
    assert vector_program(node) is None
    assert vector_program(call("coalesce", node, node)) is None
