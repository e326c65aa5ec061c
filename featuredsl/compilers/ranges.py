"""Point-in-time SQL for DuckDB: native range frames and ASOF joins, which its planner runs without any block.

DuckDB keeps a segment tree for the frames of a partition, so a frame costs log(rows) whatever its length and however
heavy the entity; window functions over the same order share one sort. Spark has neither, and takes the
stacked blocks of `offline`. The meaning is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from featuredsl.aggregators import Partial
from featuredsl.compilers.edges import edge, query_time
from featuredsl.compilers.relations import Relations, struct
from featuredsl.compilers.scalar import Dialect, render
from featuredsl.compilers.sessions import closed_sessions
from featuredsl.compilers.totals import may_overflow
from featuredsl.compilers.units import LookupUnit, SessionUnit, Units, has_key, key_columns, null_of, rank_struct
from featuredsl.plan import GroupPlan


class Ranges:
    """The common table expressions whose last one, `merged`, has the columns of the units."""

    def __init__(self, plan: GroupPlan, dialect: Dialect, units: Units) -> None:
        self.plan = plan
        self.dialect = dialect
        self.windows = list(units.windows.items())
        self.lookups = list(units.lookups.items())
        self.sessions = list(units.sessions.items())
        self.relations = Relations(dialect)
        self.keys = [f"k{i}" for i in range(len(plan.entity))]
        self.named = [f"{key} AS k{i}" for i, key in enumerate(key_columns(plan, dialect))]

    def ctes(self, labels: str) -> str:
        """WITH …"""
        view = self.dialect.ident(labels)
        parts: dict[tuple[str, str], list[int]] = {}
        for i, (unit, _) in enumerate(self.windows):
            parts.setdefault((unit.source, unit.freshness), []).append(i)
        ctes = [
            f"frames{n} AS (\n{self.frames(view, source, numbers)})"
            for n, ((source, _), numbers) in enumerate(parts.items())
        ]
        ctes += [self.latest(view, i, unit, read) for i, (unit, read) in enumerate(self.lookups)]
        for i, (session, partials) in enumerate(self.sessions):
            ctes += [*self.closed(i, session, partials), self.last_closed(view, i, session, len(partials))]
        counts = {"frames": len(parts), "latest": len(self.lookups), "sessions": len(self.sessions)}
        tables = [f"{kind}{n}" for kind, count in counts.items() for n in range(count)]
        joined = tables[0] + "".join(f" JOIN {table} USING (label_id)" for table in tables[1:])
        return "WITH " + self.relations.prefix() + ",\n".join([*ctes, f"merged AS (SELECT * FROM {joined})"])

    def closed(self, number: int, unit: SessionUnit, partials: Sequence[Partial]) -> list[str]:
        """The sessions of a unit as rows."""
        relation = self.relation(unit.source)
        return closed_sessions(f"fdsl_session_{number}", unit, partials, self.plan, self.dialect, relation)

    def last_closed(self, labels: str, number: int, unit: SessionUnit, partials: int) -> str:
        """The last session of each label's key that has closed; sessions of a key close at different times."""
        values = ", ".join(f"r.p{j} AS s{number}_p{j}" for j in range(partials))
        return (
            f"sessions{number} AS (\n  SELECT label_id, {values} FROM\n"
            f"    (SELECT label_id, {', '.join(self.named)}, {query_time(unit.tier)} AS o FROM {labels}) l\n"
            f"    ASOF LEFT JOIN fdsl_session_{number} e ON {self.same('l', 'e')} AND l.o >= e.closed)"
        )

    def relation(self, source: str) -> str:
        """Where the events of a source are read."""
        return self.relations.of(self.plan.source(source))

    def frames(self, labels: str, source: str, numbers: Sequence[int]) -> str:
        """The windows of one source and tier: events and labels in one order, a frame for each window."""
        tier = self.windows[numbers[0]][0].tier
        lifted: dict[Partial, str] = {}
        for i in numbers:
            for partial in self.windows[i][1]:
                lifted.setdefault(partial, f"v{len(lifted)}")
        asked = query_time(tier)
        windows = [self.windows[i][0].window for i in numbers]
        lows = [None if window.low is None else edge(window.low, asked) for window in windows]
        highs = [edge(window.high, asked) for window in windows]
        ends = {f"e{2 * n}": low for n, low in enumerate(lows) if low is not None}
        ends |= {f"e{2 * n + 1}": high for n, high in enumerate(highs)}
        columns = ", ".join([*self.named, f"{asked} AS o"])
        nulls = "".join(f", {null_of(partial.dtype, self.dialect)} AS {name}" for partial, name in lifted.items())
        values = "".join(f", {render(partial.lift, self.dialect)}" for partial in lifted)
        back = "".join(f", {asked} - {end} AS {name}" for name, end in ends.items())
        zeros = ", 1" * len(ends)
        over, frames = self.over(numbers, lifted)
        return (
            f"  SELECT label_id, {over} FROM (\n"
            f"    SELECT label_id, {columns}{back}{nulls} FROM {labels}\n"
            f"    UNION ALL SELECT NULL, {', '.join(self.named)}, ts_us{zeros}{values} "
            f"FROM {self.relation(source)} WHERE {has_key(self.plan, self.dialect)})\n"
            f"  WINDOW {frames}\n  QUALIFY label_id IS NOT NULL"
        )

    def over(self, numbers: Sequence[int], lifted: dict[Partial, str]) -> tuple[str, str]:
        """The window functions, and the frames that they name."""
        columns, frames = [], []
        for place, i in enumerate(numbers):
            low = "UNBOUNDED" if self.windows[i][0].window.low is None else f"e{2 * place}"
            frames.append(
                f"f{i} AS (PARTITION BY {', '.join(self.keys)} ORDER BY o "
                f"RANGE BETWEEN {low} PRECEDING AND (e{2 * place + 1} + 1) PRECEDING)"
            )
            for j, partial in enumerate(self.windows[i][1]):
                value = f"{partial.merge.upper()}({lifted[partial]}) OVER f{i}"
                cast = "TRY_CAST" if may_overflow(partial) else "CAST"
                columns.append(f"{cast}({value} AS {self.dialect.type_name(partial.dtype)}) AS w{i}_p{j}")
        return ", ".join(columns), ",\n    ".join(frames)

    def latest(self, labels: str, number: int, unit: LookupUnit, read: Sequence[int]) -> str:
        """The nearest event before each label; where several events of its key have that time, the greatest rank of
        them. Such ties are rare, and to count the events of a time costs less than to compare their ranks."""
        keys, named = ", ".join(self.keys), ", ".join(self.named)
        where = "" if unit.where is None else f" AND ({render(unit.where, self.dialect)})"
        events = f"FROM {self.relation(unit.source)} WHERE {has_key(self.plan, self.dialect)}{where}"
        values = "".join(f", {self.dialect.ident(unit.columns[i][0])} AS v{i}" for i in read)
        kept = ", ".join(["label_id", *(f"l.{key}" for key in self.keys), "o", "t", *(f"v{i}" for i in read)])
        hits, tied, best = (f"{name}{number}" for name in ("hits", "tied", "best"))
        found = [(f"v{i}", f"CASE WHEN b.t IS NULL THEN h.v{i} ELSE b.r.v{i} END") for i in read]
        return (
            f"{hits} AS MATERIALIZED (\n"
            f"  SELECT {kept} FROM\n"
            f"    (SELECT label_id, {named}, {query_time(unit.tier)} AS o FROM {labels}) l ASOF LEFT JOIN\n"
            f"    (SELECT {named}, ts_us AS t{values} {events}) e\n    ON {self.same('l', 'e')} AND l.o > e.t),\n"
            f"{tied} AS MATERIALIZED (\n  SELECT {keys}, t FROM (SELECT {named}, ts_us AS t {events}) e\n"
            f"  SEMI JOIN {hits} h ON {self.same('e', 'h')} AND e.t = h.t GROUP BY {keys}, t HAVING COUNT(*) > 1),\n"
            f"{best} AS (\n  SELECT {keys}, t, MAX(r) AS r\n"
            f"  FROM (SELECT {named}, ts_us AS t, {rank_struct(unit, self.dialect)} AS r {events}) e\n"
            f"  SEMI JOIN {tied} d ON {self.same('e', 'd')} AND e.t = d.t GROUP BY {keys}, t),\n"
            f"latest{number} AS (\n  SELECT label_id, {struct([('t', 'h.t'), *found], self.dialect)} AS l{number}, "
            f"o AS l{number}_q\n  FROM {hits} h LEFT JOIN {best} b ON {self.same('h', 'b')} AND h.t = b.t)"
        )

    def same(self, left: str, right: str) -> str:
        """The key columns of two tables are equal."""
        return " AND ".join(f"{left}.{key} = {right}.{key}" for key in self.keys)
