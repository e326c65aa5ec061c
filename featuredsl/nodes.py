"""Scalar expressions as values: typed, frozen trees that every compiler and the evaluator read.

Types are checked where a node is built, so a wrong operation is an error at definition time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from featuredsl.dtypes import NUMERIC, DType
from featuredsl.errors import DefinitionError

Value = int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the current row; `table` qualifies it in a query of several."""

    name: str
    dtype: DType
    table: str = ""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `value` None is a typed null."""

    value: Value
    dtype: DType


@dataclass(frozen=True, slots=True)
class Call:
    """An operation of the table `OPERATIONS` on argument nodes."""

    op: str
    args: tuple[Node, ...]
    dtype: DType


Node = Column | Literal | Call
TypeRule = Callable[[str, tuple[DType, ...]], DType]


def _arithmetic(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) <= NUMERIC, "numbers")
    return "int" if set(kinds) == {"int"} else "float"


def _divide(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) <= NUMERIC, "numbers")
    return "float"


def _integers(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) == {"int"}, "integers")
    return "int"


def _comparison(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, len(set(kinds)) == 1 or set(kinds) <= NUMERIC, "two values of one type")
    return "bool"


def _order(op: str, kinds: tuple[DType, ...]) -> DType:
    _comparison(op, kinds)
    _require(op, kinds, "bool" not in kinds, "numbers or strings")
    return "bool"


def _logic(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) == {"bool"}, "booleans")
    return "bool"


def _predicate(op: str, kinds: tuple[DType, ...]) -> DType:
    return "bool"


def _same(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, len(set(kinds)) == 1 or set(kinds) <= NUMERIC, "values of one type")
    return kinds[0] if len(set(kinds)) == 1 else "float"


def _choice(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, kinds[0] == "bool", "a boolean first")
    return _same(op, kinds[1:])


def _to_float(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) <= NUMERIC, "a number")
    return "float"


def _number(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) <= NUMERIC, "a number")
    return kinds[0]


def _text(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) == {"str"}, "a string")
    return "str"


def _require(op: str, kinds: tuple[DType, ...], ok: bool, wanted: str) -> None:
    if not ok:
        raise DefinitionError(f"'{op}' takes {wanted}, not {' and '.join(kinds)}")


OPERATIONS: dict[str, TypeRule] = {
    "+": _arithmetic,
    "-": _arithmetic,
    "*": _arithmetic,
    "/": _divide,
    "//": _integers,
    "%": _integers,
    "neg": _number,
    "abs": _number,
    "==": _comparison,
    "!=": _comparison,
    "<": _order,
    "<=": _order,
    ">": _order,
    ">=": _order,
    "and": _logic,
    "or": _logic,
    "not": _logic,
    "in": _comparison,
    "is_null": _predicate,
    "coalesce": _same,
    "if_else": _choice,
    "to_float": _to_float,
    "lower": _text,
    "sqrt": _to_float,
}


def call(op: str, *args: Node) -> Call:
    """The checked node `op(*args)`; a wrong type is a `DefinitionError`."""
    return Call(op, args, OPERATIONS[op](op, tuple(arg.dtype for arg in args)))


def columns_of(node: Node) -> Iterator[Column]:
    """Every column that a node reads, in order, repeats included."""
    if isinstance(node, Column):
        yield node
    elif isinstance(node, Call):
        for arg in node.args:
            yield from columns_of(arg)
