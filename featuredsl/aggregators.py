"""The algebra of aggregates: lift a row to partials, merge partials, finalize them to a value.

Each aggregator is one row of `AGGREGATORS`. Flink tiles, offline windows and the online reader all derive
from it: a tile is `MERGE(lift)` over its rows, a window is `merge` over tiles, a value is `finalize`.
Adding an aggregator is one row here and its cases in the conformance table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import isfinite
from typing import Any
from typing import Literal as Choice

from featuredsl.dtypes import ELEMENTS, SCALARS, DType
from featuredsl.errors import DefinitionError
from featuredsl.nodes import Column, Literal, Node, Value, call
from featuredsl.operations import INT64_MAX, INT64_MIN
from featuredsl.variance import lifts as variance_lifts
from featuredsl.variance import variance

Merge = Choice["sum", "min", "max"]


@dataclass(frozen=True, slots=True)
class Partial:
    """One mergeable number of an aggregate: `merge` over `lift(row)`, null when no row contributed.

    `where` is the filter that `lift` is guarded by: what decides which events form a session.
    """

    source: str
    lift: Node
    merge: Merge
    where: Node | None = None

    @property
    def dtype(self) -> DType:
        """int, float, or a string (least and greatest)."""
        return self.lift.dtype

    @property
    def nodes(self) -> tuple[Node, ...]:
        """What it reads of a row."""
        return (self.lift,)


@dataclass(frozen=True, slots=True)
class WidePartial:
    """A state of variable width, kept by a monoid of `featuredsl.wide.table`, and the type of its value.

    `columns` are the value and, for a ranked kind, what decides between equal times, over the rows of `source` for
    which `where` is true. `nothing` is the value of no row. `given` is the author's filter, without what only skips
    nulls: what decides which events form a session.
    """

    source: str
    kind: str
    params: tuple[tuple[str, Value], ...]
    columns: tuple[Node, ...]
    where: Node | None
    dtype: DType
    nothing: Value
    given: Node | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """What it reads of a row."""
        return self.columns if self.where is None else (*self.columns, self.where)

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(f'{name}={value!r}' for name, value in self.params)})"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Partials, and the expression over the columns `p0`, `p1`, … that turns them into the value.

    The columns `v0`, `v1`, … of that expression are the values of the wide partials.
    """

    partials: tuple[Partial, ...]
    finalize: Node
    wide: tuple[WidePartial, ...] = ()

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return self.finalize.dtype

    @property
    def parts(self) -> tuple[Partial | WidePartial, ...]:
        """The partials, then the wide ones."""
        return (*self.partials, *self.wide)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources that it reads, in order of first use."""
        return tuple(dict.fromkeys(part.source for part in self.parts))

    @property
    def filter(self) -> Node | None:
        """What an event must pass to count in at least one part; None when one part takes all events."""
        filters = dict.fromkeys(part.where if isinstance(part, Partial) else part.given for part in self.parts)
        passed = [where for where in filters if where is not None]
        return None if len(passed) < len(filters) else reduce(lambda left, right: call("or", left, right), passed)

    @property
    def nothing(self) -> dict[str, Value]:
        """The columns of `finalize` where no row contributed."""
        plain: dict[str, Value] = {f"p{i}": None for i in range(len(self.partials))}
        return plain | {f"v{i}": part.nothing for i, part in enumerate(self.wide)}


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
        partials = tuple(Partial(source, _guard(where, lift), merge, where) for lift, merge in self.lifts(arg))
        columns = tuple(Column(f"p{i}", partial.dtype) for i, partial in enumerate(partials))
        return Aggregate(partials, _finalized(self.finalize, columns))


_HINTS: dict[DType, str] = {
    "str": "; convert it with to_int() or to_float()",
    "bool": "; use if_else(column, 1, 0)",
    **dict.fromkeys(ELEMENTS, "; take at(i), length(), min_element() or max_element() of it"),
}


@lru_cache(maxsize=1024)
def _finalized(finalize: Callable[[tuple[Column, ...]], Node], columns: tuple[Column, ...]) -> Node:
    """One node for all aggregates of a kind: what is made of it is found again by identity."""
    return finalize(columns)


def _guard(where: Node | None, lift: Node) -> Node:
    return lift if where is None else call("if_else", where, lift, Literal(None, lift.dtype))


def _present(arg: Node) -> Node:
    one = Literal(1, "int")
    if isinstance(arg, Literal):
        return one
    return call("if_else", call("is_null", arg), Literal(None, "int"), one)


def _or_zero(column: Node) -> Node:
    return call("coalesce", column, Literal(0, "int"))


@lru_cache(maxsize=1024)
def _variance_lifts(arg: Node) -> tuple[tuple[Node, Merge], ...]:
    return tuple((lift, "sum") for lift in variance_lifts(arg, _present(arg)))


def _mean(columns: tuple[Column, ...]) -> Node:
    return call("/", call("to_float", columns[0]), call("to_float", columns[1]))


_ORDERED: tuple[DType, ...] = ("int", "float", "str")
_ANY: tuple[DType, ...] = (*SCALARS, *ELEMENTS)

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
    shift = {"p": len(numerator.partials), "v": len(numerator.wide)}
    right = _renamed(denominator.finalize, shift)
    value = call("/", call("to_float", numerator.finalize), call("to_float", right))
    return Aggregate(numerator.partials + denominator.partials, value, numerator.wide + denominator.wide)


def _renamed(node: Node, shift: Mapping[str, int]) -> Node:
    if isinstance(node, Column):
        return Column(f"{node.name[0]}{int(node.name[1:]) + shift[node.name[0]]}", node.dtype)
    if isinstance(node, Literal):
        return node
    return call(node.op, *(_renamed(arg, shift) for arg in node.args))


def merge_values(merge: Merge, values: list[Value]) -> Value:
    """Partials of the same kind as one; nulls are skipped, null when all are null."""
    present = [value for value in values if value is not None]
    if not present:
        return None
    return _MERGES[merge](present)


def total(values: list[Any]) -> Value:
    """The sum; null where one of integers does not fit in 64 bits, and where one of floats is not finite."""
    found = sum(values)
    if type(found) is int:
        return found if INT64_MIN <= found <= INT64_MAX else None
    return found if isfinite(found) else None


_MERGES: dict[str, Callable[[list[Any]], Value]] = {"sum": total, "min": min, "max": max}
