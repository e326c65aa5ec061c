"""Records that are one event: SQL that keeps the first of each, for sources that say what makes records one.

The first is that of the least arrival (where the source has one: a record that comes later must not replace what was
seen), then event time, sequence and row, nulls lowest. `within` is measured on the first of these. The kept records
of a key are more than `within` apart, chosen from the start of its time; records no further than that apart form
an island, and only an island longer than `within` holds more than one event: those are folded, one by one.
"""

from __future__ import annotations

from featuredsl.compilers.scalar import Dialect
from featuredsl.source_checks import ARRIVAL_US, EVENT_US
from featuredsl.sources import EventSource

_FOLDS = {
    "duckdb": (
        "list_reduce(list_transform(list(fdsl_x ORDER BY fdsl_x), lambda x: [x]), "
        "lambda a, b: CASE WHEN b[1] > a[-1] + {within} THEN a || b ELSE a END)"
    ),
    "spark": (
        "aggregate(array_sort(collect_list(fdsl_x)), array(MIN(fdsl_x)), "
        "(a, b) -> CASE WHEN b > element_at(a, -1) + {within} THEN array_append(a, b) ELSE a END)"
    ),
}
"""The kept times of an island, in order."""
_UNNEST = {"duckdb": "unnest", "spark": "explode"}


def first_of_each(source: EventSource, view: str, dialect: Dialect) -> str:
    """A SELECT of the view's columns, one row for each event. With a null in a unique column a record is an event."""
    keys = [EVENT_US if key == source.event_time else dialect.ident(key) for key in source.unique]
    columns = ", ".join(dialect.ident(name) for name in source.view_columns)
    given = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    missing = " OR ".join(f"{key} IS NULL" for key in keys)
    window = f"PARTITION BY {', '.join(keys)} ORDER BY {_order(source, dialect)}"
    rest = f"\n  UNION ALL SELECT {columns} FROM {view} WHERE {missing}"
    if source.within_us is None:
        numbered = f"SELECT {columns}, ROW_NUMBER() OVER ({window}) AS fdsl_n FROM {view} WHERE {given}"
        return f"SELECT {columns} FROM ({numbered}) n WHERE fdsl_n = 1{rest}"
    return _within(source, view, dialect, keys, columns, f"WHERE {given} WINDOW w AS ({window})") + rest


def _axis(source: EventSource) -> str:
    return EVENT_US if source.arrival_time is None else ARRIVAL_US


def _order(source: EventSource, dialect: Dialect) -> str:
    names = [source.sequence] if source.sequence else []
    names += [name for name in source.column_names if name != source.sequence]
    idents = [dialect.ident(name) for name in names]
    return ", ".join([*dict.fromkeys([_axis(source), EVENT_US]), *(f"{x} IS NOT NULL, {x}" for x in idents)])


def _within(source: EventSource, view: str, dialect: Dialect, keys: list[str], columns: str, window: str) -> str:
    axis, within, by = _axis(source), source.within_us, ", ".join(keys)
    new = f"CASE WHEN fdsl_p IS NULL OR fdsl_x - fdsl_p > {within} THEN 1 ELSE 0 END"
    fold = _FOLDS[dialect.name].format(within=within)
    names = [f"fdsl_k{i}" for i in range(len(keys))]
    named = ", ".join(f"{key} AS {name}" for key, name in zip(keys, names, strict=True))
    same = " AND ".join(f"{key} = {name}" for key, name in zip(keys, names, strict=True))
    return (
        f"WITH fdsl_a AS (SELECT {columns}, {axis} AS fdsl_x, LAG({axis}) OVER w AS fdsl_p FROM {view} {window}),\n"
        f"  fdsl_b AS (SELECT *, SUM({new}) OVER (PARTITION BY {by} ORDER BY fdsl_x) AS fdsl_i\n"
        "    FROM fdsl_a WHERE fdsl_p IS NULL OR fdsl_p < fdsl_x),\n"
        "  fdsl_c AS (SELECT *, MIN(fdsl_x) OVER i AS fdsl_first, MAX(fdsl_x) OVER i AS fdsl_last\n"
        f"    FROM fdsl_b WINDOW i AS (PARTITION BY {by}, fdsl_i)),\n"
        f"  fdsl_d AS (SELECT {named}, {fold} AS fdsl_kept\n"
        f"    FROM fdsl_c WHERE fdsl_last - fdsl_first > {within} GROUP BY {by}, fdsl_i),\n"
        f"  fdsl_e AS (SELECT {', '.join(names)}, {_UNNEST[dialect.name]}(fdsl_kept) AS fdsl_t FROM fdsl_d)\n"
        f"  SELECT {columns} FROM fdsl_c WHERE fdsl_x = fdsl_first\n"
        f"  UNION ALL SELECT {columns} FROM fdsl_c JOIN fdsl_e ON {same} AND fdsl_x = fdsl_t\n"
        "    WHERE fdsl_x > fdsl_first"
    )
