"""Point-in-time values from running aggregates over blocks: one relation of all units of a group.

A window `[low, high)` of length W (up to one hop more) touches at most two blocks of length W: the suffix of
the block of `low` and the prefix of the block of `high`. Both are running aggregates, so no label is ever
multiplied with its events and a heavy entity is spread over its blocks (van Herk 1992).

All units are stacked in one relation, told apart by `fdsl_unit`: the prefixes and the suffixes (in descending time)
of every window, the lookups and the closed sessions (one block), then what is known late (see `visible`). A tumbling
window is one whole block and a lifetime the prefix of the only one: each needs one side. So any number of features
costs one window operator and one grouping, which matters where planning and shuffles dominate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from featuredsl.aggregators import Partial
from featuredsl.compilers import visible
from featuredsl.compilers.edges import edge, query_time
from featuredsl.compilers.relations import Relations
from featuredsl.compilers.scalar import Dialect, floor_to, render
from featuredsl.compilers.sessions import closed_sessions
from featuredsl.compilers.stack_parts import REPEATED, UNIT, Slot, choose, listed, slots_of
from featuredsl.compilers.totals import may_overflow, merged, summand
from featuredsl.compilers.units import (
    LookupUnit,
    SessionUnit,
    Units,
    WindowUnit,
    has_key,
    key_columns,
    null_of,
    rank_struct,
)
from featuredsl.plan import GroupPlan
from featuredsl.window_kinds import Sliding


@dataclass(frozen=True, slots=True)
class _Side:
    """One running aggregate of a window: the block and the edge in it that a label asks for. Running back in time
    it takes the end of a block from the edge on, else the start up to the edge. `seen`: events of sources with an
    arrival time run in the order in which they were seen."""

    block: str
    edge: str
    back: bool = False
    seen: bool = False


def _sides(unit: WindowUnit, timed: bool) -> tuple[_Side, ...]:
    window, asked = unit.window, query_time(unit.tier)
    high = edge(window.high, asked)
    if window.low is None:
        return (_Side("0", high, seen=timed),)
    low, size = edge(window.low, asked), str(window.block_us)
    if window.fills_block:
        return (_Side(low, asked if timed else high, seen=timed),)
    before = _Side(floor_to(high, size), high, seen=timed and high == asked)
    return before, _Side(floor_to(low, size), f"1 - {low}", back=True)


class Stack:
    """The common table expressions whose last one, `merged`, has the columns of the units.

    The units are numbered: the sides of each window, then the lookups, the sessions, and what is late. `timed` are
    the sources whose events count from their arrival.
    """

    def __init__(self, plan: GroupPlan, dialect: Dialect, units: Units, timed: frozenset[str]) -> None:
        self.plan = plan
        self.dialect = dialect
        self.timed = timed
        self.windows = list(units.windows.items())
        self.lookups = list(units.lookups)
        self.sessions = list(units.sessions.items())
        self.sides = [_sides(unit, unit.source in timed) for unit, _ in self.windows]
        firsts = list(accumulate((len(sides) for sides in self.sides), initial=0))
        self.numbers = [tuple(range(a, b)) for a, b in pairwise(firsts)]
        self.first_lookup = firsts[-1]
        self.slots = {unit: slots_of(partials) for unit, partials in self.windows}
        names = {slot.name: slot for slots in self.slots.values() for slot in slots}
        self.all_slots = [names[name] for name in sorted(names)]
        self.ranks = len(self.lookups) + len(self.sessions)
        self.keys = [f"k{i}" for i in range(len(plan.entity))]
        self.relations = Relations(dialect)
        self.late = visible.late_parts(self.late_windows(), self.first_lookup + self.ranks)
        self.levels = visible.levels_of(list(self.late_windows().values())) if self.late else 0

    def ctes(self, labels: str) -> str:
        """WITH …"""
        sources = list(dict.fromkeys([unit.source for unit, _ in self.windows] + [u.source for u in self.lookups]))
        rows = [self.events(name) for name in sources] + [self.closed(i) for i in range(len(self.sessions))]
        rows += [self.late_events(name) for name in sources if any(u.source == name for _, u in self.late_units())]
        rows += [self.asked(labels), *([self.late_asked(labels)] if self.late else [])]
        over = [f"{slot.merge.upper()}({self.addable(slot)}) OVER w AS {slot.name}" for slot in self.all_slots]
        over += [f"MAX(r{i}) OVER w AS r{i}" for i in range(self.ranks)]
        part = ", ".join([*self.keys, UNIT, "b"])
        stacked = "\n  UNION ALL ".join(rows)
        sessions = "".join(
            f"{cte},\n"
            for i, (unit, partials) in enumerate(self.sessions)
            for cte in closed_sessions(
                f"fdsl_session_{i}", unit, partials, self.plan, self.dialect, self.relation(unit.source)
            )
        )
        return (
            f"WITH {self.relations.prefix()}{sessions}stacked AS (\n  {stacked}),\n"
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
        sizes = {listed(self.numbers[i]): self.windows[i][0].window.block_us for i in mine}
        blocks = {listed: floor_to("ts_us", str(size)) for listed, size in sizes.items() if size is not None}
        prompt = self.prompt(mine) if source in self.timed else ""
        numbered = {n: i for i in mine for n in self.numbers[i]}
        columns = [
            *(f"{key} AS k{i}" for i, key in enumerate(key_columns(self.plan, self.dialect))),
            UNIT,
            f"{choose(blocks, otherwise='0')} AS b",
            f"{self.order(mine, latest, source in self.timed)} AS o",
            "CAST(NULL AS BIGINT) AS label_id",
            *(f"{self.lift(slot, numbered)} AS {slot.name}" for slot in self.all_slots),
            *(f"{self.rank(number, unit, source)} AS r{i}" for i, (number, unit) in self.ranked()),
            *(f"NULL AS r{i}" for i, _, _ in self.numbered_sessions()),
        ]
        rows = self.times(self.relation(source), numbers)
        return f"SELECT {', '.join(columns)}\n  FROM {rows} WHERE {self.key_given()}{prompt}"

    def order(self, mine: Sequence[int], latest: Mapping[int, LookupUnit], timed: bool) -> str:
        """What the rows of a source run over: their time, back in time, or when they were seen."""
        sides = [(n, i, side) for i in mine for n, side in zip(self.numbers[i], self.sides[i], strict=True)]
        back = listed([n for n, _, side in sides if side.back])
        cases = {back: "-ts_us"} if back else {}
        cases |= {str(n): visible.seen(self.windows[i][0].tier) for n, i, side in sides if side.seen}
        if timed:
            cases |= {str(n): visible.seen(unit.tier) for n, unit in latest.items()}
        return choose(cases, otherwise="ts_us")

    def prompt(self, mine: Sequence[int]) -> str:
        """Keeps the events that are seen before every label which the side answers them to."""
        cases: dict[str, str] = {}
        for i in mine:
            unit = self.windows[i][0]
            for n, side in zip(self.numbers[i], self.sides[i], strict=True):
                if isinstance(unit.window, Sliding) and not side.seen:
                    cases[str(n)] = visible.is_prompt(unit.window, unit.tier, suffix=side.back)
        return f" AND {choose(cases, otherwise='TRUE')}" if cases else ""

    def closed(self, index: int) -> str:
        """The sessions of a unit; one that closes at the time that is asked for has closed."""
        mine = len(self.lookups) + index
        columns = [
            *self.keys,
            f"{self.numbered_sessions()[index][1]} AS {UNIT}",
            "0 AS b",
            "closed - 1 AS o",
            "CAST(NULL AS BIGINT) AS label_id",
            *(f"{null_of(slot.dtype, self.dialect)} AS {slot.name}" for slot in self.all_slots),
            *(f"{'r' if i == mine else 'NULL'} AS r{i}" for i in range(self.ranks)),
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
        columns = [
            *key_columns(self.plan, self.dialect),
            UNIT,
            choose(blocks, otherwise="0"),
            choose(edges, otherwise="NULL"),
            "label_id",
            *(null_of(slot.dtype, self.dialect) for slot in self.all_slots),
            *["NULL"] * self.ranks,
        ]
        rows = self.times(self.dialect.ident(labels), [int(number) for number in edges])
        return f"SELECT {', '.join(columns)}\n  FROM {rows}"

    def late_windows(self) -> dict[int, Sliding]:
        """The windows, by position, some of whose events may be known too late for a running piece."""
        timed = {i: unit.window for i, (unit, _) in enumerate(self.windows) if unit.source in self.timed}
        return {i: window for i, window in timed.items() if isinstance(window, Sliding)}

    def late_units(self) -> list[tuple[visible.Late, WindowUnit]]:
        """What is late, and the window that it belongs to."""
        return [(part, self.windows[part.position][0]) for part in self.late]

    def late_events(self, source: str) -> str:
        """The events of a source that come late, in a node of each level."""
        parts = [(part, unit) for part, unit in self.late_units() if unit.source == source]
        nodes = {str(p.number): visible.event_node(p, self.dialect) for p, _ in parts}
        late = {str(p.number): visible.is_late(p.window, unit.tier, p.suffix) for p, unit in parts}
        order = {str(p.number): visible.seen(unit.tier) for p, unit in parts}
        rows = self.times(self.relation(source), [p.number for p, _ in parts])
        lifts = [self.lift(slot, {p.number: p.position for p, _ in parts}) for slot in self.all_slots]
        columns = [
            *key_columns(self.plan, self.dialect),
            f"{UNIT} + fdsl_level",
            self.node(),
            choose(order, otherwise="NULL"),
            "CAST(NULL AS BIGINT)",
            *lifts,
            *["NULL"] * self.ranks,
        ]
        placed = f"(SELECT *, {self.placed(nodes)} FROM {rows} WHERE {self.key_given()} AND {choose(late, 'FALSE')}) e"
        hops = choose({str(p.number): str(visible.hops_of(p.window)) for p, _ in parts}, otherwise="0")
        leveled = visible.leveled(placed, self.levels, self.dialect)
        return f"SELECT {', '.join(columns)}\n  FROM {leveled} WHERE fdsl_step <= {hops}"

    def late_asked(self, labels: str) -> str:
        """The labels, once for each node that they ask for."""
        edges = {p.number: visible.Edges.of(p.window, unit.tier) for p, unit in self.late_units()}
        nodes = {str(p.number): visible.asked_node(p, edges[p.number], self.dialect) for p in self.late}
        order = {str(number): edge.asked for number, edge in edges.items()}
        rows = self.times(self.dialect.ident(labels), [p.number for p in self.late])
        columns = [
            *key_columns(self.plan, self.dialect),
            f"{UNIT} + fdsl_level",
            f"{self.node()} - 1",
            choose(order, otherwise="NULL"),
            "label_id",
            *(null_of(slot.dtype, self.dialect) for slot in self.all_slots),
            *["NULL"] * self.ranks,
        ]
        leveled = visible.leveled(f"(SELECT *, {self.placed(nodes)} FROM {rows}) a", self.levels, self.dialect)
        odd = f"(fdsl_place {self.dialect.int_division} fdsl_step) % 2 = 1"
        return f"SELECT {', '.join(columns)}\n  FROM {leveled} WHERE {odd}"

    def node(self) -> str:
        return f"fdsl_block + fdsl_place {self.dialect.int_division} fdsl_step"

    def placed(self, nodes: Mapping[str, tuple[str, str]]) -> str:
        blocks = choose({number: block for number, (block, _) in nodes.items()}, otherwise="NULL")
        places = choose({number: place for number, (_, place) in nodes.items()}, otherwise="NULL")
        return f"{blocks} AS fdsl_block, {places} AS fdsl_place"

    def relation(self, source: str) -> str:
        return self.relations.of(self.plan.source(source))

    def merged(self) -> list[str]:
        columns = []
        for i, (unit, partials) in enumerate(self.windows):
            late = [p.number + level for p in self.late if p.position == i for level in range(self.levels)]
            numbers = listed([*self.numbers[i], *late])
            for j, (slot, partial) in enumerate(zip(self.slots[unit], partials, strict=True)):
                value = f"CASE WHEN {UNIT} IN ({numbers}) THEN {slot.name} END"
                columns.append(f"{merged(value, partial, self.dialect)} AS w{i}_p{j}")
        for i, (number, _) in self.ranked():
            mine = f"CASE WHEN {UNIT} = {number} THEN"
            columns += [f"MAX({mine} r{i} END) AS l{i}", f"MAX({mine} o END) AS l{i}_q"]
        for i, (slot_at, number, _) in enumerate(self.numbered_sessions()):
            last = f"(MAX(CASE WHEN {UNIT} = {number} THEN r{slot_at} END))"
            columns += [f"{last}.p{j} AS s{i}_p{j}" for j in range(len(self.sessions[i][1]))]
        return columns

    def addable(self, slot: Slot) -> str:
        """A slot's column, as what its sum is exact of where a partial in it needs that."""
        shared = zip((s for unit, _ in self.windows for s in self.slots[unit]), self.partials(), strict=True)
        wide = any(own == slot and may_overflow(partial) for own, partial in shared)
        return summand(slot.name, self.dialect) if wide else slot.name

    def partials(self) -> list[Partial]:
        """The partials of all windows, as their slots stand."""
        return [partial for _, partials in self.windows for partial in partials]

    def lift(self, slot: Slot, numbers_of: Mapping[int, int]) -> str:
        """What a row puts into a slot, by the numbers that stand for windows."""
        by_lift: dict[str, list[int]] = {}
        for number, position in numbers_of.items():
            unit, partials = self.windows[position]
            for own, partial in zip(self.slots[unit], partials, strict=True):
                if own == slot:
                    by_lift.setdefault(render(partial.lift, self.dialect), []).append(number)
        cases = {listed(numbers): text for text, numbers in by_lift.items()}
        return choose(cases, otherwise=null_of(slot.dtype, self.dialect))

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

    def times(self, relation: str, numbers: Sequence[int]) -> str:
        """The relation with every row repeated for each number."""
        return REPEATED[self.dialect.name](relation, numbers)
