"""Slowly changing tables in Flink SQL: views of events with the columns of the row that was valid at their time.

An event waits for the watermark of the events and of the table, which only deferred tiers can do. Rows of the table are
late for nobody: their time attribute lies above every watermark, while the watermark follows from when they are valid,
or the time of the Kafka record where that is earlier.
"""

from __future__ import annotations

from collections.abc import Iterable

from featuredsl.compilers.flink_tables import any_null, event_columns, rowtime_of, uid
from featuredsl.compilers.scalar import FLINK, floor_div
from featuredsl.dtypes import DType
from featuredsl.sources import EventSource, JoinOf

FUNCTION = "CREATE TEMPORARY SYSTEM FUNCTION fdsl_as_of AS 'dev.featuredsl.flink.asof.AsOf'"
DISORDER_S = 15
"""Rows of a table may come that much out of order, and still be known to events that are read again."""
_NEVER_LATE_MS = 3_155_760_000_000


def table_columns() -> list[str]:
    """What a table of rows has besides its columns. Rows that are valid from a later time on are no mistake. A record
    that is no row has no time, and moves none: its Kafka time may be far ahead of the rows behind it."""
    at = f"{floor_div('`_ts`', '1000', FLINK)}"
    time = f"TO_TIMESTAMP_LTZ({at}, 3)"
    return [
        "`_ahead` AS FALSE",
        f"`_rowtime` AS TO_TIMESTAMP_LTZ(GREATEST({at}, 0) + {_NEVER_LATE_MS}, 3)",
        f"WATERMARK FOR `_rowtime` AS CASE WHEN {time} > `_ktime` THEN `_ktime` ELSE {time} END "
        f"- INTERVAL '{DISORDER_S}.001' SECOND",
    ]


def as_of_views(source: EventSource, origin: JoinOf, base: str, name: str) -> list[str]:
    """The views that make `name`, the events of a joined source in time, of the view `base` of those without."""
    both = FLINK.ident(f"{source.name}__and_rows")
    shared = [*event_columns(origin.base), "`_ts`"]
    added = [FLINK.ident(column) for column, _, _ in origin.added]
    nulls = [f"{_null(dtype)} AS {FLINK.ident(column)}" for column, _, dtype in origin.added]
    no_key = any_null(origin.on)
    call = (
        f"TABLE(fdsl_as_of(input => TABLE {both} PARTITION BY `_key`, "
        f"eventColumns => CAST({len(shared)} AS BIGINT),\n"
        f"  on_time => DESCRIPTOR(`_rowtime`), uid => '{uid('as-of', source.name)}'))"
    )
    columns = [*shared, *added]
    joined = f"SELECT {', '.join(columns)}, {rowtime_of(columns)} AS `_rowtime` FROM {call}"
    keyless = f"SELECT {', '.join([*shared, *nulls])}, `_rowtime` FROM {FLINK.ident(base)} WHERE {no_key}"
    return [
        f"CREATE TEMPORARY VIEW {both} AS\n{_events(origin, base)}\nUNION ALL {_rows(origin)}",
        f"CREATE TEMPORARY VIEW {FLINK.ident(name)} AS\n{joined}\nUNION ALL {keyless}",
    ]


def _events(origin: JoinOf, base: str) -> str:
    nulls = [f"{_null(dtype)} AS {FLINK.ident(column)}" for column, _, dtype in origin.added]
    columns = [
        f"fdsl_key({_listed(origin.on)}) AS `_key`",
        "`_ts`",
        *event_columns(origin.base),
        "CAST(NULL AS STRING) AS `_rank`",
        *nulls,
        "`_rowtime`",
    ]
    return f"SELECT {', '.join(columns)} FROM {FLINK.ident(base)} WHERE NOT ({any_null(origin.on)})"


def _rows(origin: JoinOf) -> str:
    table, base = origin.table, origin.base
    values = [FLINK.ident(name) for name, _ in table.values]
    arrival = ["CAST(NULL AS BIGINT)"] if base.arrival_time else []
    columns = [
        f"fdsl_key({_listed(table.key)})",
        "`_ts`",
        *(_null(dtype) for _, dtype in base.columns),
        *arrival,
        f"fdsl_rank({', '.join(['`_ts`', *values])})",
        *values,
        "`_rowtime`",
    ]
    where = f"`_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND NOT ({any_null(table.key)})"
    return f"SELECT {', '.join(columns)} FROM {FLINK.ident(table.name)}\nWHERE {where}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(FLINK.ident(name) for name in names)


def _null(dtype: DType) -> str:
    return f"CAST(NULL AS {FLINK.type_name(dtype)})"
