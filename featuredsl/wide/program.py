"""The wide features of a group as a program over ordered rows: which columns it reads, and what it computes.

A row is `(source number, event time in us, arrival in us or None, column 0, …)`. The rows of one entity come in
ascending time; `compilers.wide` writes the query that gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from featuredsl.aggregators import Partial, WidePartial
from featuredsl.dtypes import DType
from featuredsl.evaluate import evaluate
from featuredsl.nodes import Literal, Node, Value
from featuredsl.plan import GroupPlan, WindowFeature
from featuredsl.values import typed
from featuredsl.wide.monoid import Monoid, Values
from featuredsl.wide.plain import Plain
from featuredsl.wide.sessions import LastClosed
from featuredsl.wide.sweep import Asked, Slide
from featuredsl.wide.table import monoid_of
from featuredsl.windows import TIERS, Session, Window

Row = Sequence[Any]
Picker = Callable[[Row], Values]
ROW_HEAD = 3
"""Source number, event time and arrival come before the columns."""
_TRUE = Literal(True, "bool")


@dataclass(frozen=True, slots=True)
class Unit:
    """One state: a partial over a window at the query time of a tier. `forms` is true for the events that make up
    sessions."""

    partial: Partial | WidePartial
    window: Window
    freshness: str
    forms: Node | None = None

    @property
    def condition(self) -> Node:
        """True for the rows that it takes."""
        where = self.partial.where if isinstance(self.partial, WidePartial) else None
        return _TRUE if where is None else where

    @property
    def columns(self) -> tuple[Node, ...]:
        """What it takes of a row."""
        return self.partial.columns if isinstance(self.partial, WidePartial) else (self.partial.lift,)

    def monoid(self) -> Monoid[Any]:
        """What keeps its state."""
        return monoid_of(self.partial) if isinstance(self.partial, WidePartial) else Plain(self.partial.merge)

    @property
    def reads(self) -> tuple[Node, ...]:
        """What it needs of a row."""
        return (self.condition, *(() if self.forms is None else (self.forms,)), *self.columns)

    def slide(self, times_us: Iterable[int]) -> Slide[Any] | LastClosed[Any]:
        """What computes its values at the times of labels."""
        queried = [TIERS[self.freshness].query_time(t_us) for t_us in times_us]
        if isinstance(self.window, Session):
            return LastClosed(self.monoid(), queried, self.window.gap_us)
        return Slide(self.monoid(), [Asked(*self.window.bounds(at_us), at_us) for at_us in queried])


@dataclass(frozen=True, slots=True)
class WideProgram:
    """Sources in order, the expressions that each gives as columns, the units and the features made of them."""

    sources: tuple[str, ...]
    columns: tuple[tuple[Node, ...], ...]
    units: tuple[Unit, ...]
    features: tuple[WindowFeature, ...]

    @property
    def types(self) -> tuple[DType, ...]:
        """The types of the row's columns; those of the sources stand one after another."""
        return tuple(node.dtype for nodes in self.columns for node in nodes)

    def offset(self, source: int) -> int:
        """Where the columns of a source start."""
        return sum(len(nodes) for nodes in self.columns[:source])

    def conditions(self, source: int) -> tuple[Node, ...]:
        """The conditions of a source's units: a row for which none is true is not needed."""
        name = self.sources[source]
        units = [unit for unit in self.units if unit.partial.source == name]
        return tuple(dict.fromkeys(unit.condition if unit.forms is None else unit.forms for unit in units))

    def start(self, times_us: Sequence[int]) -> EntitySweep:
        """A sweep over the rows of one entity, asked at ascending times."""
        return EntitySweep(self, times_us)


def wide_program(plan: GroupPlan, features: Sequence[WindowFeature] | None = None) -> WideProgram | None:
    """The program of the wide features (of those given, or all of the group); None when there is none."""
    wide = plan.wide if features is None else tuple(features)
    if not wide:
        return None
    units = tuple(dict.fromkeys(unit for feature in wide for unit in _units(feature)))
    sources = tuple(dict.fromkeys(unit.partial.source for unit in units))
    columns = tuple(
        tuple(dict.fromkeys(node for unit in units if unit.partial.source == name for node in unit.reads))
        for name in sources
    )
    return WideProgram(sources, columns, units, wide)


def _units(feature: WindowFeature) -> list[Unit]:
    forms = (feature.aggregate.filter or _TRUE) if isinstance(feature.window, Session) else None
    return [Unit(part, feature.window, feature.freshness, forms) for part in feature.aggregate.parts]


class EntitySweep:
    """Computes the wide features of one entity at ascending times."""

    def __init__(self, program: WideProgram, times_us: Sequence[int]) -> None:
        self._program = program
        self._count = len(times_us)
        self._slides = [unit.slide(times_us) for unit in program.units]
        self._windows: list[list[tuple[Slide[Any], int, Picker, int]]] = [[] for _ in program.sources]
        self._sessions: list[list[tuple[LastClosed[Any], int, int, Picker]]] = [[] for _ in program.sources]
        for unit, slide in zip(program.units, self._slides, strict=True):
            source = program.sources.index(unit.partial.source)
            places = {node: ROW_HEAD + program.offset(source) + i for i, node in enumerate(program.columns[source])}
            pick, takes = _picker([places[node] for node in unit.columns]), places[unit.condition]
            if isinstance(slide, LastClosed):
                assert unit.forms is not None
                self._sessions[source].append((slide, places[unit.forms], takes, pick))
            else:
                self._windows[source].append((slide, takes, pick, TIERS[unit.freshness].delay_us))

    def push(self, row: Row) -> None:
        """Take the next row in time."""
        _, time_us, arrival_us = row[:ROW_HEAD]
        for slide, takes, pick, delay_us in self._windows[row[0]]:
            if row[takes]:
                slide.push(time_us, pick(row), None if arrival_us is None else arrival_us - delay_us)
        for closed, forms, takes, pick in self._sessions[row[0]]:
            if row[forms]:
                closed.push(time_us, pick(row) if row[takes] else None)

    def finish(self) -> list[dict[str, Any]]:
        """Feature name to value, for every time."""
        found = dict(zip(self._program.units, (slide.finish() for slide in self._slides), strict=True))
        columns = {feature.name: _finalized(feature, found, self._count) for feature in self._program.features}
        return [{name: values[i] for name, values in columns.items()} for i in range(self._count)]


def _picker(places: list[int]) -> Picker:
    if len(places) == 1:
        (place,) = places
        return lambda row: (row[place],)
    return lambda row: tuple(row[place] for place in places)


def _finalized(feature: WindowFeature, found: dict[Unit, list[Any]], count: int) -> list[Any]:
    names = [f"p{i}" for i in range(len(feature.aggregate.partials))]
    names += [f"v{i}" for i in range(len(feature.aggregate.wide))]
    states = [found[unit] for unit in _units(feature)]
    rows = (dict(zip(names, values, strict=True)) for values in zip(*states, strict=True))
    values = [_with_default(feature, evaluate(feature.aggregate.finalize, row)) for row in rows]
    assert len(values) == count
    return values


def _with_default(feature: WindowFeature, value: Value) -> Any:
    return typed(feature.default, feature.dtype) if value is None else value
