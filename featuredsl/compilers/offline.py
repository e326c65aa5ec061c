"""Plans to point-in-time SQL for DuckDB and Spark: one row of feature values per label, linear in rows.

A window `[low, high)` of length W (up to one hop more) touches at most two blocks of length W: the suffix of
the block of `low` and the prefix of the block of `high`. Both are running aggregates, so no label is ever
multiplied with its events and a heavy entity is spread over its blocks (van Herk 1992).

Inputs are views: one per source, named after it, with its columns and `ts_us` (event time in microseconds);
and a labels view with `label_id` (unique BIGINT), the entity columns and `ts_us`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from featuredsl.aggregators import Partial
from featuredsl.compilers.scalar import Dialect, floor_to, render
from featuredsl.nodes import Column, Literal, Node, call
from featuredsl.plan import GroupPlan, LookupFeature, StoredFeature, WindowFeature
from featuredsl.tiles import rank_columns
from featuredsl.windows import TIERS, Window

LABELS = "labels"


@dataclass(frozen=True, slots=True)
class _WindowUnit:
    """The partials of one source over one window, asked at one tier's query time."""

    source: str
    window: Window
    freshness: str


@dataclass(frozen=True, slots=True)
class _LookupUnit:
    """The greatest rank of one source under one filter, asked at one tier's query time."""

    source: str
    freshness: str
    columns: tuple[tuple[str, str], ...]
    where: Node | None


def point_in_time(
    plan: GroupPlan, dialect: Dialect, *, labels: str = LABELS, features: Sequence[str] | None = None
) -> str:
    """A SELECT of `label_id` and one column per stored feature of the group, named `group__feature`."""
    wanted = [f for f in plan.features if features is None or f.name in features]
    return _Query(plan, dialect, labels).select(wanted)


class _Query:
    def __init__(self, plan: GroupPlan, dialect: Dialect, labels: str) -> None:
        self.plan = plan
        self.dialect = dialect
        self.labels = dialect.ident(labels)
        self.keys = [dialect.ident(name) for name, _ in plan.entity]

    def select(self, features: Sequence[StoredFeature]) -> str:
        windows: dict[_WindowUnit, dict[Partial, None]] = {}
        lookups: dict[_LookupUnit, None] = {}
        for feature in features:
            if isinstance(feature, WindowFeature):
                for partial in feature.aggregate.partials:
                    windows.setdefault(_window_unit(feature, partial), {})[partial] = None
            else:
                lookups[_lookup_unit(self.plan, feature)] = None
        names: dict[_WindowUnit | _LookupUnit, str] = {}
        ctes: list[str] = []
        for i, (window_unit, partials) in enumerate(windows.items()):
            names[window_unit] = f"w{i}"
            ctes += self.window_ctes(f"w{i}", window_unit, tuple(partials))
        for i, lookup_unit in enumerate(lookups):
            names[lookup_unit] = f"l{i}"
            ctes += self.lookup_ctes(f"l{i}", lookup_unit)
        values = [self.value(feature, names, windows) for feature in features]
        columns = ",\n  ".join(["l.label_id", *values])
        joins = "".join(f"\nLEFT JOIN {name} ON {name}.label_id = l.label_id" for name in names.values())
        with_clause = "WITH " + ",\n".join(ctes) + "\n" if ctes else ""
        return f"{with_clause}SELECT {columns}\nFROM {self.labels} l{joins}"

    def query_time(self, freshness: str) -> str:
        tier = TIERS[freshness]
        return "ts_us" if tier.period_us == 0 else floor_to(f"(ts_us - {tier.delay_us})", str(tier.period_us))

    def window_ctes(self, name: str, unit: _WindowUnit, partials: tuple[Partial, ...]) -> list[str]:
        window = unit.window
        keys = ", ".join(self.keys)
        asked = self.query_time(unit.freshness)
        low = floor_to(f"({asked} - {window.size_us + window.offset_us})", str(window.hop_us))
        high = floor_to(f"({asked} - {window.offset_us})", str(window.hop_us)) if window.offset_us else asked
        lifts = ", ".join(f"{render(p.lift, self.dialect)} AS p{i}" for i, p in enumerate(partials))
        nulls = ", ".join(f"CAST(NULL AS {self.dialect.type_name(p.dtype)}) AS p{i}" for i, p in enumerate(partials))
        columns = ", ".join(f"p{i}" for i in range(len(partials)))
        over = ", ".join(f"{p.merge.upper()}(p{i}) OVER w AS p{i}" for i, p in enumerate(partials))
        final = ", ".join(self.cast(f"{p.merge.upper()}(p{i})", p) + f" AS p{i}" for i, p in enumerate(partials))
        events = (
            f"{name}_events AS (SELECT {keys}, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, {lifts}\n"
            f"  FROM {self.dialect.ident(unit.source)} WHERE {self.has_key()})"
        )
        asked_at = f"{name}_asked AS (SELECT label_id, {keys}, {low} AS low, {high} AS high FROM {self.labels})"

        def side(edge: str) -> str:
            return (
                f"SELECT {keys}, {floor_to('k', str(window.size_us))} AS block, k, label_id, {columns} "
                f"FROM {name}_events UNION ALL SELECT {keys}, {floor_to(edge, str(window.size_us))}, {edge}, "
                f"label_id, {nulls} FROM {name}_asked"
            )

        running = (
            f"{name}_running AS (\n"
            f"  SELECT label_id, {over} FROM ({side('high')}) s WINDOW w AS (PARTITION BY {keys}, block "
            "ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)\n"
            f"  UNION ALL SELECT label_id, {over} FROM ({side('low')}) s WINDOW w AS (PARTITION BY {keys}, block "
            "ORDER BY k DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW))"
        )
        merged = (
            f"{name} AS (SELECT label_id, {final} FROM {name}_running WHERE label_id IS NOT NULL GROUP BY label_id)"
        )
        return [events, asked_at, running, merged]

    def cast(self, text: str, partial: Partial) -> str:
        return f"CAST({text} AS {self.dialect.type_name(partial.dtype)})"

    def has_key(self) -> str:
        return " AND ".join(f"{key} IS NOT NULL" for key in self.keys)

    def lookup_ctes(self, name: str, unit: _LookupUnit) -> list[str]:
        keys = ", ".join(self.keys)
        where = "" if unit.where is None else f" AND ({render(unit.where, self.dialect)})"
        rank = self.rank_struct(unit.columns)
        return [
            f"{name}_rows AS (SELECT {keys}, ts_us AS k, CAST(NULL AS BIGINT) AS label_id, {rank} AS r\n"
            f"  FROM {self.dialect.ident(unit.source)} WHERE {self.has_key()}{where}\n"
            f"  UNION ALL SELECT {keys}, {self.query_time(unit.freshness)}, label_id, NULL FROM {self.labels})",
            f"{name}_running AS (SELECT label_id, k, MAX(r) OVER (PARTITION BY {keys} ORDER BY k "
            f"RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS r FROM {name}_rows)",
            f"{name} AS (SELECT label_id, k, r FROM {name}_running WHERE label_id IS NOT NULL)",
        ]

    def rank_struct(self, columns: Iterable[tuple[str, str]]) -> str:
        fields = [("t", "ts_us")]
        for i, (column, _) in enumerate(columns):
            ident = self.dialect.ident(column)
            fields += [(f"n{i}", f"{ident} IS NOT NULL"), (f"v{i}", ident)]
        if self.dialect.name == "spark":
            return "named_struct(" + ", ".join(f"'{key}', {value}" for key, value in fields) + ")"
        return "{" + ", ".join(f"'{key}': {value}" for key, value in fields) + "}"

    def value(
        self,
        feature: StoredFeature,
        names: dict[_WindowUnit | _LookupUnit, str],
        windows: dict[_WindowUnit, dict[Partial, None]],
    ) -> str:
        if isinstance(feature, WindowFeature):
            places: list[tuple[str, str]] = []
            for partial in feature.aggregate.partials:
                unit = _window_unit(feature, partial)
                places.append((names[unit], f"p{list(windows[unit]).index(partial)}"))
            text = render(_placed(_with_default(feature.aggregate.finalize, feature), places), self.dialect)
        else:
            text = self.lookup_value(feature, names[_lookup_unit(self.plan, feature)])
        return f"{text} AS {self.dialect.ident(f'{self.plan.name}__{feature.name}')}"

    def lookup_value(self, feature: LookupFeature, name: str) -> str:
        order = [column.name for column in rank_columns(self.plan, feature)]
        position = len(order) - 1 - order[::-1].index(feature.column)
        value = f"{name}.r.v{position}"
        if feature.ttl_us is not None:
            value = f"CASE WHEN {name}.r.t >= {name}.k - {feature.ttl_us} THEN {value} END"
        if feature.default is None:
            return value
        return f"COALESCE({value}, {render(Literal(feature.default, feature.dtype), self.dialect)})"


def _window_unit(feature: WindowFeature, partial: Partial) -> _WindowUnit:
    return _WindowUnit(partial.source, feature.window, feature.freshness)


def _lookup_unit(plan: GroupPlan, feature: LookupFeature) -> _LookupUnit:
    columns = tuple((column.name, column.dtype) for column in rank_columns(plan, feature))
    return _LookupUnit(feature.source, feature.freshness, columns, feature.where)


def _placed(node: Node, places: Sequence[tuple[str, str]]) -> Node:
    """The node with its columns `p0`, `p1`, … bound to the columns of the window units."""
    if isinstance(node, Column):
        unit, column = places[int(node.name[1:])]
        return Column(column, node.dtype, unit)
    if isinstance(node, Literal):
        return node
    return call(node.op, *(_placed(arg, places) for arg in node.args))


def _with_default(node: Node, feature: WindowFeature) -> Node:
    if feature.default is None:
        return node
    return call("coalesce", node, Literal(feature.default, feature.dtype))
