"""Sources in Flink SQL: which kinds a streaming job can read, what it reads for them, and unions of them.

An online job sees a record when it arrives, so an arrival time changes nothing but the order of equal event times.
"""

from __future__ import annotations

from collections.abc import Sequence

from featuredsl.compilers.scalar import FLINK
from featuredsl.errors import UnsupportedError
from featuredsl.plan import GroupPlan, StoredFeature
from featuredsl.source_checks import ARRIVAL_US
from featuredsl.sources import EventSource, JoinOf, UnionOf
from featuredsl.tiles import BATCH_TIERS, stream_lookups, stream_windows
from featuredsl.times import UNIT_US


def streamed(plan: GroupPlan) -> list[EventSource]:
    """The sources that the group's streamed features read."""
    names = dict.fromkeys(name for feature in _stream_features(plan) for name in feature.source_names)
    return [plan.source(name) for name in names]


def streams_read(plan: GroupPlan) -> list[EventSource]:
    """The sources with a topic that the group's streamed features are made of: those of batch features are not read."""
    return list(dict.fromkeys(stream for source in streamed(plan) for stream in source.streams()))


def tables_read(plan: GroupPlan) -> list[EventSource]:
    """The records of the tables that are joined to the sources of the group's streamed features."""
    return list(dict.fromkeys(table.records for source in streamed(plan) for table in source.tables()))


def topics_read(plan: GroupPlan) -> list[EventSource]:
    """What the group's job reads: its streams, then its tables."""
    return [*streams_read(plan), *tables_read(plan)]


def drops_duplicates(plan: GroupPlan) -> bool:
    """True where a stream of the group reads a source whose records may repeat an event."""
    return any(source.unique for source in streams_read(plan))


def records_of(source: EventSource) -> str:
    """The table of a source's records: where duplicates are dropped, the source's own name is that of its events."""
    return FLINK.ident(records_name(source))


def records_name(source: EventSource) -> str:
    """The name of that table."""
    return f"{source.name}__records" if source.unique else source.name


def refuse_sources(plan: GroupPlan) -> None:
    """Raises UnsupportedError for a realtime feature over a table, and for a source whose keys are kept for ever."""
    for feature in _stream_features(plan):
        for name in feature.source_names:
            problem = _problem(plan.source(name), feature)
            if problem:
                raise UnsupportedError(
                    f"flink: {plan.name}.{feature.name} ({feature.location}): {problem}, or use freshness "
                    f"{' or '.join(BATCH_TIERS)}"
                )


def union_view(source: EventSource) -> str:
    """The view of a union: the common columns and what the job's queries read of every row."""
    found = selects(source, ("`_ts`", "`_reject`", "`_heartbeat`", "`_ahead`"))
    parts = [f"{select} FROM {FLINK.ident(part.name)}" for part, select in found]
    return f"CREATE TEMPORARY VIEW {FLINK.ident(source.name)} AS\n" + "\nUNION ALL ".join(parts)


def selects(source: EventSource, technical: Sequence[str]) -> list[tuple[EventSource, str]]:
    """Each stream of a source, and SELECT of its columns, its arrival, and these columns of the job's own."""
    columns = [FLINK.ident(name) for name in source.column_names]
    if not isinstance(source.origin, UnionOf):
        arrival = [FLINK.ident(source.arrival_time)] if source.arrival_time else []
        return [(source, f"SELECT {', '.join([*columns, *arrival, *technical])}")]
    found = []
    for part in source.origin.parts:
        arrival = [f"{arrival_of(part)} AS {FLINK.ident(ARRIVAL_US)}"] if source.arrival_time else []
        found.append((part, f"SELECT {', '.join([*columns, *arrival, *technical])}"))
    return found


def sequence_of(source: EventSource) -> str | None:
    """What breaks ties of equal event times, as SQL over the source's table or view."""
    if source.sequence is not None:
        return FLINK.ident(source.sequence)
    return None if source.arrival_time is None else arrival_of(source)


def arrival_options(source: EventSource) -> list[tuple[str, str]]:
    """Options of the format: the arrival is a time in the unit of the source, and a record needs one."""
    if source.arrival_time is None:
        return []
    return [("featuredsl-json.time-columns", source.arrival_time), ("featuredsl-json.required", source.arrival_time)]


def arrival_of(source: EventSource) -> str:
    """The arrival in microseconds; without one an event arrives at its event time."""
    if isinstance(source.origin, JoinOf):
        return arrival_of(source.origin.base)
    if source.origin is not None:
        return FLINK.ident(ARRIVAL_US)
    if source.arrival_time is None:
        return "`_ts`"
    unit = UNIT_US[source.time_unit]
    column = FLINK.ident(source.arrival_time)
    return column if unit == 1 else f"({column} * {unit})"


def _problem(source: EventSource, feature: StoredFeature) -> str:
    if isinstance(source.origin, JoinOf):
        if feature.tier.is_deferred:
            return _problem(source.origin.base, feature)
        return (
            f"an event cannot wait for table {source.origin.table.name!r} in tier {feature.freshness}; use freshness "
            "5m, or send the table's columns with the events"
        )
    if isinstance(source.origin, UnionOf):
        return next((found for part in source.origin.parts if (found := _problem(part, feature))), "")
    if source.unique and source.within_us is None and source.event_time not in source.unique:
        return (
            f"source {source.name!r} is unique by {', '.join(source.unique)} without within=, so a stream would keep "
            "every key for ever; say how far apart copies may be (within='1d')"
        )
    return ""


def _stream_features(plan: GroupPlan) -> list[StoredFeature]:
    return [*stream_windows(plan), *stream_lookups(plan)]
