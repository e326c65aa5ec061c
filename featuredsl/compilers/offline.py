"""Plans to point-in-time SQL for DuckDB and Spark: one row of feature values per label, linear in rows.

A window `[low, high)` of length W (up to one hop more) touches at most two blocks of length W: the suffix of
the block of `low` and the prefix of the block of `high`. Both are running aggregates, so no label is ever
multiplied with its events and a heavy entity is spread over its blocks (van Herk 1992).

All units of a group are stacked in one relation, told apart by `fdsl_unit`: the prefixes and the suffixes (in
descending time) of every window, and the lookups (one block). So any number of features costs one window
operator and one grouping, which matters where planning and shuffles dominate.

Inputs are views: one per source, named after it, with its columns, `ts_us` (event time in microseconds) and, where
it has an arrival time, `arrival_us`; and a labels view with `label_id` (unique BIGINT), the entity columns and `ts_us`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from featuredsl.aggregators import Merge, Partial
from featuredsl.compilers import visible
from featuredsl.compilers.relations import Relations
from featuredsl.compilers.scalar import Dialect, floor_to, render
from featuredsl.compilers.units import (
    LookupUnit,
    Units,
    WindowUnit,
    has_key,
    key_columns,
    null_of,
    rank_struct,
    units_of,
    value_columns,
)
from featuredsl.dtypes import DType
from featuredsl.plan import GroupPlan
from featuredsl.windows import Tier

LABELS = "labels"
UNIT = "fdsl_unit"


def point_in_time(
    plan: GroupPlan,
    dialect: Dialect,
    *,
    labels: str = LABELS,
    features: Sequence[str] | None = None,
    as_known: bool = True,
) -> str:
    """A SELECT of `label_id` and one column per stored feature of the group, named `group__feature`.

    Without `as_known` an event counts from its event time, whenever it arrived.
    """
    wanted = [f for f in plan.features if features is None or f.name in features]
    units = units_of(plan, wanted)
    if not wanted:
        return f"SELECT label_id FROM {dialect.ident(labels)}"
    columns = ",\n  ".join(["label_id", *value_columns(plan, wanted, units, dialect)])
    return f"{_Stack(plan, dialect, units, as_known).ctes(labels)}\nSELECT {columns}\nFROM merged"


@dataclass(frozen=True, slots=True)
class _Slot:
    """A column that partials of one kind share: those of different units never meet in a row."""

    merge: Merge
    dtype: DType
    number: int

    @property
    def name(self) -> str:
        return f"{self.merge}_{self.dtype}_{self.number}"


class _Stack:
    """One relation of all units: window i has the numbers 2i (prefix) and 2i+1 (suffix), then the lookups, then what
    is late (see `visible`)."""

    def __init__(self, plan: GroupPlan, dialect: Dialect, units: Units, as_known: bool) -> None:
        self.plan = plan
        self.dialect = dialect
        self.windows = list(units.windows.items())
        self.lookups = list(units.lookups)
        self.slots = {unit: _slots(partials) for unit, partials in self.windows}
        names = {slot.name: slot for slots in self.slots.values() for slot in slots}
        self.all_slots = [names[name] for name in sorted(names)]
        self.keys = [f"k{i}" for i in range(len(plan.entity))]
        self.relations = Relations(dialect)
        self.timed = {s.name for s in plan.sources if as_known and s.arrival_time is not None}
        timed = {i: unit for i, (unit, _) in enumerate(self.windows) if unit.source in self.timed}
        self.late = visible.late_parts(timed, 2 * len(self.windows) + len(self.lookups))
        self.levels = visible.levels_of(list(timed.values())) if timed else 0

    def ctes(self, labels: str) -> str:
        sources = dict.fromkeys([unit.source for unit, _ in self.windows] + [u.source for u in self.lookups])
        late = [self.late_events(name) for name in sources if any(part.source == name for part in self.late_units())]
        asked = [self.asked(labels), self.late_asked(labels)] if late else [self.asked(labels)]
        rows = "\n  UNION ALL ".join([*(self.events(name) for name in sources), *late, *asked])
        over = [f"{slot.merge.upper()}({slot.name}) OVER w AS {slot.name}" for slot in self.all_slots]
        over += [f"MAX(r{i}) OVER w AS r{i}" for i in range(len(self.lookups))]
        part = ", ".join([*self.keys, UNIT, "b"])
        return (
            f"WITH {self.relations.prefix()}stacked AS (\n  {rows}),\n"
            f"running AS (SELECT label_id, {UNIT}, o, {', '.join(over)}\n"
            f"  FROM stacked WINDOW w AS (PARTITION BY {part} ORDER BY o "
            "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),\n"
            f"merged AS (SELECT label_id, {', '.join(self.merged())}\n"
            "  FROM running WHERE label_id IS NOT NULL GROUP BY label_id)"
        )

    def events(self, source: str) -> str:
        """The events of a source, once for each side of each of its units."""
        mine = {2 * i: unit for i, (unit, _) in enumerate(self.windows) if unit.source == source}
        latest = {n: unit for n, unit in self.numbered_lookups() if unit.source == source}
        numbers = [n + side for n in mine for side in (0, 1)] + list(latest)
        blocks = {f"{n}, {n + 1}": floor_to("ts_us", str(unit.window.size_us)) for n, unit in mine.items()}
        suffixes = ", ".join(str(n + 1) for n in mine)
        numbered = {n + side: n // 2 for n in mine for side in (0, 1)}
        order = f"CASE WHEN {UNIT} IN ({suffixes}) THEN -ts_us ELSE ts_us END" if mine else "ts_us"
        where = self.key_given()
        if source in self.timed:
            order, where = self.seen_order(mine, latest), f"{where}{self.prompt(mine)}"
        columns = [
            *(f"{key} AS k{i}" for i, key in enumerate(key_columns(self.plan, self.dialect))),
            UNIT,
            f"{_choose(blocks, otherwise='0')} AS b",
            f"{order} AS o",
            "CAST(NULL AS BIGINT) AS label_id",
            *(f"{self.lift(slot, numbered)} AS {slot.name}" for slot in self.all_slots),
            *(f"{self.rank(number, unit, source)} AS r{i}" for i, (number, unit) in self.ranked()),
        ]
        return f"SELECT {', '.join(columns)}\n  FROM {self.times(self.relation(source), numbers)} WHERE {where}"

    def asked(self, labels: str) -> str:
        """The labels, once for each side of each unit, at the edge that they ask for."""
        edges: dict[str, str] = {}
        blocks: dict[str, str] = {}
        for i, (unit, _) in enumerate(self.windows):
            low, high = _bounds(unit)
            size = str(unit.window.size_us)
            edges |= {str(2 * i): high, str(2 * i + 1): f"1 - {low}"}
            blocks |= {str(2 * i): floor_to(high, size), str(2 * i + 1): floor_to(low, size)}
        edges |= {str(number): _query_time(unit.tier) for number, unit in self.numbered_lookups()}
        numbers = list(range(2 * len(self.windows) + len(self.lookups)))
        nulls = [f"{null_of(slot.dtype, self.dialect)}" for slot in self.all_slots] + ["NULL"] * len(self.lookups)
        columns = [
            *key_columns(self.plan, self.dialect),
            UNIT,
            _choose(blocks, otherwise="0"),
            _choose(edges, otherwise="NULL"),
            "label_id",
            *nulls,
        ]
        return f"SELECT {', '.join(columns)}\n  FROM {self.times(self.dialect.ident(labels), numbers)}"

    def seen_order(self, mine: Mapping[int, WindowUnit], latest: Mapping[int, LookupUnit]) -> str:
        """The order of events with an arrival time: what was seen, except where the event time decides."""
        cases = {str(n + 1): "-ts_us" for n in mine}
        cases |= {str(n): visible.seen(unit.tier) for n, unit in mine.items() if not unit.window.offset_us}
        cases |= {str(n): visible.seen(unit.tier) for n, unit in latest.items()}
        return _choose(cases, otherwise="ts_us")

    def prompt(self, mine: Mapping[int, WindowUnit]) -> str:
        cases = {str(n + 1): visible.is_prompt(unit, suffix=True) for n, unit in mine.items()}
        cases |= {str(n): visible.is_prompt(u, suffix=False) for n, u in mine.items() if u.window.offset_us}
        return f" AND {_choose(cases, otherwise='TRUE')}" if cases else ""

    def late_units(self) -> list[WindowUnit]:
        return [self.windows[part.window][0] for part in self.late]

    def late_events(self, source: str) -> str:
        """The events of a source that come late, in a node of each level."""
        parts = [(part, unit) for part, unit in zip(self.late, self.late_units(), strict=True) if unit.source == source]
        nodes = {str(p.number): visible.event_node(unit, p.suffix, self.dialect) for p, unit in parts}
        late = {str(p.number): visible.is_late(unit, p.suffix) for p, unit in parts}
        order = {str(p.number): visible.seen(unit.tier) for p, unit in parts}
        rows = self.times(self.relation(source), [p.number for p, _ in parts])
        lifts = [self.lift(slot, {p.number: p.window for p, _ in parts}) for slot in self.all_slots]
        columns = [
            *key_columns(self.plan, self.dialect),
            f"{UNIT} + fdsl_level",
            self.node(),
            _choose(order, otherwise="NULL"),
            "CAST(NULL AS BIGINT)",
            *lifts,
            *("NULL" for _ in self.lookups),
        ]
        placed = f"(SELECT *, {self.placed(nodes)} FROM {rows} WHERE {self.key_given()} AND {_choose(late, 'FALSE')}) e"
        hops = _choose({str(p.number): str(visible.hops_of(unit)) for p, unit in parts}, otherwise="0")
        leveled = visible.leveled(placed, self.levels, self.dialect)
        return f"SELECT {', '.join(columns)}\n  FROM {leveled} WHERE fdsl_step <= {hops}"

    def late_asked(self, labels: str) -> str:
        """The labels, once for each node that they ask for."""
        parts = list(zip(self.late, self.late_units(), strict=True))
        edges = {p.number: visible.Edges(_query_time(unit.tier), *_bounds(unit)) for p, unit in parts}
        nodes = {str(p.number): visible.asked_node(u, p.suffix, edges[p.number], self.dialect) for p, u in parts}
        order = {str(number): edge.asked for number, edge in edges.items()}
        rows = self.times(self.dialect.ident(labels), [p.number for p in self.late])
        columns = [
            *key_columns(self.plan, self.dialect),
            f"{UNIT} + fdsl_level",
            f"{self.node()} - 1",
            _choose(order, otherwise="NULL"),
            "label_id",
            *(null_of(slot.dtype, self.dialect) for slot in self.all_slots),
            *("NULL" for _ in self.lookups),
        ]
        leveled = visible.leveled(f"(SELECT *, {self.placed(nodes)} FROM {rows}) a", self.levels, self.dialect)
        odd = f"(fdsl_place {self.dialect.int_division} fdsl_step) % 2 = 1"
        return f"SELECT {', '.join(columns)}\n  FROM {leveled} WHERE {odd}"

    def node(self) -> str:
        return f"fdsl_block + fdsl_place {self.dialect.int_division} fdsl_step"

    def placed(self, nodes: Mapping[str, tuple[str, str]]) -> str:
        blocks = _choose({number: block for number, (block, _) in nodes.items()}, otherwise="NULL")
        places = _choose({number: place for number, (_, place) in nodes.items()}, otherwise="NULL")
        return f"{blocks} AS fdsl_block, {places} AS fdsl_place"

    def relation(self, source: str) -> str:
        return self.relations.of(self.plan.source(source))

    def merged(self) -> list[str]:
        columns = []
        for i, (unit, partials) in enumerate(self.windows):
            late = [p.number + level for p in self.late if p.window == i for level in range(self.levels)]
            numbers = ", ".join(map(str, [2 * i, 2 * i + 1, *late]))
            for j, (slot, partial) in enumerate(zip(self.slots[unit], partials, strict=True)):
                value = f"{slot.merge.upper()}(CASE WHEN {UNIT} IN ({numbers}) THEN {slot.name} END)"
                columns.append(f"CAST({value} AS {self.dialect.type_name(partial.dtype)}) AS w{i}_p{j}")
        for i, (number, _) in self.ranked():
            mine = f"CASE WHEN {UNIT} = {number} THEN"
            columns += [f"MAX({mine} r{i} END) AS l{i}", f"MAX({mine} o END) AS l{i}_q"]
        return columns

    def lift(self, slot: _Slot, numbers_of: Mapping[int, int]) -> str:
        """What a row puts into a slot, by the numbers that stand for windows."""
        by_lift: dict[str, list[int]] = {}
        for number, window in numbers_of.items():
            unit, partials = self.windows[window]
            for own, partial in zip(self.slots[unit], partials, strict=True):
                if own == slot:
                    by_lift.setdefault(render(partial.lift, self.dialect), []).append(number)
        cases = {", ".join(map(str, numbers)): text for text, numbers in by_lift.items()}
        return _choose(cases, otherwise=null_of(slot.dtype, self.dialect))

    def rank(self, number: int, unit: LookupUnit, source: str) -> str:
        if unit.source != source:
            return "NULL"
        where = "" if unit.where is None else f" AND ({render(unit.where, self.dialect)})"
        return f"CASE WHEN {UNIT} = {number}{where} THEN {rank_struct(unit, self.dialect)} END"

    def numbered_lookups(self) -> list[tuple[int, LookupUnit]]:
        first = 2 * len(self.windows)
        return [(first + i, unit) for i, unit in enumerate(self.lookups)]

    def ranked(self) -> list[tuple[int, tuple[int, LookupUnit]]]:
        return list(enumerate(self.numbered_lookups()))

    def key_given(self) -> str:
        return has_key(self.plan, self.dialect)

    def times(self, relation: str, numbers: Sequence[int]) -> str:
        """The relation with every row repeated for each number."""
        return _REPEATED[self.dialect.name](relation, numbers)


def _repeated_duckdb(view: str, numbers: Sequence[int]) -> str:
    values = ", ".join(f"({number})" for number in numbers)
    return f"{view} CROSS JOIN (VALUES {values}) AS fdsl_units({UNIT})"


def _repeated_spark(view: str, numbers: Sequence[int]) -> str:
    return f"{view} LATERAL VIEW explode(array({', '.join(map(str, numbers))})) fdsl_units AS {UNIT}"


_REPEATED: dict[str, Callable[[str, Sequence[int]], str]] = {
    "duckdb": _repeated_duckdb,
    "spark": _repeated_spark,
}


def _slots(partials: Sequence[Partial]) -> tuple[_Slot, ...]:
    used: dict[tuple[Merge, DType], int] = {}
    slots = []
    for partial in partials:
        kind = (partial.merge, partial.dtype)
        used[kind] = used.get(kind, -1) + 1
        slots.append(_Slot(*kind, used[kind]))
    return tuple(slots)


def _query_time(tier: Tier) -> str:
    return "ts_us" if tier.period_us == 0 else floor_to(f"(ts_us - {tier.delay_us})", str(tier.period_us))


def _bounds(unit: WindowUnit) -> tuple[str, str]:
    window, asked = unit.window, _query_time(unit.tier)
    low = floor_to(f"({asked} - {window.size_us + window.offset_us})", str(window.hop_us))
    if not window.offset_us:
        return low, asked
    return low, floor_to(f"({asked} - {window.offset_us})", str(window.hop_us))


def _choose(cases: Mapping[str, str], otherwise: str) -> str:
    """A CASE over the unit; the keys are lists of numbers."""
    if not cases:
        return otherwise
    arms = " ".join(f"WHEN {UNIT} IN ({numbers}) THEN {text}" for numbers, text in cases.items())
    return f"CASE {arms} ELSE {otherwise} END"
