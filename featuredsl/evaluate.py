"""The reference meaning of expression nodes: Python values, three-valued logic, null in null out.

A result that does not fit (an integer beyond 64 bits, a float that is not finite), a division by zero and an argument
outside a function's domain are null. NaN and infinities pass through where values are only chosen; every operation
that computes or compares takes them for null.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from featuredsl.lowering import LOWERED, lower
from featuredsl.nodes import Call, Column, Literal, Node, Value
from featuredsl.operations import EXP_LIMIT, INT64_MAX, INT64_MIN, INTEGER_TEXT, NUMBER_TEXT
from featuredsl.values import thawed

Row = Mapping[str, Value]
_LOWER = {code: code + 32 for code in range(65, 91)}
_UPPER = {code + 32: code for code in range(65, 91)}
_EXACT = 2.0**53


def evaluate(node: Node, row: Row) -> Value:
    """The value of `node` on `row` (column name to value; a missing column is an error)."""
    if isinstance(node, Column):
        return row[node.name]
    if isinstance(node, Literal):
        return thawed(node.value)
    if node.op in LOWERED:
        return evaluate(lower(node), row)
    if node.op in _LAZY:
        return _LAZY[node.op](node, row)
    args = [evaluate(arg, row) for arg in node.args]
    if any(_is_nothing(arg) for arg in args):
        return None
    return _checked(_STRICT[node.op](*_unified(args)), node)


def _is_nothing(value: Value) -> bool:
    return value is None or (type(value) is float and not math.isfinite(value))


def _unified(args: list[Value]) -> list[Value]:
    """Integers beside floats become floats, as in the engines: 2^53 + 1 equals 2.0^53."""
    if len(args) == 2 and {type(args[0]), type(args[1])} == {int, float}:
        return [float(arg) for arg in args]  # type: ignore[arg-type]
    return args


def _checked(value: Value, node: Call) -> Value:
    if value is None or isinstance(value, bool | str | list):
        return value
    if node.dtype == "float":
        return float(value) if math.isfinite(value) else None
    return value if INT64_MIN <= value <= INT64_MAX else None


def _typed(value: Value, node: Call) -> Value:
    return float(value) if node.dtype == "float" and type(value) is int else value


def _and(node: Call, row: Row) -> Value:
    left, right = (evaluate(arg, row) for arg in node.args)
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(node: Call, row: Row) -> Value:
    left, right = (evaluate(arg, row) for arg in node.args)
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _coalesce(node: Call, row: Row) -> Value:
    values = (evaluate(arg, row) for arg in node.args)
    return _typed(next((value for value in values if value is not None), None), node)


def _if_else(node: Call, row: Row) -> Value:
    taken = node.args[1] if evaluate(node.args[0], row) is True else node.args[2]
    return _typed(evaluate(taken, row), node)


def _in(node: Call, row: Row) -> Value:
    needle, *values = (evaluate(arg, row) for arg in node.args)
    if _is_nothing(needle):
        return None
    pairs = [_unified([needle, value]) for value in values if not _is_nothing(value)]
    if any(left == right for left, right in pairs):
        return True
    return None if len(pairs) < len(values) else False


def _extreme(choose: Callable[..., Value]) -> Callable[[Call, Row], Value]:
    def of(node: Call, row: Row) -> Value:
        found = (_typed(evaluate(arg, row), node) for arg in node.args)
        return choose((value for value in found if not _is_nothing(value)), default=None)

    return of


def _to_float(node: Call, row: Row) -> Value:
    value = evaluate(node.args[0], row)
    if isinstance(value, str):
        return float(value) if re.fullmatch(NUMBER_TEXT, value) else None
    return None if value is None else float(value)  # type: ignore[arg-type]


def _float_test(test: Callable[[float], bool]) -> Callable[[Call, Row], Value]:
    def of(node: Call, row: Row) -> Value:
        value = evaluate(node.args[0], row)
        return None if value is None else test(value)  # type: ignore[arg-type]

    return of


def _divide(left: float, right: float) -> float | None:
    return None if right == 0 else float(left) / float(right)


def _pow(base: float, exponent: float) -> float | None:
    try:
        return math.pow(base, exponent)
    except (ValueError, OverflowError):
        return None


def _to_int(value: float | str) -> int | None:
    if isinstance(value, str):
        return int(value) if re.fullmatch(INTEGER_TEXT, value) else None
    return int(value)


def _to_str(value: int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _round(value: float, digits: int = 0) -> float:
    if isinstance(value, int):
        return value
    if digits == 0:
        return math.floor(value + 0.5)
    scale = 10.0**digits
    return math.floor(value * scale + 0.5) / scale if abs(value) <= _EXACT / scale else value


def _array_contains(array: list[Value], item: Value) -> bool:
    return (float(item) if array and type(array[0]) is float else item) in array  # type: ignore[arg-type]


def _concat(*texts: str) -> str:
    return "".join(texts)


def _list_of(node: Call, row: Row) -> Any:
    return [evaluate(arg, row) for arg in node.args]


_LAZY: dict[str, Callable[[Call, Row], Value]] = {
    "and": _and,
    "or": _or,
    "coalesce": _coalesce,
    "if_else": _if_else,
    "in": _in,
    "is_null": lambda node, row: evaluate(node.args[0], row) is None,
    "is_nan": _float_test(math.isnan),
    "is_finite": _float_test(math.isfinite),
    "min_of": _extreme(min),
    "max_of": _extreme(max),
    "to_float": _to_float,
    "list_of": _list_of,
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
    "sign": lambda x: (x > 0) - (x < 0),
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "not": operator.not_,
    "finite": lambda x: x,
    "round": _round,
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else None,
    "ln": lambda x: math.log(x) if x > 0 else None,
    "exp": lambda x: math.exp(x) if x <= EXP_LIMIT else None,
    "pow": _pow,
    "to_int": _to_int,
    "to_str": _to_str,
    "lower": lambda text: text.translate(_LOWER),
    "upper": lambda text: text.translate(_UPPER),
    "length": len,
    "concat": _concat,
    "substring": lambda text, start, length: text[start : start + length],
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": operator.contains,
    "replace": str.replace,
    "trim": lambda text: text.strip(" "),
    "floor_time": lambda us, step: us - us % step,
    "array_length": len,
    "at": lambda array, index: array[index] if 0 <= index < len(array) else None,
    "array_contains": _array_contains,
    "min_element": lambda array: min(array, default=None),
    "max_element": lambda array: max(array, default=None),
}
