"""Rows of a streamed tier in Flink SQL: all of them as they come (realtime), or those of minutes that are closed (5m).

A source that a deferred tier reads has a watermark, which trails the newest event by the tier's delay; heartbeats move
it too. A row behind it is too late: it goes to the late topic. The others are counted in windows that end with a
period, so a tile is written again at each close of a period with rows, and the sinks mark how far they are complete:
a sink's watermark passes the end of a period after everything before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from featuredsl.compilers.flink_asof import as_of_views
from featuredsl.compilers.flink_progress import IS_AHEAD
from featuredsl.compilers.flink_sources import records_of, selects
from featuredsl.compilers.flink_tables import StreamConfig, key_is_null, key_of, null_keys, tile_of, usable
from featuredsl.compilers.flink_unique import keyless, timed_events, timed_unique_view, waits
from featuredsl.compilers.scalar import FLINK, floor_div
from featuredsl.online.layout import StoreLayout
from featuredsl.online.meta import MetaKeys, mark_field
from featuredsl.plan import GroupPlan
from featuredsl.sources import EventSource, JoinOf
from featuredsl.tiers import TIERS, Tier
from featuredsl.tiles import deferred_sources, live_session_sources, timed_sources
from featuredsl.times import MINUTE, SECOND

DEFERRED = TIERS["5m"]
_IS_LATE = "`_rowtime` <= CURRENT_WATERMARK(`_rowtime`)"
COUNTED = f"`_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_rowtime` IS NOT NULL AND ({_IS_LATE}) IS NOT TRUE"
"""True for the records that a deferred tier counts: good and in time."""
_EPOCH = "TIMESTAMP '1970-01-01 00:00:00'"


@dataclass(frozen=True, slots=True)
class Rows:
    """What follows SELECT in a statement of a streamed tier: the relation, and the end of a GROUP BY."""

    relation: str
    where: str
    grouped: str = ""

    def text(self, *keys: str) -> str:
        """FROM, WHERE and GROUP BY these keys."""
        return f"FROM {self.relation}\nWHERE {self.where}\nGROUP BY {', '.join(keys)}{self.grouped}"


def tile_rows(plan: GroupPlan, source: str, hop_us: int, freshness: str) -> str:
    """The rows of a tile: FROM … GROUP BY key, tile."""
    tier = TIERS[freshness]
    return _rows(plan, source, tier, hop_us).text(key_of(plan), tile_of(hop_us))


def latest_rows(plan: GroupPlan, source: str, freshness: str) -> str:
    """The rows of a key: FROM … GROUP BY key."""
    tier = TIERS[freshness]
    return _rows(plan, source, tier, tier.period_us).text(key_of(plan))


def mark_options(layout: StoreLayout, mark: str, freshness: str, config: StreamConfig) -> list[tuple[str, str]]:
    """Options of a sink that make it mark how far a deferred tier is complete."""
    tier = TIERS[freshness]
    if not tier.is_deferred:
        return []
    return [
        ("mark-key", MetaKeys(config.prefix).closed),
        ("mark-field", mark_field(layout.group, layout.version, mark)),
        ("mark-every", str(tier.period_us)),
    ]


def watermark_columns() -> list[str]:
    """What a source's table has besides its columns. The watermark is a millisecond behind the delay, because Flink
    closes a window when the watermark reaches its last millisecond. An event from the future has no time there, so that
    it closes nothing."""
    seconds, rest = divmod(DEFERRED.delay_us + SECOND // 1000, SECOND)
    delay = f"INTERVAL '{seconds}.{rest // 1000:03}' SECOND"
    return [
        f"`_rowtime` AS CASE WHEN {IS_AHEAD} THEN CAST(NULL AS TIMESTAMP_LTZ(3)) "
        f"ELSE TO_TIMESTAMP_LTZ({floor_div('`_ts`', '1000', FLINK)}, 3) END",
        f"WATERMARK FOR `_rowtime` AS `_rowtime` - {delay}",
    ]


def in_time(source: EventSource, freshness: str = "5m") -> str:
    """The name of the view of the rows of a source that are in time. Where events wait for the watermark, so that the
    first of copies is known, realtime sessions have a view of their own."""
    is_live = not TIERS[freshness].is_deferred and any(map(waits, source.streams()))
    return f"{source.name}__{'live' if is_live else 'in_time'}"


def closed_streams(plans: Sequence[GroupPlan]) -> set[str]:
    """The names of the streams of whose copies the first by time is looked for."""
    return {stream.name for source, is_live in _timed(plans) if not is_live for stream in source.streams()}


def in_time_views(plans: Sequence[GroupPlan], readers: Mapping[str, Sequence[GroupPlan]]) -> list[str]:
    """What deferred tiers and sessions read: of records that may repeat an event those in time, then each source's
    events; `readers` are the groups that read each stream."""
    timed = _timed(plans)
    streams = dict.fromkeys((s, is_live and waits(s)) for source, is_live in timed for s in source.streams())
    keyed = [view for s, is_live in streams for view in timed_unique_view(s, readers[s.name], COUNTED, is_live)]
    return keyed + [view for source, is_live in timed for view in _in_time_views(source, readers, is_live)]


def _timed(plans: Sequence[GroupPlan]) -> list[tuple[EventSource, bool]]:
    """The sources that need event time, and whether it is for a view of realtime sessions' own."""
    deferred, live = deferred_sources(plans), live_session_sources(plans)
    own = [source for source in live.values() if any(map(waits, source.streams()))]
    shared = [source for name, source in timed_sources(plans).items() if name in deferred or source not in own]
    with_bases = dict.fromkeys(part for source in shared for part in source.chain())
    return [(source, False) for source in with_bases] + [(source, True) for source in own]


def _in_time_views(source: EventSource, readers: Mapping[str, Sequence[GroupPlan]], is_live: bool) -> list[str]:
    if isinstance(source.origin, JoinOf):
        return as_of_views(source, source.origin, in_time(source.origin.base), in_time(source))
    parts: list[str] = []
    for part, select in selects(source, ("`_ts`", "`_rowtime`")):
        around = f" AND {keyless(part, readers[part.name])}" if part.unique else ""
        parts.append(f"{select} FROM {records_of(part)}\nWHERE {COUNTED}{around}")
        if part.unique:
            parts.append(f"{select} FROM {timed_events(part, readers[part.name], is_live and waits(part))}")
    name = in_time(source, "realtime" if is_live else "5m")
    return [f"CREATE TEMPORARY VIEW {FLINK.ident(name)} AS\n" + "\nUNION ALL ".join(parts)]


def late_rows(source: EventSource, plans: Iterable[GroupPlan]) -> str:
    """FROM … WHERE of the rows of a stream that are too late for every deferred feature of these groups. The window
    counts nothing: statements that need event time are planned with event-time mini-batches, others with those of the
    wall clock, behind which `CURRENT_WATERMARK` is the time of day."""
    no_key = " AND ".join(null_keys(source, plans))
    return (
        f"FROM {_window(records_of(source), DEFERRED.period_us, DEFERRED.period_us)}\n"
        f"WHERE `_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND {_IS_LATE} AND NOT ({no_key})"
    )


def _rows(plan: GroupPlan, source: str, tier: Tier, hop_us: int) -> Rows:
    if not tier.is_deferred:
        return Rows(FLINK.ident(source), usable(plan))
    relation = _window(FLINK.ident(in_time(plan.source(source))), tier.period_us, hop_us)
    grouped = ", `window_start`, `window_end`"
    if hop_us > tier.period_us:
        closed = f"TIMESTAMPDIFF(MINUTE, {_EPOCH}, `window_end`) - 1"
        grouped += f"\nHAVING {floor_div('MAX(`_ts`)', str(MINUTE), FLINK)} = {closed}"
    return Rows(relation, f"NOT ({key_is_null(plan)})", grouped)


def _window(table: str, period_us: int, hop_us: int) -> str:
    """Windows that end with each period; of a longer tile they grow from its beginning."""
    step = _minutes(period_us)
    if hop_us > period_us:
        return f"TABLE(CUMULATE(TABLE {table}, DESCRIPTOR(`_rowtime`), {step}, {_minutes(hop_us)}))"
    return f"TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(`_rowtime`), {step}))"


def _minutes(duration_us: int) -> str:
    minutes = str(duration_us // MINUTE)
    return f"INTERVAL '{minutes}' MINUTE" + (f"({len(minutes)})" if len(minutes) > 2 else "")
