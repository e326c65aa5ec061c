"""What the batch compilers share: the units of a query, and feature values over the columns of the units.

A unit is what several features have in common: the partials of one source over one window and tier, those of the
sessions of one source under one filter and tier, or the greatest rank of one source under one filter and tier.
Window unit i has the columns `w<i>_p<j>`, session unit i `s<i>_p<j>`, lookup unit i the rank `l<i>` and the time
that it was asked for, `l<i>_q`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from featuredsl.aggregators import Partial
from featuredsl.compilers.relations import struct
from featuredsl.compilers.scalar import Dialect, render
from featuredsl.dtypes import DType
from featuredsl.nodes import Call, Column, Literal, Node, call
from featuredsl.plan import GroupPlan, LookupFeature, StoredFeature, WindowFeature
from featuredsl.tiers import TIERS, Tier
from featuredsl.tiles import rank_columns
from featuredsl.window_kinds import Session, Span


@dataclass(frozen=True, slots=True)
class WindowUnit:
    """The partials of one source over one window, asked at one tier's query time."""

    source: str
    window: Span
    freshness: str

    @property
    def tier(self) -> Tier:
        """The freshness tier."""
        return TIERS[self.freshness]


@dataclass(frozen=True, slots=True)
class SessionUnit:
    """The partials of the sessions that the events of one source make under one filter, asked at one tier's time."""

    source: str
    window: Session
    freshness: str
    where: Node | None

    @property
    def tier(self) -> Tier:
        """The freshness tier."""
        return TIERS[self.freshness]


@dataclass(frozen=True, slots=True)
class LookupUnit:
    """The greatest rank of one source under one filter, asked at one tier's query time."""

    source: str
    freshness: str
    columns: tuple[tuple[str, str], ...]
    where: Node | None

    @property
    def tier(self) -> Tier:
        """The freshness tier."""
        return TIERS[self.freshness]


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a query, in order of first use; of a lookup, the positions in its row that features read."""

    windows: dict[WindowUnit, tuple[Partial, ...]]
    sessions: dict[SessionUnit, tuple[Partial, ...]]
    lookups: dict[LookupUnit, tuple[int, ...]]

    @property
    def sources(self) -> set[str]:
        """The sources that they read."""
        return {u.source for u in self.windows} | {u.source for u in self.sessions} | {u.source for u in self.lookups}

    def column(self, feature: WindowFeature, partial: Partial) -> str:
        """The column that holds a partial of a feature."""
        unit = _window_unit(feature, partial)
        if isinstance(unit, SessionUnit):
            return f"s{list(self.sessions).index(unit)}_p{self.sessions[unit].index(partial)}"
        return f"w{list(self.windows).index(unit)}_p{self.windows[unit].index(partial)}"


def units_of(plan: GroupPlan, features: Sequence[StoredFeature]) -> Units:
    """The units that the features need."""
    windows: dict[WindowUnit, dict[Partial, None]] = {}
    sessions: dict[SessionUnit, dict[Partial, None]] = {}
    lookups: dict[LookupUnit, dict[int, None]] = {}
    for feature in features:
        if isinstance(feature, LookupFeature):
            lookups.setdefault(_lookup_unit(plan, feature), {})[_position(plan, feature)] = None
            continue
        for partial in feature.aggregate.partials:
            unit = _window_unit(feature, partial)
            if isinstance(unit, SessionUnit):
                sessions.setdefault(unit, {})[partial] = None
            else:
                windows.setdefault(unit, {})[partial] = None
    return Units(
        {unit: tuple(partials) for unit, partials in windows.items()},
        {unit: tuple(partials) for unit, partials in sessions.items()},
        {unit: tuple(sorted(positions)) for unit, positions in lookups.items()},
    )


def key_columns(plan: GroupPlan, dialect: Dialect) -> list[str]:
    """The entity columns, quoted."""
    return [dialect.ident(name) for name, _ in plan.entity]


def has_key(plan: GroupPlan, dialect: Dialect) -> str:
    """A null entity part never matches."""
    return " AND ".join(f"{key} IS NOT NULL" for key in key_columns(plan, dialect))


def null_of(dtype: DType, dialect: Dialect) -> str:
    """A typed null."""
    return f"CAST(NULL AS {dialect.type_name(dtype)})"


def rank_struct(unit: LookupUnit, dialect: Dialect) -> str:
    """A struct that orders like (event time, sequence, row), null lowest."""
    fields = [("t", "ts_us")]
    for i, (column, _) in enumerate(unit.columns):
        ident = dialect.ident(column)
        fields += [(f"n{i}", f"{ident} IS NOT NULL"), (f"v{i}", ident)]
    return struct(fields, dialect)


def value_columns(plan: GroupPlan, features: Sequence[StoredFeature], units: Units, dialect: Dialect) -> list[str]:
    """`value AS group__feature` for every feature, over the columns of the units."""
    return [
        f"{_value(plan, feature, units, dialect)} AS {dialect.ident(f'{plan.name}__{feature.name}')}"
        for feature in features
    ]


def _value(plan: GroupPlan, feature: StoredFeature, units: Units, dialect: Dialect) -> str:
    if isinstance(feature, LookupFeature):
        return _lookup_value(plan, feature, units, dialect)
    places = tuple(units.column(feature, partial) for partial in feature.aggregate.partials)
    return render(_placed(_with_default(feature.aggregate.finalize, feature), places), dialect)


def _lookup_value(plan: GroupPlan, feature: LookupFeature, units: Units, dialect: Dialect) -> str:
    rank = f"l{list(units.lookups).index(_lookup_unit(plan, feature))}"
    value = f"{rank}.v{_position(plan, feature)}"
    if feature.ttl_us is not None:
        value = f"CASE WHEN {rank}.t >= {rank}_q - {feature.ttl_us} THEN {value} END"
    if feature.default is None:
        return value
    return f"COALESCE({value}, {render(Literal(feature.default, feature.dtype), dialect)})"


def _position(plan: GroupPlan, feature: LookupFeature) -> int:
    """Where a feature's column stands in its row: behind the sequence, which may be a column too."""
    order = [column.name for column in rank_columns(plan, feature)]
    return len(order) - 1 - order[::-1].index(feature.column)


def _window_unit(feature: WindowFeature, partial: Partial) -> WindowUnit | SessionUnit:
    window = feature.window
    if isinstance(window, Session):
        return SessionUnit(partial.source, window, feature.freshness, feature.aggregate.filter)
    assert isinstance(window, Span)
    return WindowUnit(partial.source, window, feature.freshness)


def _lookup_unit(plan: GroupPlan, feature: LookupFeature) -> LookupUnit:
    columns = tuple((column.name, column.dtype) for column in rank_columns(plan, feature))
    return LookupUnit(feature.source, feature.freshness, columns, feature.where)


@lru_cache(maxsize=4096)
def _placed(node: Node, places: tuple[str, ...]) -> Node:
    """The node with its columns `p0`, `p1`, … bound to the columns of the window units."""
    if isinstance(node, Column):
        return Column(places[int(node.name[1:])], node.dtype)
    if isinstance(node, Literal):
        return node
    return Call(node.op, tuple(_placed(arg, places) for arg in node.args), node.dtype)


def _with_default(node: Node, feature: WindowFeature) -> Node:
    if feature.default is None:
        return node
    return call("coalesce", node, Literal(feature.default, feature.dtype))
