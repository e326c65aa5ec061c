"""Bounds of values that are known without data, so that SQL is guarded only where a result may not fit."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from featuredsl.lowering import lower
from featuredsl.nodes import Call, Column, Literal, Node
from featuredsl.operations import EXP_LIMIT, INT64_MAX, INT64_MIN

Range = tuple[int, int]
INT64: Range = (INT64_MIN, INT64_MAX)
MAX_FLOAT = sys.float_info.max


def int_range(node: Node) -> Range:
    """The least and the greatest integer that a node may give."""
    low, high = exact_range(node)
    return max(low, INT64_MIN), min(high, INT64_MAX)


def exact_range(node: Node) -> Range:
    """As `int_range`, before results that do not fit become null."""
    if isinstance(node, Literal):
        value = 0 if node.value is None else node.value
        return (value, value) if isinstance(value, int) else INT64
    if isinstance(node, Column):
        return INT64
    simple = lower(node)
    if not isinstance(simple, Call) or simple.op not in _RANGES:
        return INT64
    return _RANGES[simple.op](simple)


def fits(node: Node) -> bool:
    """True when an integer operation cannot overflow."""
    low, high = exact_range(node)
    return low >= INT64_MIN and high <= INT64_MAX


def is_finite(node: Node) -> bool:
    """True when a float node, taken without guard, is finite or null whatever the data."""
    return _magnitude(node) <= MAX_FLOAT


def _magnitude(node: Node) -> float:
    """The greatest absolute value, in double arithmetic; infinite where nothing is known."""
    if node.dtype in ("int", "bool"):
        return 2.0**63
    if isinstance(node, Literal):
        return abs(node.value) if isinstance(node.value, int | float) else 0.0
    if isinstance(node, Column):
        return math.inf
    simple = lower(node)
    if isinstance(simple, Call) and simple.op in _MAGNITUDES:
        return _MAGNITUDES[simple.op](simple)
    return MAX_FLOAT


def _pairs(op: Callable[[int, int], int]) -> Callable[[Call], Range]:
    def of(node: Call) -> Range:
        left, right = (int_range(arg) for arg in node.args)
        ends = [op(a, b) for a in left for b in right]
        return min(ends), max(ends)

    return of


def _modulo(node: Call) -> Range:
    low, high = int_range(node.args[1])
    return min(low + 1, 0), max(high - 1, 0)


def _floor_div(node: Call) -> Range:
    (low, high), (step, _) = (int_range(arg) for arg in node.args)
    return (low // step, high // step) if step > 0 and isinstance(node.args[1], Literal) else (low - 1, -INT64_MIN)


def _neg(node: Call) -> Range:
    low, high = int_range(node.args[0])
    return -high, -low


def _abs(node: Call) -> Range:
    low, high = int_range(node.args[0])
    return 0, max(abs(low), abs(high))


def _union(node: Call) -> Range:
    ranges = [int_range(arg) for arg in node.args if arg.dtype == "int"]
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _divided(node: Call) -> float:
    divisor = node.args[1]
    whole = divisor.dtype == "int" or (isinstance(divisor, Call) and divisor.op == "to_float" and _is_int(divisor))
    return _magnitude(node.args[0]) if whole else math.inf


def _is_int(node: Call) -> bool:
    return node.args[0].dtype == "int"


def _largest(node: Call) -> float:
    return max(_magnitude(arg) for arg in node.args if arg.dtype in ("int", "float"))


_RANGES: dict[str, Callable[[Call], Range]] = {
    "+": _pairs(lambda a, b: a + b),
    "-": _pairs(lambda a, b: a - b),
    "*": _pairs(lambda a, b: a * b),
    "//": _floor_div,
    "%": _modulo,
    "neg": _neg,
    "abs": _abs,
    "if_else": _union,
    "coalesce": _union,
    "sign": lambda node: (-1, 1),
    "length": lambda node: (0, 2**31),
    "array_length": lambda node: (0, 2**31),
}
_MAGNITUDES: dict[str, Callable[[Call], float]] = {
    "+": lambda node: sum(_magnitude(arg) for arg in node.args),
    "-": lambda node: sum(_magnitude(arg) for arg in node.args),
    "*": lambda node: math.prod(_magnitude(arg) for arg in node.args),
    "/": _divided,
    "neg": _largest,
    "abs": _largest,
    "coalesce": _largest,
    "if_else": _largest,
    "to_float": lambda node: _magnitude(node.args[0]) if node.args[0].dtype != "str" else 1e115,
    "sqrt": lambda node: 1.4e154,
    "ln": lambda node: EXP_LIMIT + 40,
}
