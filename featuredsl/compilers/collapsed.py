"""Plans to the collapsed history of every entity: the partials of its streamed lifetimes over everything before a
horizon."""

from __future__ import annotations

from featuredsl.aggregators import Partial
from featuredsl.compilers.relations import Relations
from featuredsl.compilers.scalar import Dialect, render
from featuredsl.compilers.totals import may_overflow, summand
from featuredsl.compilers.units import has_key, key_columns, null_of
from featuredsl.horizon import HistoryColumns, is_text
from featuredsl.plan import GroupPlan
from featuredsl.sources import EventSource


def collapsed(plan: GroupPlan, history: HistoryColumns, dialect: Dialect, horizon_us: int, at_us: int) -> str:
    """A SELECT of the entity columns and those of `history`, over the events before a horizon that had arrived by
    `at_us`. An entity without such events has no row.

    Sums of floats may be infinite or NaN: they stay so, whatever tiles add.
    """
    keys = ", ".join(key_columns(plan, dialect))
    relations = Relations(dialect)
    parts = [_events(plan, history, relations, plan.source(name), horizon_us, at_us) for name in history.sources]
    merged = [f"MAX(fdsl_t{i}) AS fdsl_t{i}" for i in range(len(history.sources))]
    merged += [f"{_merged(f'fdsl_c{i}', partial, dialect)} AS fdsl_c{i}" for i, partial in enumerate(history.partials)]
    rows = "\n  UNION ALL ".join(parts)
    return (
        f"WITH {relations.prefix()}events AS (\n  {rows})\n"
        f"SELECT {', '.join([keys, *merged])}\nFROM events GROUP BY {keys}"
    )


def _events(
    plan: GroupPlan, history: HistoryColumns, relations: Relations, source: EventSource, horizon_us: int, at_us: int
) -> str:
    dialect = relations.dialect
    columns = key_columns(plan, dialect)
    columns += [
        f"{'ts_us' if name == source.name else null_of('int', dialect)} AS fdsl_t{i}"
        for i, name in enumerate(history.sources)
    ]
    columns += [
        f"{render(p.lift, dialect) if p.source == source.name else null_of(p.dtype, dialect)} AS fdsl_c{i}"
        for i, p in enumerate(history.partials)
    ]
    arrived = f" AND arrival_us <= {at_us}" if source.arrival_time is not None else ""
    return (
        f"SELECT {', '.join(columns)}\n  FROM {relations.of(source)} "
        f"WHERE ts_us < {horizon_us} AND {has_key(plan, dialect)}{arrived}"
    )


def _merged(value: str, partial: Partial, dialect: Dialect) -> str:
    if is_text(partial):
        one = summand(value, dialect) if may_overflow(partial) else value
        return f"CAST(SUM({one}) AS {dialect.string_type})"
    return f"CAST({partial.merge.upper()}({value}) AS {dialect.type_name(partial.dtype)})"
