"""Plans to point-in-time SQL for DuckDB and Spark: one row of feature values per label, linear in rows.

DuckDB gets range frames and ASOF joins (`ranges`). Spark gets blocks:

A window `[low, high)` of length W (up to one hop more) touches at most two blocks of length W: the suffix of
the block of `low` and the prefix of the block of `high`. Both are running aggregates, so no label is ever
multiplied with its events and a heavy entity is spread over its blocks (van Herk 1992).

All units of a group are stacked in one relation, told apart by `fdsl_unit`: the prefixes and the suffixes (in
descending time) of every window, and the lookups (one block). So any number of features costs one window
operator and one grouping, which matters where planning and shuffles dominate.

Inputs are views: one per source, named after it, with its columns and `ts_us` (event time in microseconds);
and a labels view with `label_id` (unique BIGINT), the entity columns and `ts_us`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from featuredsl.aggregators import Merge, Partial
from featuredsl.compilers.ranges import Ranges
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
    plan: GroupPlan, dialect: Dialect, *, labels: str = LABELS, features: Sequence[str] | None = None
) -> str:
    """A SELECT of `label_id` and one column per stored feature of the group, named `group__feature`."""
    wanted = [f for f in plan.features if features is None or f.name in features]
    units = units_of(plan, wanted)
    if not wanted:
        return f"SELECT label_id FROM {dialect.ident(labels)}"
    columns = ",\n  ".join(["label_id", *value_columns(plan, wanted, units, dialect)])
    if dialect.name == "duckdb":
        ctes = Ranges(plan, dialect, units, _bounds, _query_time).ctes(labels)
    else:
        ctes = _Stack(plan, dialect, units).ctes(labels)
    return f"{ctes}\nSELECT {columns}\nFROM merged"


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
    """One relation of all units: window i has the numbers 2i (prefix) and 2i+1 (suffix), then the lookups."""

    def __init__(self, plan: GroupPlan, dialect: Dialect, units: Units) -> None:
        self.plan = plan
        self.dialect = dialect
        self.windows = list(units.windows.items())
        self.lookups = list(units.lookups)
        self.slots = {unit: _slots(partials) for unit, partials in self.windows}
        names = {slot.name: slot for slots in self.slots.values() for slot in slots}
        self.all_slots = [names[name] for name in sorted(names)]
        self.keys = [f"k{i}" for i in range(len(plan.entity))]

    def ctes(self, labels: str) -> str:
        sources = dict.fromkeys([unit.source for unit, _ in self.windows] + [u.source for u in self.lookups])
        rows = "\n  UNION ALL ".join([*(self.events(name) for name in sources), self.asked(labels)])
        over = [f"{slot.merge.upper()}({slot.name}) OVER w AS {slot.name}" for slot in self.all_slots]
        over += [f"MAX(r{i}) OVER w AS r{i}" for i in range(len(self.lookups))]
        part = ", ".join([*self.keys, UNIT, "b"])
        return (
            f"WITH stacked AS (\n  {rows}),\n"
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
        order = f"CASE WHEN {UNIT} IN ({suffixes}) THEN -ts_us ELSE ts_us END" if mine else "ts_us"
        columns = [
            *(f"{key} AS k{i}" for i, key in enumerate(key_columns(self.plan, self.dialect))),
            UNIT,
            f"{_choose(blocks, otherwise='0')} AS b",
            f"{order} AS o",
            "CAST(NULL AS BIGINT) AS label_id",
            *(f"{self.lift(slot, mine)} AS {slot.name}" for slot in self.all_slots),
            *(f"{self.rank(number, unit, source)} AS r{i}" for i, (number, unit) in self.ranked()),
        ]
        return f"SELECT {', '.join(columns)}\n  FROM {self.times(source, numbers)} WHERE {self.key_given()}"

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
        return f"SELECT {', '.join(columns)}\n  FROM {self.times(labels, numbers)}"

    def merged(self) -> list[str]:
        columns = []
        for i, (unit, partials) in enumerate(self.windows):
            for j, (slot, partial) in enumerate(zip(self.slots[unit], partials, strict=True)):
                value = f"{slot.merge.upper()}(CASE WHEN {UNIT} IN ({2 * i}, {2 * i + 1}) THEN {slot.name} END)"
                columns.append(f"CAST({value} AS {self.dialect.type_name(partial.dtype)}) AS w{i}_p{j}")
        for i, (number, _) in self.ranked():
            mine = f"CASE WHEN {UNIT} = {number} THEN"
            columns += [f"MAX({mine} r{i} END) AS l{i}", f"MAX({mine} o END) AS l{i}_q"]
        return columns

    def lift(self, slot: _Slot, mine: Mapping[int, WindowUnit]) -> str:
        by_lift: dict[str, list[int]] = {}
        for number, unit in mine.items():
            for own, partial in zip(self.slots[unit], self.windows[number // 2][1], strict=True):
                if own == slot:
                    by_lift.setdefault(render(partial.lift, self.dialect), []).extend((number, number + 1))
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

    def times(self, view: str, numbers: Sequence[int]) -> str:
        """The view with every row repeated for each number."""
        return _REPEATED[self.dialect.name](self.dialect.ident(view), numbers)


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
