"""The plan: what a feature group means, as frozen values. Everything downstream reads only this."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from featuredsl.aggregators import Aggregate
from featuredsl.dtypes import DType
from featuredsl.errors import DefinitionError
from featuredsl.nodes import Node
from featuredsl.sources import EventSource, TableSource
from featuredsl.tables import as_html, as_text
from featuredsl.times import format_duration
from featuredsl.values import Constant
from featuredsl.where import Location
from featuredsl.windows import TIERS, Tier, Window


@dataclass(frozen=True, slots=True)
class WindowFeature:
    """An aggregate over a window."""

    name: str
    dtype: DType
    freshness: str
    aggregate: Aggregate
    window: Window
    default: Constant
    location: Location
    tags: tuple[str, ...] = field(default=(), compare=False)
    doc: str = field(default="", compare=False)

    @property
    def tier(self) -> Tier:
        """The freshness tier."""
        return TIERS[self.freshness]

    @property
    def is_wide(self) -> bool:
        """True when a part of its state is of variable width: computed in Python from rows, not by SQL."""
        return bool(self.aggregate.wide)

    @property
    def source_names(self) -> tuple[str, ...]:
        """The sources that it reads."""
        return self.aggregate.sources


@dataclass(frozen=True, slots=True)
class LookupFeature:
    """The latest value: the greatest (event time, sequence, row) with `t - ttl <= event time < t`.

    `columns` are what decides ties after the sequence, in order; `column` is the one that is the value.
    """

    name: str
    dtype: DType
    freshness: str
    source: str
    columns: tuple[tuple[str, DType], ...]
    column: str
    where: Node | None
    ttl_us: int | None
    default: Constant
    location: Location
    tags: tuple[str, ...] = field(default=(), compare=False)
    doc: str = field(default="", compare=False)

    @property
    def tier(self) -> Tier:
        """The freshness tier."""
        return TIERS[self.freshness]

    @property
    def source_names(self) -> tuple[str, ...]:
        """The source that it reads."""
        return (self.source,)


StoredFeature = WindowFeature | LookupFeature


@dataclass(frozen=True, slots=True)
class OnDemandFeature:
    """A Python function of other features and of request inputs, computed when asked.

    Its inputs are features of the same group, stored ones or on-demand ones. A null for a parameter outside
    `nullable` gives null without calling the function.
    """

    name: str
    dtype: DType
    inputs: tuple[str, ...]
    request: tuple[tuple[str, DType], ...]
    nullable: frozenset[str]
    function: Callable[..., Any] = field(compare=False)
    code: str
    location: Location
    tags: tuple[str, ...] = field(default=(), compare=False)
    doc: str = field(default="", compare=False)


SHOWN = ("feature", "type", "tier", "from", "window", "hop", "tags", "doc")


@dataclass(frozen=True, slots=True, repr=False)
class GroupPlan:
    """A feature group: its entity, sources and features. `version` is the fingerprint of its meaning.

    `on_demand` is in the order of evaluation: an input stands before what is derived from it. Its repr is a table of
    the features, in notebooks too.
    """

    name: str
    entity: tuple[tuple[str, DType], ...]
    sources: tuple[EventSource, ...]
    features: tuple[StoredFeature, ...]
    on_demand: tuple[OnDemandFeature, ...]
    retention_us: int
    owner: str
    doc: str
    location: Location
    version: str = ""
    bundle: str = ""

    def source(self, name: str) -> EventSource:
        """The source of that name."""
        return next(source for source in self.sources if source.name == name)

    @property
    def streams(self) -> tuple[EventSource, ...]:
        """The sources with a topic or file of their own that the group's sources are made of."""
        return tuple(dict.fromkeys(stream for source in self.sources for stream in source.streams()))

    @property
    def tables(self) -> tuple[TableSource, ...]:
        """The tables that are joined to the group's sources."""
        return tuple(dict.fromkeys(table for source in self.sources for table in source.tables()))

    def windows(self, freshness: str) -> Iterator[WindowFeature]:
        """The windowed features of a tier."""
        return (f for f in self.features if isinstance(f, WindowFeature) and f.freshness == freshness)

    def lookups(self, freshness: str) -> Iterator[LookupFeature]:
        """The lookup features of a tier."""
        return (f for f in self.features if isinstance(f, LookupFeature) and f.freshness == freshness)

    @property
    def wide(self) -> tuple[WindowFeature, ...]:
        """The windowed features with a state of variable width, in order."""
        return tuple(f for f in self.features if isinstance(f, WindowFeature) and f.is_wide)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Stored features in order, then the on-demand ones."""
        return tuple(f.name for f in self.features) + tuple(f.name for f in self.on_demand)

    @property
    def request_inputs(self) -> dict[str, DType]:
        """What the on-demand features need from the request."""
        return {name: dtype for feature in self.on_demand for name, dtype in feature.request}

    @property
    def heading(self) -> str:
        """For example `user_clicks@1a2b3c4d5e6f by (user_id: str), owner ranking`."""
        entity = ", ".join(f"{name}: {dtype}" for name, dtype in self.entity)
        return f"{self.name}@{self.version} by ({entity})" + (f", owner {self.owner}" if self.owner else "")

    def __repr__(self) -> str:
        return as_text(self.heading, SHOWN, [_cells(item) for item in (*self.features, *self.on_demand)])

    def _repr_html_(self) -> str:
        return as_html(self.heading, self.doc, SHOWN, [_cells(item) for item in (*self.features, *self.on_demand)])


def _cells(feature: StoredFeature | OnDemandFeature) -> tuple[str, ...]:
    """A row of `SHOWN`."""
    about = (", ".join(feature.tags), feature.doc.split("\n")[0])
    if isinstance(feature, OnDemandFeature):
        inputs = ", ".join((*feature.inputs, *(f"request.{name}" for name, _ in feature.request)))
        return (feature.name, feature.dtype, "on demand", inputs, "", "", *about)
    common = (feature.name, feature.dtype, feature.freshness)
    if isinstance(feature, WindowFeature):
        tile_us = feature.window.tile_us
        hop = "" if tile_us is None else format_duration(tile_us)
        return (*common, ", ".join(feature.source_names), str(feature.window), hop, *about)
    ttl = "" if feature.ttl_us is None else f", ttl {format_duration(feature.ttl_us)}"
    return (*common, feature.source, f"latest{ttl}", "", *about)


def inputs_of(plans: Iterable[GroupPlan]) -> dict[str, EventSource]:
    """By name, what has to be read for the groups: event sources, and the records of tables.

    Raises DefinitionError when two of them have one name.
    """
    found: dict[str, EventSource] = {}
    for plan in plans:
        for source in (*plan.streams, *(table.records for table in plan.tables)):
            if found.setdefault(source.name, source) != source:
                raise DefinitionError(
                    f"group {plan.name!r} ({plan.location}): source {source.name!r} is also defined differently; "
                    "one name is one source"
                )
    return found


def keys_of(plans: Iterable[GroupPlan], name: str) -> tuple[tuple[str, ...], ...]:
    """The columns that must not be null in what is read as `name`: the entity of each group, or a table's key."""
    found: dict[tuple[str, ...], None] = {}
    for plan in plans:
        for source in plan.streams:
            if source.name == name:
                found[tuple(column for column, _ in plan.entity if source.dtype(column) is not None)] = None
        for table in plan.tables:
            if table.records.name == name:
                found[table.key] = None
    return tuple(key for key in found if key)
