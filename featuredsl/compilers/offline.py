"""Plans to point-in-time SQL for DuckDB and Spark: one row of feature values per label, linear in rows.

A window `[low, high)` of length W (up to one hop more) touches at most two blocks of length W: the suffix of
the block of `low` and the prefix of the block of `high`. Both are running aggregates, so no label is ever
multiplied with its events and a heavy entity is spread over its blocks (van Herk 1992).

All units of a group are stacked in one relation, told apart by `fdsl_unit`: the prefixes and the suffixes (in
descending time) of every window, the lookups and the closed sessions (one block). A tumbling window is one whole
block and a lifetime the prefix of the only one: each needs one side. So any number of features costs one window
operator and one grouping, which matters where planning and shuffles dominate.

Inputs are views: one per source, named after it, with its columns and `ts_us` (event time in microseconds);
and a labels view with `label_id` (unique BIGINT), the entity columns and `ts_us`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from featuredsl.aggregators import Merge, Partial
from featuredsl.compilers.edges import edge, query_time
from featuredsl.compilers.scalar import Dialect, floor_to, render
from featuredsl.compilers.sessions import closed_sessions
from featuredsl.compilers.units import (
    LookupUnit,
    SessionUnit,
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

LABELS = "labels"
UNIT = "fdsl_unit"


def point_in_time(
    plan: GroupPlan, dialect: Dialect, *, labels: str = LABELS, features: Sequence[str] | None = None
) -> str:
    """A SELECT of `label_id` and one column per stored feature of the group, named `group__feature`.

    Wide features are left out: `compilers.wide` feeds them.
    """
    wanted = [f for f in plan.features if (features is None or f.name in features) and f not in plan.wide]
    units = units_of(plan, wanted)
    if not wanted:
        return f"SELECT label_id FROM {dialect.ident(labels)}"
    columns = ",\n  ".join(["label_id", *value_columns(plan, wanted, units, dialect)])
    return f"{_Stack(plan, dialect, units).ctes(labels)}\nSELECT {columns}\nFROM merged"


@dataclass(frozen=True, slots=True)
class _Slot:
    """A column that partials of one kind share: those of different units never meet in a row."""

    merge: Merge
    dtype: DType
    number: int

    @property
    def name(self) -> str:
        return f"{self.merge}_{self.dtype}_{self.number}"


@dataclass(frozen=True, slots=True)
class _Side:
    """One running aggregate of a window: the block and the edge in it that a label asks for. Running back in time
    it takes the end of a block from the edge on, else the start up to the edge."""

    block: str
    edge: str
    back: bool = False


def _sides(unit: WindowUnit) -> tuple[_Side, ...]:
    window, asked = unit.window, query_time(unit.tier)
    high = edge(window.high, asked)
    if window.low is None:
        return (_Side("0", high),)
    low, size = edge(window.low, asked), str(window.block_us)
    if window.fills_block:
        return (_Side(low, high),)
    return _Side(floor_to(high, size), high), _Side(floor_to(low, size), f"1 - {low}", back=True)


class _Stack:
    """One relation of all units, numbered: the sides of each window, then the lookups, then the sessions."""

    def __init__(self, plan: GroupPlan, dialect: Dialect, units: Units) -> None:
        self.plan = plan
        self.dialect = dialect
        self.windows = list(units.windows.items())
        self.lookups = list(units.lookups)
        self.sessions = list(units.sessions.items())
        self.sides = [_sides(unit) for unit, _ in self.windows]
        firsts = list(accumulate((len(sides) for sides in self.sides), initial=0))
        self.numbers = [tuple(range(a, b)) for a, b in pairwise(firsts)]
        self.first_lookup = firsts[-1]
        self.slots = {unit: _slots(partials) for unit, partials in self.windows}
        names = {slot.name: slot for slots in self.slots.values() for slot in slots}
        self.all_slots = [names[name] for name in sorted(names)]
        self.keys = [f"k{i}" for i in range(len(plan.entity))]

    def ctes(self, labels: str) -> str:
        sources = dict.fromkeys([unit.source for unit, _ in self.windows] + [u.source for u in self.lookups])
        events = [self.events(name) for name in sources] + [self.closed(i) for i in range(len(self.sessions))]
        rows = "\n  UNION ALL ".join([*events, self.asked(labels)])
        over = [f"{slot.merge.upper()}({slot.name}) OVER w AS {slot.name}" for slot in self.all_slots]
        over += [f"MAX(r{i}) OVER w AS r{i}" for i in range(len(self.lookups) + len(self.sessions))]
        part = ", ".join([*self.keys, UNIT, "b"])
        session_ctes = "".join(
            f"{cte},\n"
            for i, (unit, partials) in enumerate(self.sessions)
            for cte in closed_sessions(f"fdsl_session_{i}", unit, partials, self.plan, self.dialect)
        )
        return (
            f"WITH {session_ctes}stacked AS (\n  {rows}),\n"
            f"running AS (SELECT label_id, {UNIT}, o, {', '.join(over)}\n"
            f"  FROM stacked WINDOW w AS (PARTITION BY {part} ORDER BY o "
            "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),\n"
            f"merged AS (SELECT label_id, {', '.join(self.merged())}\n"
            "  FROM running WHERE label_id IS NOT NULL GROUP BY label_id)"
        )

    def events(self, source: str) -> str:
        """The events of a source, once for each side of each of its units."""
        mine = [i for i, (unit, _) in enumerate(self.windows) if unit.source == source]
        latest = {n: unit for n, unit in self.numbered_lookups() if unit.source == source}
        numbers = [n for i in mine for n in self.numbers[i]] + list(latest)
        sizes = {_listed(self.numbers[i]): self.windows[i][0].window.block_us for i in mine}
        blocks = {listed: floor_to("ts_us", str(size)) for listed, size in sizes.items() if size is not None}
        back = [n for i in mine for n, side in zip(self.numbers[i], self.sides[i], strict=True) if side.back]
        order = f"CASE WHEN {UNIT} IN ({_listed(back)}) THEN -ts_us ELSE ts_us END" if back else "ts_us"
        columns = [
            *(f"{key} AS k{i}" for i, key in enumerate(key_columns(self.plan, self.dialect))),
            UNIT,
            f"{_choose(blocks, otherwise='0')} AS b",
            f"{order} AS o",
            "CAST(NULL AS BIGINT) AS label_id",
            *(f"{self.lift(slot, mine)} AS {slot.name}" for slot in self.all_slots),
            *(f"{self.rank(number, unit, source)} AS r{i}" for i, (number, unit) in self.ranked()),
            *(f"NULL AS r{i}" for i, _, _ in self.numbered_sessions()),
        ]
        return f"SELECT {', '.join(columns)}\n  FROM {self.times(source, numbers)} WHERE {self.key_given()}"

    def closed(self, index: int) -> str:
        """The sessions of a unit; one that closes at the time that is asked for has closed."""
        mine = len(self.lookups) + index
        ranks = ["r" if i == mine else "NULL" for i in range(len(self.lookups) + len(self.sessions))]
        columns = [
            *self.keys,
            f"{self.numbered_sessions()[index][1]} AS {UNIT}",
            "0 AS b",
            "closed - 1 AS o",
            "CAST(NULL AS BIGINT) AS label_id",
            *(f"{null_of(slot.dtype, self.dialect)} AS {slot.name}" for slot in self.all_slots),
            *(f"{value} AS r{i}" for i, value in enumerate(ranks)),
        ]
        return f"SELECT {', '.join(columns)} FROM fdsl_session_{index}"

    def asked(self, labels: str) -> str:
        """The labels, once for each side of each unit, at the edge that they ask for."""
        edges: dict[str, str] = {}
        blocks: dict[str, str] = {}
        for numbers, sides in zip(self.numbers, self.sides, strict=True):
            edges |= {str(n): side.edge for n, side in zip(numbers, sides, strict=True)}
            blocks |= {str(n): side.block for n, side in zip(numbers, sides, strict=True)}
        edges |= {str(number): query_time(unit.tier) for number, unit in self.numbered_lookups()}
        edges |= {str(number): query_time(unit.tier) for _, number, unit in self.numbered_sessions()}
        ranks = len(self.lookups) + len(self.sessions)
        nulls = [f"{null_of(slot.dtype, self.dialect)}" for slot in self.all_slots] + ["NULL"] * ranks
        columns = [
            *key_columns(self.plan, self.dialect),
            UNIT,
            _choose(blocks, otherwise="0"),
            _choose(edges, otherwise="NULL"),
            "label_id",
            *nulls,
        ]
        return f"SELECT {', '.join(columns)}\n  FROM {self.times(labels, [int(number) for number in edges])}"

    def merged(self) -> list[str]:
        columns = []
        for i, (unit, partials) in enumerate(self.windows):
            for j, (slot, partial) in enumerate(zip(self.slots[unit], partials, strict=True)):
                value = f"{slot.merge.upper()}(CASE WHEN {UNIT} IN ({_listed(self.numbers[i])}) THEN {slot.name} END)"
                columns.append(f"CAST({value} AS {self.dialect.type_name(partial.dtype)}) AS w{i}_p{j}")
        for i, (number, _) in self.ranked():
            mine = f"CASE WHEN {UNIT} = {number} THEN"
            columns += [f"MAX({mine} r{i} END) AS l{i}", f"MAX({mine} o END) AS l{i}_q"]
        for i, (slot_at, number, _) in enumerate(self.numbered_sessions()):
            last = f"(MAX(CASE WHEN {UNIT} = {number} THEN r{slot_at} END))"
            columns += [f"{last}.p{j} AS s{i}_p{j}" for j in range(len(self.sessions[i][1]))]
        return columns

    def lift(self, slot: _Slot, mine: Sequence[int]) -> str:
        by_lift: dict[str, list[int]] = {}
        for i in mine:
            unit, partials = self.windows[i]
            for own, partial in zip(self.slots[unit], partials, strict=True):
                if own == slot:
                    by_lift.setdefault(render(partial.lift, self.dialect), []).extend(self.numbers[i])
        cases = {_listed(numbers): text for text, numbers in by_lift.items()}
        return _choose(cases, otherwise=null_of(slot.dtype, self.dialect))

    def rank(self, number: int, unit: LookupUnit, source: str) -> str:
        if unit.source != source:
            return "NULL"
        where = "" if unit.where is None else f" AND ({render(unit.where, self.dialect)})"
        return f"CASE WHEN {UNIT} = {number}{where} THEN {rank_struct(unit, self.dialect)} END"

    def numbered_lookups(self) -> list[tuple[int, LookupUnit]]:
        return [(self.first_lookup + i, unit) for i, unit in enumerate(self.lookups)]

    def numbered_sessions(self) -> list[tuple[int, int, SessionUnit]]:
        """For each session unit the number of its `r` column, its own number, and the unit."""
        before = len(self.lookups)
        return [(before + i, self.first_lookup + before + i, unit) for i, (unit, _) in enumerate(self.sessions)]

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
    return f"{view} LATERAL VIEW explode(array({_listed(numbers)})) fdsl_units AS {UNIT}"


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


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _choose(cases: Mapping[str, str], otherwise: str) -> str:
    """A CASE over the unit; the keys are lists of numbers."""
    if not cases:
        return otherwise
    arms = " ".join(f"WHEN {UNIT} IN ({numbers}) THEN {text}" for numbers, text in cases.items())
    return f"CASE {arms} ELSE {otherwise} END"
