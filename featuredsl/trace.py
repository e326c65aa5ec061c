"""What a feature method sees while it is traced: streams, column expressions, aggregates.

Operators build nodes; nothing is computed. All operator overloading of featuredsl lives here.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from featuredsl.aggregators import AGGREGATORS, Aggregate, ratio_of
from featuredsl.dtypes import DType, of_value
from featuredsl.errors import DefinitionError
from featuredsl.nodes import Column, Literal, Node, call
from featuredsl.sources import EventSource


@dataclass(frozen=True, slots=True)
class TracedAggregate:
    """An aggregate that still needs its window. `a / b` is the ratio of two, null when b is 0."""

    aggregate: Aggregate

    def __truediv__(self, other: TracedAggregate) -> TracedAggregate:
        if not isinstance(other, TracedAggregate):
            raise DefinitionError("an aggregate can only be divided by an aggregate")
        return TracedAggregate(ratio_of(self.aggregate, other.aggregate))


def ratio(numerator: TracedAggregate, denominator: TracedAggregate) -> TracedAggregate:
    """numerator / denominator over the same window, null when the denominator is 0."""
    return numerator / denominator


@dataclass(frozen=True, slots=True)
class TracedLookup:
    """The latest value of a column; `columns` decide ties of equal (event time, sequence)."""

    source: EventSource
    column: str
    columns: tuple[tuple[str, DType], ...]
    where: Node | None


@dataclass(frozen=True, slots=True)
class Stream:
    """The events of a source inside a feature method: `e.count()`, `e.price.sum()`, `e.filter(…)`."""

    source: EventSource
    where: Node | None = None

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Expr:
        dtype = self.source.dtype(name)
        if dtype is None:
            raise DefinitionError(unknown("column", name, self.source.name, self.source.column_names))
        return Expr(Column(name, dtype), self)

    def filter(self, condition: Expr) -> Stream:
        """Only the events for which `condition` is true (null counts as false)."""
        if not isinstance(condition, Expr) or condition.node.dtype != "bool":
            raise DefinitionError("filter() takes a condition on columns, for example e.price > 0")
        where = condition.node if self.where is None else call("and", self.where, condition.node)
        return Stream(self.source, where)

    def count(self) -> TracedAggregate:
        """How many events; 0 when there are none."""
        return TracedAggregate(AGGREGATORS["count"].build(self.source.name, Literal(1, "int"), self.where))

    def latest(self) -> LatestRow:
        """The latest event; `e.latest().x` is its x and may be null."""
        return LatestRow(self)


@dataclass(frozen=True, slots=True)
class LatestRow:
    """The latest event of a stream."""

    stream: Stream

    def __getattr__(self, name: str) -> TracedLookup:
        if name.startswith("__"):
            raise AttributeError(name)
        source = self.stream.source
        if source.dtype(name) is None:
            raise DefinitionError(unknown("column", name, source.name, source.column_names))
        return TracedLookup(source, name, source.columns, self.stream.where)


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """A scalar expression on the columns of one stream."""

    node: Node
    stream: Stream

    def __bool__(self) -> bool:
        raise DefinitionError("a column has no truth value: use & | ~ for and, or, not")

    def _binary(self, op: str, other: object, *, swapped: bool = False) -> Expr:
        right = self._operand(other)
        pair = (right, self.node) if swapped else (self.node, right)
        return Expr(call(op, *pair), self.stream)

    def _operand(self, other: object) -> Node:
        if isinstance(other, Expr):
            if other.stream.source != self.stream.source:
                raise DefinitionError(
                    f"one expression mixes sources {self.stream.source.name!r} and {other.stream.source.name!r}"
                )
            return other.node
        dtype = of_value(other)
        if dtype is None:
            raise DefinitionError(f"{other!r} is no number, string or boolean")
        return Literal(other, dtype)  # type: ignore[arg-type]

    def __add__(self, other: object) -> Expr:
        return self._binary("+", other)

    def __radd__(self, other: object) -> Expr:
        return self._binary("+", other, swapped=True)

    def __sub__(self, other: object) -> Expr:
        return self._binary("-", other)

    def __rsub__(self, other: object) -> Expr:
        return self._binary("-", other, swapped=True)

    def __mul__(self, other: object) -> Expr:
        return self._binary("*", other)

    def __rmul__(self, other: object) -> Expr:
        return self._binary("*", other, swapped=True)

    def __truediv__(self, other: object) -> Expr:
        return self._binary("/", other)

    def __floordiv__(self, other: object) -> Expr:
        return self._binary("//", other)

    def __mod__(self, other: object) -> Expr:
        return self._binary("%", other)

    def __neg__(self) -> Expr:
        return Expr(call("neg", self.node), self.stream)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return self._binary("==", other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return self._binary("!=", other)

    def __lt__(self, other: object) -> Expr:
        return self._binary("<", other)

    def __le__(self, other: object) -> Expr:
        return self._binary("<=", other)

    def __gt__(self, other: object) -> Expr:
        return self._binary(">", other)

    def __ge__(self, other: object) -> Expr:
        return self._binary(">=", other)

    def __and__(self, other: object) -> Expr:
        return self._binary("and", other)

    def __or__(self, other: object) -> Expr:
        return self._binary("or", other)

    def __invert__(self) -> Expr:
        return Expr(call("not", self.node), self.stream)

    def is_in(self, *values: object) -> Expr:
        """True when the value equals one of `values`."""
        return Expr(call("in", self.node, *(self._operand(value) for value in values)), self.stream)

    def is_null(self) -> Expr:
        """True when the value is null."""
        return Expr(call("is_null", self.node), self.stream)

    def fill_null(self, value: object) -> Expr:
        """The value, or `value` where it is null."""
        return Expr(call("coalesce", self.node, self._operand(value)), self.stream)

    def abs(self) -> Expr:
        """The absolute value."""
        return Expr(call("abs", self.node), self.stream)

    def lower(self) -> Expr:
        """ASCII letters in lower case; other characters are kept."""
        return Expr(call("lower", self.node), self.stream)

    def _aggregate(self, name: str) -> TracedAggregate:
        stream = self.stream
        return TracedAggregate(AGGREGATORS[name].build(stream.source.name, self.node, stream.where))

    def count(self) -> TracedAggregate:
        """How many values are not null."""
        return self._aggregate("count")

    def sum(self) -> TracedAggregate:
        """The sum; null when there is no value."""
        return self._aggregate("sum")

    def mean(self) -> TracedAggregate:
        """The mean; null when there is no value."""
        return self._aggregate("mean")

    def min(self) -> TracedAggregate:
        """The least value; null when there is no value."""
        return self._aggregate("min")

    def max(self) -> TracedAggregate:
        """The greatest value; null when there is no value."""
        return self._aggregate("max")

    def var(self) -> TracedAggregate:
        """The sample variance (by n - 1), sound for values far from 0; null for fewer than two values."""
        return self._aggregate("var")

    def std(self) -> TracedAggregate:
        """The square root of `var()`, in the unit of the column."""
        return self._aggregate("std")

    def var_pop(self) -> TracedAggregate:
        """The population variance (by n); null when there is no value."""
        return self._aggregate("var_pop")

    def std_pop(self) -> TracedAggregate:
        """The square root of `var_pop()`, in the unit of the column."""
        return self._aggregate("std_pop")

    def latest(self) -> TracedLookup:
        """The latest value that is not null."""
        if not isinstance(self.node, Column):
            raise DefinitionError("latest() takes a column, not an expression")
        present = call("not", call("is_null", self.node))
        where = present if self.stream.where is None else call("and", self.stream.where, present)
        column = (self.node.name, self.node.dtype)
        return TracedLookup(self.stream.source, self.node.name, (column,), where)


def unknown(kind: str, name: str, owner: str, known: tuple[str, ...]) -> str:
    """The text for a name that does not exist: what exists, and the nearest."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{kind} {name!r} is not in {owner!r}; it has: {', '.join(known)}.{hint}"
