"""Scalar expressions as values: typed, frozen trees that every compiler and the evaluator read.

Types are checked where a node is built, so a wrong operation is an error at definition time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from featuredsl.dtypes import ELEMENTS, DType, fits, of_value
from featuredsl.errors import DefinitionError, unknown
from featuredsl.operations import INT64_MAX, INT64_MIN, ON_ARRAYS, OPERATIONS
from featuredsl.values import Constant, frozen
from featuredsl.values import Value as Value


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the current row; `table` qualifies it in a query of several."""

    name: str
    dtype: DType
    table: str = ""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `value` None is a typed null."""

    value: Constant
    dtype: DType

    def __post_init__(self) -> None:
        if isinstance(self.value, float) and self.value == 0.0:
            object.__setattr__(self, "value", 0.0)  # -0.0 is equal to it: equal nodes must have one text


@dataclass(frozen=True, slots=True)
class Call:
    """An operation of the table `OPERATIONS` on argument nodes."""

    op: str
    args: tuple[Node, ...]
    dtype: DType
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.op, self.args, self.dtype)))

    def __eq__(self, other: object) -> bool:
        """Most nodes that are compared are the same object, or differ in their hash."""
        if self is other:
            return True
        if not isinstance(other, Call):
            return NotImplemented
        return self._hash == other._hash and (self.op, self.args, self.dtype) == (other.op, other.args, other.dtype)

    def __hash__(self) -> int:
        """Kept: trees are keys of caches, and hashing one anew visits every node."""
        return self._hash

    def __reduce__(self) -> tuple[type[Call], tuple[object, ...]]:
        """Without the hash, which differs between processes."""
        return Call, (self.op, self.args, self.dtype)


Node = Column | Literal | Call


def call(op: str, *args: Node) -> Call:
    """The checked node `op(*args)`; a wrong type or constant is a `DefinitionError`."""
    if args and args[0].dtype in ELEMENTS:
        op = ON_ARRAYS.get(op, op)
    operation = OPERATIONS.get(op)
    if operation is None:
        raise DefinitionError(unknown("operation", op, "expressions", tuple(OPERATIONS)))
    dtype = operation.result(op, tuple(arg.dtype for arg in args))
    if operation.check is not None:
        constants = [arg.value for arg in args[1:] if isinstance(arg, Literal) and arg.value is not None]
        if len(constants) != len(args) - 1:
            raise DefinitionError(f"'{op}' takes constants after its first argument, not columns")
        problem = operation.check(constants)
        if problem is not None:
            raise DefinitionError(f"'{op}' {problem}")
    if operation.decides:
        _refuse_approximate(op, args)
    return Call(op, args, dtype)


def literal(value: object, like: DType | None = None) -> Literal:
    """The constant of a Python value; None, NaN, infinities and integers beyond 64 bits are refused.

    `like` is the type that it meets: it decides the type of an empty array and of integers in an array of floats.
    """
    if value is None:
        raise DefinitionError("None is no constant here: use is_null(), fill_null() or otherwise()")
    if isinstance(value, list | tuple):
        return _array(value, like)
    dtype = of_value(value)
    if dtype is None:
        raise DefinitionError(f"{value!r} is no number, string, boolean or array of numbers or strings")
    if dtype == "int" and not INT64_MIN <= value <= INT64_MAX:  # type: ignore[operator]
        raise DefinitionError(f"{value} does not fit in 64 bits")
    if dtype == "float" and not math.isfinite(value):  # type: ignore[arg-type]
        raise DefinitionError(f"{value} is no finite number; use is_nan() or is_finite()")
    return Literal(value, dtype)  # type: ignore[arg-type]


def _array(value: Sequence[object], like: DType | None) -> Literal:
    dtype = like if like in ELEMENTS and fits(value, like) else of_value(value)
    if dtype is None:
        raise DefinitionError(f"{value!r} is no array of numbers or of strings, none of them null")
    try:
        return Literal(frozen(value, dtype), dtype)
    except ValueError as error:
        raise DefinitionError(f"{value!r}: {error}") from None


def columns_of(node: Node) -> Iterator[Column]:
    """Every column that a node reads, in order, repeats included."""
    if isinstance(node, Column):
        yield node
    elif isinstance(node, Call):
        for arg in node.args:
            yield from columns_of(arg)


def constants_of(node: Node) -> Iterator[Literal]:
    """Every constant in a node."""
    if isinstance(node, Literal):
        yield node
    elif isinstance(node, Call):
        for arg in node.args:
            yield from constants_of(arg)


def approximate_of(node: Node) -> str | None:
    """The first operation in a node whose last digits may differ between engines, or None."""
    if not isinstance(node, Call):
        return None
    if OPERATIONS[node.op].approximate:
        return node.op
    if OPERATIONS[node.op].decides or node.op == "is_null":
        return None
    return next((found for arg in node.args if (found := approximate_of(arg)) is not None), None)


def _refuse_approximate(op: str, args: tuple[Node, ...]) -> None:
    for arg in args:
        found = approximate_of(arg)
        if found is not None:
            raise DefinitionError(
                f"'{op}' of {found}() may differ between engines, whose last digits of {found}() do; "
                f"apply '{op}' to the argument of {found}() instead"
            )
