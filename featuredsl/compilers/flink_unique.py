"""Records that are one event, in Flink SQL: views between a source's records and everything that counts its events.

Of a source with `unique=` the table holds the records (`<source>__records`). `<source>__seen` says of each what it is,
`<source>` holds those that count. A record without a whole key is an event of its own, and goes around the state.

A realtime value cannot wait for a record that is still under way: the first to arrive is the event
(`fdsl_first_arrival`); for sessions, of those that are in time. The tier of closed minutes waits, and takes the first
by time, sequence and row (`fdsl_first_in_time`); where a source has an arrival time, the first to arrive in both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from featuredsl.compilers.flink_sources import arrival_of, records_of
from featuredsl.compilers.flink_tables import event_columns, null_keys, rowtime_of, uid
from featuredsl.compilers.scalar import FLINK
from featuredsl.lateness import late_after_us
from featuredsl.plan import GroupPlan
from featuredsl.sources import EventSource
from featuredsl.tiles import remembered_us

SHARDS = 4096
"""Keys share a shard's state, which forgets by the time of its records; many more than subtasks, to spread well."""
_GOOD = "`_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE"
_JAVA = "dev.featuredsl.flink.unique"


def unique_functions(sources: Iterable[EventSource], closed: Collection[str]) -> list[str]:
    """The statements that the views of these sources need before them; the names of those whose events may wait."""
    arrival = [source for source in sources if source.unique]
    in_time = [source for source in arrival if source.name in closed and waits(source)]
    made = [("fdsl_first_arrival", "FirstArrival")] if arrival else []
    made += [("fdsl_first_in_time", "FirstInTime")] if in_time else []
    return [f"CREATE TEMPORARY SYSTEM FUNCTION {name} AS '{_JAVA}.{of}'" for name, of in made]


def unique_views(source: EventSource, plans: Sequence[GroupPlan]) -> list[str]:
    """The views of the records with a key, of what each record is, and of the events; `plans` are who reads them."""
    if not source.unique:
        return []
    shared = ", ".join([*event_columns(source), "`_ts`"])
    counted = shared if late_after_us(source, plans) is None else f"{shared}, `_ktime`"
    keyed = _keyed(source, plans)
    nothing = "CAST(NULL AS STRING)"
    events = f"SELECT {counted}, {nothing} AS `_reject`, FALSE AS `_heartbeat`, FALSE AS `_ahead`, `_outcome`"
    others = f"SELECT {counted}, `_reject`, `_heartbeat`, `_ahead`, {nothing}"
    seen = (
        f"{events} FROM {_first_arrival(source, plans, 'keyed')}\n"
        f"UNION ALL {others} FROM {records_of(source)}\nWHERE NOT ({keyed})"
    )
    kept = f"SELECT {shared}, `_reject`, `_heartbeat`, `_ahead` FROM {seen_of(source)} WHERE `_outcome` IS NULL"
    return [
        _view(_name(source, "keyed"), f"{_sharded(source)}\nWHERE {keyed}"),
        _view(seen_of(source), seen),
        _view(FLINK.ident(source.name), kept),
    ]


def timed_unique_view(source: EventSource, plans: Sequence[GroupPlan], in_time: str, is_live: bool) -> list[str]:
    """The view of the records for which `in_time` holds that `timed_events` reads."""
    if not source.unique:
        return []
    where = f"WHERE {in_time} AND {_keyed(source, plans)}"
    if is_live or not waits(source):
        return [_view(_name(source, _timed_name(is_live)), f"{_sharded(source, '`_rowtime`')}\n{where}")]
    sequence = [FLINK.ident(source.sequence)] if source.sequence else []
    row = ", ".join(["`_ts`", *sequence, *(FLINK.ident(name) for name in source.column_names)])
    shared = ", ".join(["`_ts`", *event_columns(source), "`_rowtime`"])
    text = f"SELECT {_key(source)} AS `_key`, fdsl_rank({row}) AS `_rank`, {shared} FROM {records_of(source)}"
    return [_view(_name(source, "keyed_in_time"), f"{text}\n{where}")]


def timed_events(source: EventSource, plans: Sequence[GroupPlan], is_live: bool) -> str:
    """A relation of the events among these records, with `_rowtime`; live ones do not wait for the watermark."""
    shared = ", ".join([*event_columns(source), "`_ts`"])
    if not is_live and waits(source):
        table = f"input => TABLE {_name(source, 'keyed_in_time')} PARTITION BY `_key`"
        call = f"TABLE(fdsl_first_in_time({table}, {_big('withinUs', _within(source))}, {_timed(source)}))"
        return f"(SELECT {shared}, {rowtime_of(event_columns(source))} AS `_rowtime` FROM {call})"
    call = _first_arrival(source, plans, _timed_name(is_live), _timed(source, is_live))
    return f"(SELECT {shared}, {rowtime_of(event_columns(source))} AS `_rowtime` FROM {call} WHERE `_outcome` IS NULL)"


def keyless(source: EventSource, plans: Sequence[GroupPlan]) -> str:
    """True for a good record that is an event of its own."""
    return f"NOT ({_keyed(source, plans)})"


def seen_of(source: EventSource) -> str:
    """Where it is known what each record is: the view with `_outcome`, or the table."""
    return _name(source, "seen") if source.unique else FLINK.ident(source.name)


def _sharded(source: EventSource, *more: str) -> str:
    at, tie = _axis(source)
    columns = ", ".join([*event_columns(source), "`_ts`", *more])
    return (
        f"SELECT MOD(HASH_CODE(`_key`), {SHARDS}) AS `_shard`, `_key`, {at} AS `_at`, {tie} AS `_tie`, `_ktime`,\n"
        f"  {columns} FROM (SELECT *, {_key(source)} AS `_key` FROM {records_of(source)})"
    )


def _first_arrival(source: EventSource, plans: Sequence[GroupPlan], view: str, *more: str) -> str:
    arguments = [
        f"input => TABLE {_name(source, view)} PARTITION BY `_shard`",
        _big("withinUs", _within(source)),
        _big("keepUs", remembered_us(source, plans)),
        *(more or [f"uid => '{uid('unique', source.name)}'"]),
    ]
    return f"TABLE(fdsl_first_arrival({', '.join(arguments)}))"


def _timed(source: EventSource, is_live: bool = False) -> str:
    return (
        f"on_time => DESCRIPTOR(`_rowtime`), uid => '{uid('unique', source.name)}-{'live' if is_live else 'in-time'}'"
    )


def _timed_name(is_live: bool) -> str:
    return "keyed_live" if is_live else "keyed_in_time"


def _axis(source: EventSource) -> tuple[str, str]:
    """The time that `within` is measured on, and what orders records of the same."""
    if source.arrival_time is not None and not _by_event_time(source):
        return arrival_of(source), "`_ts`"
    return "`_ts`", FLINK.ident(source.sequence) if source.sequence else "CAST(NULL AS BIGINT)"


def _within(source: EventSource) -> int:
    return source.within_us or 0


def _by_event_time(source: EventSource) -> bool:
    """True where the event time in the key bounds what must be remembered, so that no `within` is needed."""
    return source.within_us is None


def waits(source: EventSource) -> bool:
    """True where closed minutes take another record as the event than realtime values do, and later."""
    return bool(source.unique) and source.arrival_time is None


def _keyed(source: EventSource, plans: Sequence[GroupPlan]) -> str:
    """True for an event that may repeat another: it has a whole key, and the entity of some group."""
    entities = " AND ".join(null_keys(source, plans))
    parts = " AND ".join(f"{part} IS NOT NULL" for part in _parts(source))
    return f"{_GOOD} AND {parts} AND NOT ({entities})"


def _parts(source: EventSource) -> list[str]:
    return ["`_ts`" if name == source.event_time else FLINK.ident(name) for name in source.unique]


def _key(source: EventSource) -> str:
    return f"fdsl_key({', '.join(_parts(source))})"


def _name(source: EventSource, what: str) -> str:
    return FLINK.ident(f"{source.name}__{what}")


def _view(name: str, text: str) -> str:
    return f"CREATE TEMPORARY VIEW {name} AS\n{text}"


def _big(name: str, value: int) -> str:
    return f"{name} => CAST({value} AS BIGINT)"
