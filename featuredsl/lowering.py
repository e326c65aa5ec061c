"""Operations that are made of simpler ones. The evaluator and the compilers know only what is left."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from featuredsl.dtypes import NUMERIC
from featuredsl.nodes import Call, Literal, Node, call
from featuredsl.times import DAY, HOUR, MINUTE

WEEK = 7 * DAY
_MONDAY = 3 * DAY  # the epoch was a Thursday


def _int(value: int) -> Literal:
    return Literal(value, "int")


def _between(args: tuple[Node, ...]) -> Node:
    value, low, high = args
    return call("and", call(">=", value, low), call("<=", value, high))


def _is_not_null(args: tuple[Node, ...]) -> Node:
    return call("not", call("is_null", args[0]))


def _clip(args: tuple[Node, ...]) -> Node:
    value, low, high = args
    kept = call("finite", value) if value.dtype == "float" else value
    return call("if_else", call("<", value, low), low, call("if_else", call(">", value, high), high, kept))


def _log1p(args: tuple[Node, ...]) -> Node:
    return call("ln", call("+", Literal(1.0, "float"), args[0]))


def _hour_of_day(args: tuple[Node, ...]) -> Node:
    return call("//", call("%", args[0], _int(DAY)), _int(HOUR))


def _minute_of_hour(args: tuple[Node, ...]) -> Node:
    return call("//", call("%", args[0], _int(HOUR)), _int(MINUTE))


def _day_of_week(args: tuple[Node, ...]) -> Node:
    since_monday = call("%", call("+", call("%", args[0], _int(WEEK)), _int(_MONDAY)), _int(WEEK))
    return call("+", call("//", since_monday, _int(DAY)), _int(1))


LOWERED: dict[str, Callable[[tuple[Node, ...]], Node]] = {
    "between": _between,
    "is_not_null": _is_not_null,
    "clip": _clip,
    "log1p": _log1p,
    "hour_of_day": _hour_of_day,
    "minute_of_hour": _minute_of_hour,
    "day_of_week": _day_of_week,
}
_UNIFIED = frozenset({"+", "-", "*", "==", "!=", "<", "<=", ">", ">=", "in", "coalesce", "min_of", "max_of", "if_else"})
_REAL = frozenset({"/", "sqrt", "ln", "exp", "pow"})


@lru_cache(maxsize=4096)
def lower(node: Call) -> Node:
    """`node` in simpler operations, one level down; integers beside floats become floats."""
    if node.op in LOWERED:
        return LOWERED[node.op](node.args)
    kinds = {arg.dtype for arg in node.args}
    if node.op == "array_contains" and node.args[0].dtype == "float[]":
        return Call(node.op, (node.args[0], as_float(node.args[1])), node.dtype)
    if node.op in _REAL or (node.op in _UNIFIED and kinds >= NUMERIC):
        args = tuple(as_float(arg) for arg in node.args)
        return node if args == node.args else Call(node.op, args, node.dtype)
    return node


def as_float(node: Node) -> Node:
    """An integer node as a float; others as they are."""
    if node.dtype != "int":
        return node
    if isinstance(node, Literal):
        return Literal(None if node.value is None else float(node.value), "float")  # type: ignore[arg-type]
    return call("to_float", node)
