"""What a feature method sees while it is traced: streams, column expressions, aggregates.

Nothing is computed: methods build nodes. The operations on columns are those of `fluent`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from featuredsl.aggregators import AGGREGATORS, Aggregator
from featuredsl.combining import joined
from featuredsl.dtypes import DType
from featuredsl.errors import DefinitionError, unknown
from featuredsl.fluent import Fluent
from featuredsl.nodes import Column, Literal, Node, call, literal
from featuredsl.protocols import LOOKUP, STREAM, refusing
from featuredsl.sources import EventSource, TableSource
from featuredsl.summaries import Summaries
from featuredsl.times import parse_duration
from featuredsl.traced import TracedAggregate
from featuredsl.wide.table import first_row, wide_aggregate


@refusing(LOOKUP)
@dataclass(frozen=True, slots=True)
class TracedLookup:
    """The latest value of a column; `columns` decide ties of equal (event time, sequence)."""

    source: EventSource
    column: str
    columns: tuple[tuple[str, DType], ...]
    where: Node | None


@refusing(STREAM)
@dataclass(frozen=True)
class Stream:
    """The events of a source inside a feature method: `e.count()`, `e.price.sum()`, `e.filter(…)`."""

    source: EventSource
    where: Node | None = None
    joins: list[EventSource] = field(default_factory=list, compare=False, repr=False)
    """The joined sources that the method has made so far; shared by its streams."""

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
        if condition.stream.source != self.source:
            raise DefinitionError(
                f"filter() of {self.source.name!r} takes its own columns, not those of {condition.stream.source.name!r}"
            )
        where = condition.node if self.where is None else call("and", self.where, condition.node)
        return Stream(self.source, where, self.joins)

    def join(self, table: TableSource, *, on: str | Sequence[str] | None = None, prefix: str = "") -> Stream:
        """The events with the columns of the table's row that was valid at the event's time; nulls where none was.

        `on` names the columns that hold the table's key, when they are called otherwise. `prefix` is put before the
        table's column names.
        """
        if not isinstance(table, TableSource):
            raise DefinitionError("join() takes a TableSource, for example e.join(items).price")
        source = joined(self.source, table, on, prefix)
        self.joins.append(source)
        return Stream(source, self.where, self.joins)

    def count(self) -> TracedAggregate:
        """How many events; 0 when there are none."""
        return TracedAggregate(AGGREGATORS["count"].build(self.source.name, Literal(1, "int"), self.where))

    def decayed_count(self, half_life: str | int) -> TracedAggregate:
        """How many events, one of age a weighing 2^(-a / half_life); 0.0 when there are none."""
        one, half_life_us = Literal(1, "int"), parse_duration(half_life)
        return TracedAggregate(wide_aggregate("decayed_count", self.source, one, self.where, half_life_us=half_life_us))

    def latest(self) -> LatestRow:
        """The latest event; `e.latest().x` is its x and may be null."""
        return LatestRow(self)

    def first(self) -> FirstRow:
        """The earliest event of the window; `e.first().x` is its x and may be null."""
        return FirstRow(self)


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


@dataclass(frozen=True, slots=True)
class FirstRow:
    """The earliest event of a stream in a window."""

    stream: Stream

    def __getattr__(self, name: str) -> TracedAggregate:
        if name.startswith("__"):
            raise AttributeError(name)
        source = self.stream.source
        if source.dtype(name) is None:
            raise DefinitionError(unknown("column", name, source.name, source.column_names))
        return TracedAggregate(first_row(source, name, self.stream.where))


@dataclass(frozen=True, slots=True, eq=False)
class Expr(Fluent, Summaries):
    """A scalar expression on the columns of one stream."""

    node: Node
    stream: Stream

    def _call(self, op: str, *others: object, swapped: bool = False) -> Expr:
        args = [self.node, *(self._operand(other, self.node.dtype) for other in others)]
        return Expr(call(op, *(reversed(args) if swapped else args)), self.stream)

    def _operand(self, other: object, like: DType | None = None) -> Node:
        if isinstance(other, Expr):
            if other.stream.source != self.stream.source:
                raise DefinitionError(
                    f"one expression mixes sources {self.stream.source.name!r} and {other.stream.source.name!r}; an "
                    "event knows only its own columns: aggregate each source, and combine with ratio() or @on_demand"
                )
            return other.node
        return literal(other, like)

    def _built(self, aggregator: Aggregator) -> TracedAggregate:
        stream = self.stream
        return TracedAggregate(aggregator.build(stream.source.name, self.node, stream.where))

    def _wide(self, kind: str, **params: Any) -> TracedAggregate:
        stream = self.stream
        return TracedAggregate(wide_aggregate(kind, stream.source, self.node, stream.where, **params))

    def _aggregate(self, name: str) -> TracedAggregate:
        return self._built(AGGREGATORS[name])

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
            raise DefinitionError(
                "latest() takes a column, not an expression; look the column up, and compute with it in @on_demand"
            )
        present = call("not", call("is_null", self.node))
        where = present if self.stream.where is None else call("and", self.stream.where, present)
        column = (self.node.name, self.node.dtype)
        return TracedLookup(self.stream.source, self.node.name, (column,), where)


def if_else(condition: Expr, value: object, other: object) -> Expr:
    """`value` where the condition is true, `other` where it is false or null."""
    return when(condition).then(value).otherwise(other)


def when(condition: Expr) -> When:
    """Starts a case: `when(e.x > 9).then("high").when(e.x > 3).then("middle").otherwise("low")`.

    The first condition that is true decides; a null counts as false.
    """
    return When(condition, ())


def coalesce(first: Expr, *others: object) -> Expr:
    """The first value that is not null."""
    return first._call("coalesce", *others)


def min_of(first: Expr, *others: object) -> Expr:
    """The least of several values; nulls are skipped, null when all are null."""
    return first._call("min_of", *others)


def max_of(first: Expr, *others: object) -> Expr:
    """The greatest of several values; nulls are skipped, null when all are null."""
    return first._call("max_of", *others)


@dataclass(frozen=True, slots=True)
class When:
    """A case whose last condition waits for its value."""

    condition: Expr
    arms: tuple[tuple[Expr, object], ...]

    def then(self, value: object) -> Case:
        """The value where the condition is true."""
        if not isinstance(self.condition, Expr):
            raise DefinitionError("when() takes a condition on columns, for example e.price > 0")
        return Case((*self.arms, (self.condition, value)))


@dataclass(frozen=True, slots=True)
class Case:
    """Conditions with values; `otherwise` makes it an expression."""

    arms: tuple[tuple[Expr, object], ...]

    def when(self, condition: Expr) -> When:
        """One more condition, asked where those before are not true."""
        return When(condition, self.arms)

    def otherwise(self, value: object = None) -> Expr:
        """The value where no condition is true; null when none is given."""
        result = value
        for condition, chosen in reversed(self.arms):
            taken = condition._operand(chosen)
            rest = Literal(None, taken.dtype) if result is None else condition._operand(result, taken.dtype)
            result = Expr(call("if_else", condition.node, taken, rest), condition.stream)
        assert isinstance(result, Expr)
        return result
