"""The meaning of `evaluate` for many rows at once, by numpy: for operations on numbers whose results are the same bits.

An integer is only chosen or compared: what computes with integers, and any other operation, is left to `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from featuredsl.lowering import lower
from featuredsl.nodes import Call, Column, Literal, Node, Value

Numbers = NDArray[Any]
Mask = NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True)
class Vector:
    """A number for each row, or one for all; `null` says where there is none. `finite` when no other is NaN or inf."""

    values: Numbers
    null: Mask = None
    finite: bool = True

    def listed(self, rows: int) -> list[Value]:
        """As Python values."""
        found: list[Value] = (self.values if self.values.ndim else np.broadcast_to(self.values, rows)).tolist()
        if self.null is not None:
            null = self.null if self.null.ndim else np.broadcast_to(self.null, rows)
            for i in null.nonzero()[0].tolist():
                found[i] = None
        return found


class VectorProgram:
    """An expression as steps over vectors; a node that stands in several places is computed once."""

    def __init__(self, node: Node) -> None:
        self._registers: list[Vector] = []
        self._names: list[tuple[int, str]] = []
        self._steps: list[tuple[int, Callable[..., Vector], tuple[int, ...]]] = []
        self._known: dict[Node, int] = {}
        self._result = self._place(node)

    def run(self, row: Mapping[str, Vector]) -> Vector:
        """The value for every row. Call it where numpy does not warn (`np.errstate`)."""
        registers = self._registers.copy()
        for at, name in self._names:
            registers[at] = row[name]
        for at, step, args in self._steps:
            registers[at] = step(*[registers[arg] for arg in args])
        return registers[self._result]

    def _place(self, node: Node) -> int:
        """The register of a node, after what it needs."""
        found = self._known.get(node)
        if found is not None:
            return found
        if isinstance(node, Call):
            lowered = lower(node)
            if lowered is not node:
                return self._place(lowered)
            args = tuple(self._place(arg) for arg in node.args)
            self._steps.append((len(self._registers), _step(node), args))
        elif isinstance(node, Column):
            self._names.append((len(self._registers), node.name))
        self._known[node] = len(self._registers)
        self._registers.append(_constant(node) if isinstance(node, Literal) else _NOTHING)
        return self._known[node]


def vector_program(node: Node) -> VectorProgram | None:
    """The steps of a node; None where an operation is left to `evaluate`."""
    try:
        return VectorProgram(node)
    except KeyError:
        return None


def _step(node: Call) -> Callable[..., Vector]:
    """What an operation does. Raises KeyError for one that is not known here."""
    if node.op in _CHOICES:
        return _CHOICES[node.op]
    if node.op in _COMPARISONS:
        return _compared(_COMPARISONS[node.op])
    if node.dtype != "float":
        raise KeyError(node.op)
    return _computed(_FLOATS[node.op])


def _compared(test: Callable[..., Numbers]) -> Callable[..., Vector]:
    return lambda left, right: Vector(test(left.values, right.values), _either(_nothing(left), _nothing(right)))


def _computed(operation: Callable[..., Numbers]) -> Callable[..., Vector]:
    """Null where an argument is no finite number, and where the result is none: so is x / 0, or sqrt(-1)."""

    def of(*args: Vector) -> Vector:
        found = operation(*[arg.values for arg in args])
        null = reduce(_either, [_nothing(arg) for arg in args])
        finite = np.isfinite(found)
        return Vector(found, null if finite.all() else _either(null, ~finite))

    return of


def _constant(node: Literal) -> Vector:
    kind = _TYPES[node.dtype]
    if node.value is None:
        return Vector(np.asarray(0, kind), np.asarray(True))
    return Vector(np.asarray(node.value, kind))


def _either(left: Mask, right: Mask) -> Mask:
    if left is None or right is None:
        return right if left is None else left
    return left | right


def _nothing(vector: Vector) -> Mask:
    """Where an operation that computes or compares has nothing to work on."""
    return vector.null if vector.finite else _either(vector.null, ~np.isfinite(vector.values))


def _null(vector: Vector) -> NDArray[np.bool_]:
    return np.asarray(False) if vector.null is None else vector.null


def _coalesce(*args: Vector) -> Vector:
    return reduce(_or_else, args)


def _or_else(first: Vector, other: Vector) -> Vector:
    if first.null is None:
        return first
    null = None if other.null is None else first.null & other.null
    return Vector(np.where(first.null, other.values, first.values), null, first.finite and other.finite)


def _if_else(condition: Vector, yes: Vector, no: Vector) -> Vector:
    taken = condition.values & ~_null(condition)
    plain = yes.null is None and no.null is None
    null = None if plain else np.where(taken, _null(yes), _null(no))
    return Vector(np.where(taken, yes.values, no.values), null, yes.finite and no.finite)


def _to_float(vector: Vector) -> Vector:
    return Vector(vector.values.astype(np.float64, copy=False), vector.null, vector.finite)


_NOTHING: Final = Vector(np.asarray(0))
_TYPES: Final[dict[str, type]] = {"int": np.int64, "float": np.float64, "bool": np.bool_}
_CHOICES: Final[dict[str, Callable[..., Vector]]] = {
    "coalesce": _coalesce,
    "if_else": _if_else,
    "is_null": lambda vector: Vector(_null(vector)),
    "to_float": _to_float,
}
_COMPARISONS: Final[dict[str, Callable[..., Numbers]]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_FLOATS: Final[dict[str, Callable[..., Numbers]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
}
