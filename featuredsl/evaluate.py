"""The reference meaning of expression nodes: Python values, three-valued logic, null in null out.

Integers are int64: a result outside is an `InputError`. Division by zero is null; `//` and `%` floor.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from featuredsl.errors import InputError
from featuredsl.nodes import Call, Column, Literal, Node, Value

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_ASCII_LOWER = {code: code + 32 for code in range(65, 91)}


def evaluate(node: Node, row: Mapping[str, Value]) -> Value:
    """The value of `node` on `row` (column name to value; a missing column is an error)."""
    if isinstance(node, Column):
        return row[node.name]
    if isinstance(node, Literal):
        return node.value
    if node.op in _LAZY:
        return _LAZY[node.op](node, row)
    args = [evaluate(arg, row) for arg in node.args]
    if node.op == "is_null":
        return args[0] is None
    if any(arg is None for arg in args):
        return None
    return _checked(_STRICT[node.op](*args))


def _checked(value: Value) -> Value:
    if type(value) is int and not INT64_MIN <= value <= INT64_MAX:
        raise InputError(f"integer overflow: {value} does not fit in 64 bits")
    return value


def _and(node: Call, row: Mapping[str, Value]) -> Value:
    left, right = (evaluate(arg, row) for arg in node.args)
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(node: Call, row: Mapping[str, Value]) -> Value:
    left, right = (evaluate(arg, row) for arg in node.args)
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _coalesce(node: Call, row: Mapping[str, Value]) -> Value:
    values = (evaluate(arg, row) for arg in node.args)
    found = next((value for value in values if value is not None), None)
    return float(found) if node.dtype == "float" and isinstance(found, int) else found


def _if_else(node: Call, row: Mapping[str, Value]) -> Value:
    taken = node.args[1] if evaluate(node.args[0], row) is True else node.args[2]
    value = evaluate(taken, row)
    return float(value) if node.dtype == "float" and isinstance(value, int) else value


def _in(node: Call, row: Mapping[str, Value]) -> Value:
    needle = evaluate(node.args[0], row)
    if needle is None:
        return None
    return any(evaluate(arg, row) == needle for arg in node.args[1:])


def _divide(left: float, right: float) -> float | None:
    if right == 0:
        return None
    value = left / right
    return value if math.isfinite(value) else None


_LAZY: dict[str, Callable[[Call, Mapping[str, Value]], Value]] = {
    "and": _and,
    "or": _or,
    "coalesce": _coalesce,
    "if_else": _if_else,
    "in": _in,
}
_STRICT: dict[str, Callable[..., Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "//": lambda a, b: None if b == 0 else a // b,
    "%": lambda a, b: None if b == 0 else a % b,
    "neg": operator.neg,
    "abs": abs,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "not": operator.not_,
    "to_float": float,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else None,
    "lower": lambda text: text.translate(_ASCII_LOWER),
}
