"""The algebra of aggregates: lift a row to partials, merge partials, finalize them to a value.

Each aggregator is one row of `AGGREGATORS`. Flink tiles, offline windows and the online reader all derive
from it: a tile is `MERGE(lift)` over its rows, a window is `merge` over tiles, a value is `finalize`.
Adding an aggregator is one row here and its cases in the conformance table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from typing import Literal as Choice

from featuredsl.dtypes import DType
from featuredsl.errors import DefinitionError
from featuredsl.nodes import Column, Literal, Node, Value, call
from featuredsl.variance import lifts as variance_lifts
from featuredsl.variance import variance

Merge = Choice["sum", "min", "max"]


@dataclass(frozen=True, slots=True)
class Partial:
    """One mergeable number of an aggregate: `merge` over `lift(row)`, null when no row contributed."""

    source: str
    lift: Node
    merge: Merge

    @property
    def dtype(self) -> DType:
        """int, float, or a string (least and greatest)."""
        return self.lift.dtype


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Partials and the expression over the columns `p0`, `p1`, … that turns them into the value."""

    partials: tuple[Partial, ...]
    finalize: Node

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return self.finalize.dtype


@dataclass(frozen=True, slots=True)
class Aggregator:
    """How one aggregator is made from an argument of one of the types `takes`."""

    name: str
    lifts: Callable[[Node], tuple[tuple[Node, Merge], ...]]
    finalize: Callable[[tuple[Column, ...]], Node]
    takes: tuple[DType, ...] = ("int", "float")

    def build(self, source: str, arg: Node, where: Node | None) -> Aggregate:
        """The aggregate of `arg` over the rows of `source` for which `where` is true."""
        if arg.dtype not in self.takes:
            kinds = {"int": "a number", "float": "a number", "str": "a string"}
            wanted = " or ".join(dict.fromkeys(kinds[dtype] for dtype in self.takes))
            raise DefinitionError(f"{self.name}() takes {wanted}, not {arg.dtype}{_HINTS.get(arg.dtype, '')}")
        partials = tuple(Partial(source, _guard(where, lift), merge) for lift, merge in self.lifts(arg))
        columns = tuple(Column(f"p{i}", partial.dtype) for i, partial in enumerate(partials))
        return Aggregate(partials, self.finalize(columns))


_HINTS = {"str": "; convert it with to_int() or to_float()", "bool": "; use if_else(column, 1, 0)"}


def _guard(where: Node | None, lift: Node) -> Node:
    return lift if where is None else call("if_else", where, lift, Literal(None, lift.dtype))


def _present(arg: Node) -> Node:
    one = Literal(1, "int")
    if isinstance(arg, Literal):
        return one
    return call("if_else", call("is_null", arg), Literal(None, "int"), one)


def _or_zero(column: Node) -> Node:
    return call("coalesce", column, Literal(0, "int"))


def _variance_lifts(arg: Node) -> tuple[tuple[Node, Merge], ...]:
    return tuple((lift, "sum") for lift in variance_lifts(arg, _present(arg)))


def _mean(columns: tuple[Column, ...]) -> Node:
    return call("/", call("to_float", columns[0]), call("to_float", columns[1]))


_ORDERED: tuple[DType, ...] = ("int", "float", "str")
_ANY: tuple[DType, ...] = ("int", "float", "str", "bool")

AGGREGATORS: dict[str, Aggregator] = {
    row.name: row
    for row in (
        Aggregator("count", lambda x: ((_present(x), "sum"),), lambda p: _or_zero(p[0]), _ANY),
        Aggregator("sum", lambda x: ((x, "sum"),), lambda p: p[0]),
        Aggregator("mean", lambda x: ((x, "sum"), (_present(x), "sum")), _mean),
        Aggregator("min", lambda x: ((x, "min"),), lambda p: p[0], _ORDERED),
        Aggregator("max", lambda x: ((x, "max"),), lambda p: p[0], _ORDERED),
        Aggregator("var", _variance_lifts, lambda p: variance(p, sample=True)),
        Aggregator("std", _variance_lifts, lambda p: call("sqrt", variance(p, sample=True))),
        Aggregator("var_pop", _variance_lifts, lambda p: variance(p, sample=False)),
        Aggregator("std_pop", _variance_lifts, lambda p: call("sqrt", variance(p, sample=False))),
    )
}


def ratio_of(numerator: Aggregate, denominator: Aggregate) -> Aggregate:
    """numerator / denominator, null when the denominator is 0 or null."""
    shift = len(numerator.partials)
    right = _renamed(denominator.finalize, shift)
    value = call("/", call("to_float", numerator.finalize), call("to_float", right))
    return Aggregate(numerator.partials + denominator.partials, value)


def _renamed(node: Node, shift: int) -> Node:
    if isinstance(node, Column):
        return Column(f"p{int(node.name[1:]) + shift}", node.dtype)
    if isinstance(node, Literal):
        return node
    return call(node.op, *(_renamed(arg, shift) for arg in node.args))


def merge_values(merge: Merge, values: list[Value]) -> Value:
    """Partials of the same kind as one; nulls are skipped, null when all are null."""
    present = [value for value in values if value is not None]
    if not present:
        return None
    return _MERGES[merge](present)


_MERGES: dict[str, Callable[[list[Any]], Value]] = {"sum": sum, "min": min, "max": max}
