"""The events of a source as SQL: its view, or common table expressions over the views that it is made of.

A view is named after its source and has the columns of `EventSource.view_columns`. The dialects are those of the
batch engines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from featuredsl.compilers.dedup import first_of_each
from featuredsl.compilers.scalar import Dialect
from featuredsl.source_checks import ARRIVAL_US, EVENT_US
from featuredsl.sources import EventSource, JoinOf, UnionOf

Fields = list[tuple[str, str]]


@dataclass(slots=True)
class Relations:
    """Collects the expressions that a query needs, in order, as `name AS (…)`."""

    dialect: Dialect
    ctes: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def of(self, source: EventSource) -> str:
        """The quoted name to read the events of a source from."""
        if source.name not in self.names:
            self.names[source.name] = self._made(source)
        return self.names[source.name]

    def prefix(self) -> str:
        """The expressions, each followed by a comma: what stands between WITH and the next one."""
        return "".join(f"{cte},\n" for cte in self.ctes)

    def _made(self, source: EventSource) -> str:
        view = self.dialect.ident(source.name)
        if isinstance(source.origin, UnionOf):
            text = self._union(source, source.origin)
        elif isinstance(source.origin, JoinOf):
            text = self._join(source, source.origin)
        elif source.unique:
            text = first_of_each(source, view, self.dialect)
        else:
            return view
        name = self.dialect.ident(f"{source.name}__events")
        self.ctes.append(f"{name} AS (\n  {text})")
        return name

    def _union(self, source: EventSource, origin: UnionOf) -> str:
        columns = self._listed(source.column_names)
        selects = []
        for part in origin.parts:
            relation = self.of(part)
            times = [EVENT_US]
            if source.arrival_time is not None:
                times.append(ARRIVAL_US if part.arrival_time is not None else f"{EVENT_US} AS {ARRIVAL_US}")
            selects.append(f"SELECT {', '.join([columns, *times])} FROM {relation}")
        return "\n  UNION ALL ".join(selects)

    def _join(self, source: EventSource, origin: JoinOf) -> str:
        """The greatest row at or before the event: a running maximum over the rows and the events of a key."""
        ident, base, records = self.dialect.ident, origin.base, origin.table.records
        keys = [f"fdsl_k{i}" for i in range(len(origin.on))]
        kept = self._listed(base.view_columns)
        events = [
            *(f"{ident(on)} AS {key}" for on, key in zip(origin.on, keys, strict=True)),
            "TRUE AS fdsl_event",
            kept,
        ]
        nulls = [f"CAST(NULL AS {self.dialect.type_name(dtype)})" for _, dtype in base.columns]
        times = [EVENT_US, *("NULL" for name in base.time_columns if name != EVENT_US)]
        rows = [*map(ident, origin.table.key), "FALSE", *nulls, *times, self._row(origin)]
        given = " AND ".join(f"{ident(key)} IS NOT NULL" for key in origin.table.key)
        places = {name: f"v{i}" for i, (name, _) in enumerate(origin.table.values)}
        added = [f"fdsl_row.{places[of]} AS {ident(name)}" for name, of, _ in origin.added]
        return (
            f"SELECT {', '.join([kept, *added])}\n  FROM (SELECT {kept}, fdsl_event, MAX(fdsl_row) OVER (PARTITION BY "
            f"{', '.join(keys)} ORDER BY {EVENT_US} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS fdsl_row\n"
            f"    FROM (SELECT {', '.join(events)}, NULL AS fdsl_row FROM {self.of(base)}\n"
            f"      UNION ALL SELECT {', '.join(rows)} FROM {ident(records.name)} WHERE {given}) u) r\n"
            "  WHERE fdsl_event"
        )

    def _row(self, origin: JoinOf) -> str:
        """A table's row as a struct that orders like (valid from, row), nulls lowest."""
        fields = [("t", EVENT_US)]
        for i, (name, _) in enumerate(origin.table.values):
            ident = self.dialect.ident(name)
            fields += [(f"n{i}", f"{ident} IS NOT NULL"), (f"v{i}", ident)]
        return struct(fields, self.dialect)

    def _listed(self, names: Iterable[str]) -> str:
        return ", ".join(self.dialect.ident(name) for name in names)


def struct(fields: Fields, dialect: Dialect) -> str:
    """A struct of named values; structs order field by field."""
    if dialect.name == "spark":
        return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in fields) + ")"
    return "{" + ", ".join(f"'{name}': {value}" for name, value in fields) + "}"
