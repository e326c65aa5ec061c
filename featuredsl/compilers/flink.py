"""Plans to Flink SQL: one aggregation per (group, source, hop) into the ring, one per source into the hash.

States of variable width have statements of their own (`flink_wide`), and so have sessions (`flink_sessions`).

Realtime tiers need no watermark to publish. An event that is too late for every window changes no answer: its tile is
older than the one in its slot, and the sink's guard refuses it. Text only: no engine is imported.
"""

from __future__ import annotations

from collections.abc import Sequence

from featuredsl.compilers.flink_closed import (
    closed_streams,
    in_time_views,
    late_rows,
    latest_rows,
    mark_options,
    tile_rows,
    watermark_columns,
)
from featuredsl.compilers.flink_progress import AHEAD, RECORD_TIME, progress_insert, progress_sink, reason
from featuredsl.compilers.flink_sessions import session_functions, sessions
from featuredsl.compilers.flink_sources import (
    arrival_options,
    records_name,
    records_of,
    refuse_sources,
    sequence_of,
    streamed,
    streams_read,
    union_view,
)
from featuredsl.compilers.flink_tables import GroupTarget, StreamConfig, key_is_null, key_of, table, table_of, tile_of
from featuredsl.compilers.flink_unique import unique_functions, unique_views
from featuredsl.compilers.flink_wide import wide_functions, wide_tiles
from featuredsl.compilers.scalar import FLINK, render
from featuredsl.errors import UnsupportedError
from featuredsl.lateness import late_after_us
from featuredsl.nodes import constants_of
from featuredsl.plan import GroupPlan, LookupFeature, StoredFeature
from featuredsl.sources import EventSource
from featuredsl.tiles import (
    BATCH_TIERS,
    MAX_AHEAD_S,
    TileTier,
    latest_mark,
    refuse_unstreamable,
    state_tiers,
    stream_lookups,
    stream_windows,
    tile_tiers,
    timed_streams,
)

__all__ = ["GroupTarget", "StreamConfig", "statements"]


def statements(targets: Sequence[GroupTarget], config: StreamConfig) -> list[str]:
    """The statements of a feature job: functions, source tables, sinks, then the INSERTs, in order."""
    sources: dict[str, EventSource] = {}
    unions: dict[str, EventSource] = {}
    for target in targets:
        refuse_unstreamable(target.plan, "flink")
        refuse_sources(target.plan)
        _refuse_empty_arrays(target.plan)
        for source in streams_read(target.plan):
            if sources.setdefault(source.name, source) != source:
                raise UnsupportedError(f"flink: two groups of the bundle define source {source.name!r} differently")
        unions |= {source.name: source for source in streamed(target.plan) if source.origin is not None}
    plans = [target.plan for target in targets]
    readers = {source.name: [plan for plan in plans if source in streams_read(plan)] for source in sources.values()}
    timed = {stream.name for stream in timed_streams(plans)}
    tables = [_source_table(source, config, source.name in timed) for source in sources.values()]
    ddl = [*FUNCTIONS, *wide_functions(plans), *session_functions(plans)]
    ddl += [*unique_functions(sources.values(), closed_streams(plans)), *tables]
    ddl += [view for source in sources.values() for view in unique_views(source, readers[source.name])]
    ddl += [*map(union_view, unions.values()), *in_time_views(plans, readers)]
    inserts: list[str] = []
    for source in sources.values():
        keyed = readers[source.name]
        no_key = _no_key(keyed)
        ddl += [_dead_letter_table(source, "dlq", config), progress_sink(source, config.redis, config.group_id)]
        late_us = late_after_us(source, keyed)
        inserts += [_dead_letters(source, no_key, config), progress_insert(source, no_key, late_us)]
        if source.name in timed:
            ddl.append(_dead_letter_table(source, "late", config))
            inserts.append(_late(source, [plan for plan in keyed if source in timed_streams([plan])], config))
    for target in targets:
        made = _group(target, config)
        ddl += [table for table, _ in made]
        inserts += [insert for _, insert in made]
        for view, sink, insert in sessions(target, config):
            ddl += [view, sink]
            inserts.append(insert)
    return ddl + inserts


PAYLOAD_CHARS = 955_732
"""Base64 of 700 KiB, as the format caps what it rejects: a dead letter fits a Kafka record of 1 MiB."""

FUNCTIONS = (
    "CREATE TEMPORARY SYSTEM FUNCTION fdsl_key AS 'dev.featuredsl.flink.KeyFunction'",
    "CREATE TEMPORARY SYSTEM FUNCTION fdsl_rank AS 'dev.featuredsl.flink.RankFunction'",
)


def _refuse_empty_arrays(plan: GroupPlan) -> None:
    """Flink SQL has no empty array: ARRAY[] has no type, and no cast gives it one."""
    streamed: list[StoredFeature] = [*stream_windows(plan), *stream_lookups(plan)]
    for feature in streamed:
        parts = () if isinstance(feature, LookupFeature) else feature.aggregate.parts
        nodes = [feature.where] if isinstance(feature, LookupFeature) else [n for part in parts for n in part.nodes]
        constants = [c for node in nodes if node is not None for c in constants_of(node)]
        if any(constant.value == () for constant in constants):
            raise UnsupportedError(
                f"flink: {plan.name}.{feature.name} ({feature.location}): an empty array constant cannot be written; "
                f"test is_null() instead, or use freshness {' or '.join(BATCH_TIERS)}"
            )


def _source_table(source: EventSource, config: StreamConfig, is_timed: bool) -> str:
    columns = [f"{FLINK.ident(name)} {FLINK.type_name(dtype)}" for name, dtype in source.columns]
    columns += [f"{FLINK.ident(source.arrival_time)} BIGINT"] if source.arrival_time else []
    columns += [
        "`_ts` BIGINT",
        "`_raw` STRING",
        "`_heartbeat` BOOLEAN",
        "`_reject` STRING",
        "`_detail` STRING",
        "`_payload` STRING",
        "`_sha256` STRING",
        "`_partition` INT METADATA FROM 'partition' VIRTUAL",
        "`_offset` BIGINT METADATA FROM 'offset' VIRTUAL",
        RECORD_TIME,
        AHEAD,
        *(watermark_columns() if is_timed else ()),
        *((config.topic_column,) if config.is_refilled(source.topic) else ()),
    ]
    first, last = source.time_range or ("none", "none")
    time_range = "none" if source.time_range is None else f"{first}/{last}"
    return table(
        records_name(source),
        columns,
        (
            ("connector", "kafka"),
            ("topic", config.topics_of(source.topic)),
            ("properties.bootstrap.servers", config.kafka),
            ("properties.group.id", config.group_id),
            ("properties.isolation.level", "read_committed"),
            ("scan.startup.mode", "earliest-offset"),
            ("format", "featuredsl-json"),
            ("featuredsl-json.event-time", source.event_time),
            ("featuredsl-json.time-unit", source.time_unit),
            ("featuredsl-json.time-range", time_range),
            *arrival_options(source),
        ),
    )


def _kafka_sink(name: str, topic: str, columns: Sequence[str], config: StreamConfig) -> str:
    options = (
        ("connector", "kafka"),
        ("topic", config.prefix + topic),
        ("properties.bootstrap.servers", config.kafka),
        ("format", "json"),
    )
    return table(name, columns, options)


def _dead_letter_table(source: EventSource, kind: str, config: StreamConfig) -> str:
    columns = (
        "`topic` STRING",
        "`partition` INT",
        "`offset` BIGINT",
        "`ts` BIGINT",
        "`reason` STRING",
        "`detail` STRING",
        "`payload` STRING",
        "`sha256` STRING",
    )
    return _kafka_sink(f"{source.name}__{kind}", f"{source.topic}.{kind}", columns, config)


def _no_key(plans: Sequence[GroupPlan]) -> str:
    return " OR ".join(dict.fromkeys(f"({key_is_null(plan)})" for plan in plans))


def _dead_letters(source: EventSource, no_key: str, config: StreamConfig) -> str:
    """Rejected rows, events that lack the entity of a group (a null never matches a key), events from the future."""
    topic = FLINK.text(config.prefix + source.topic)
    ahead = f"CASE WHEN `_ahead` IS TRUE THEN 'event time is over {MAX_AHEAD_S} s ahead of the record''s time' END"
    return (
        f"INSERT INTO {FLINK.ident(source.name + '__dlq')}\n"
        f"SELECT {topic}, `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, {ahead}),\n"
        f"  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, {PAYLOAD_CHARS})),\n"
        "  COALESCE(`_sha256`, SHA256(`_raw`))\n"
        f"FROM (SELECT *, {reason(no_key)} AS `_why` FROM {records_of(source)})\n"
        f"WHERE `_why` IS NOT NULL{config.own_records(source.topic)}"
    )


def _late(source: EventSource, plans: Sequence[GroupPlan], config: StreamConfig) -> str:
    """Rows that came when their minute could be closed already."""
    topic = FLINK.text(config.prefix + source.topic)
    return (
        f"INSERT INTO {FLINK.ident(source.name + '__late')}\n"
        f"SELECT {topic}, `_partition`, `_offset`, `_ts` / 1000, 'late', CAST(NULL AS STRING),\n"
        f"  SUBSTRING(TO_BASE64(`_raw`), 1, {PAYLOAD_CHARS}), SHA256(`_raw`)\n"
        f"{late_rows(source, plans)}{config.own_records(source.topic)}"
    )


def _group(target: GroupTarget, config: StreamConfig) -> list[tuple[str, str]]:
    made = [_ring(target, tier, config) for tier in tile_tiers(target.plan)]
    made += [wide_tiles(target, tier, config) for tier in state_tiers(target.plan)]
    by_table: dict[tuple[str, str], list[LookupFeature]] = {}
    for lookup in stream_lookups(target.plan):
        by_table.setdefault((lookup.source, lookup.freshness), []).append(lookup)
    return made + [_fields(target, *at, lookups, config) for at, lookups in by_table.items()]


def _ring(target: GroupTarget, tier: TileTier, config: StreamConfig) -> tuple[str, str]:
    plan, layout = target.plan, target.layout
    name = table_of(plan, tier.name)
    types = [f"`c{i}` {FLINK.type_name(p.dtype)}" for i, p in enumerate(tier.partials)]
    columns = ["`k` STRING", "`tile` BIGINT", "`n` BIGINT", "`hwm` BIGINT", *types]
    options = (
        ("connector", "featuredsl-redis"),
        ("mode", "ring"),
        ("url", config.redis),
        ("key-prefix", layout.key_prefix),
        ("header", layout.header().hex()),
        ("offset", str(layout.offset(tier.name))),
        ("slots", str(tier.slots)),
        ("slot-size", str(layout.slot_size(tier.name))),
        ("total-size", str(layout.total_size)),
        ("hop", str(tier.hop_us)),
        ("expire-after", str(layout.expire_after_us)),
        *((("extend-hash", "true"),) if layout.sessions else ()),
        *mark_options(layout, tier.mark, tier.freshness, config),
    )
    tile = tile_of(tier.hop_us)
    partials = [f"{p.merge.upper()}({render(p.lift, FLINK)}) AS `c{i}`" for i, p in enumerate(tier.partials)]
    selected = ",\n  ".join(["COUNT(*) AS `n`", "MAX(`_ts`) AS `hwm`", *partials])
    insert = (
        f"INSERT INTO {FLINK.ident(name)}\n"
        f"SELECT {key_of(plan)} AS `k`, {tile} AS `tile`,\n  {selected}\n"
        f"{tile_rows(plan, tier.source, tier.hop_us, tier.freshness)}"
    )
    return table(name, [*columns, "PRIMARY KEY (`k`, `tile`) NOT ENFORCED"], options), insert


def _rank(target: GroupTarget, lookup: LookupFeature) -> str:
    sequence = sequence_of(target.plan.source(lookup.source))
    columns = [FLINK.ident(name) for name, _ in lookup.columns]
    rank = f"fdsl_rank({', '.join(['`_ts`', *([sequence] if sequence else []), *columns])})"
    if lookup.where is None:
        return f"MAX({rank})"
    return f"MAX(CASE WHEN {render(lookup.where, FLINK)} THEN {rank} END)"


def _fields(
    target: GroupTarget, source: str, freshness: str, lookups: Sequence[LookupFeature], config: StreamConfig
) -> tuple[str, str]:
    plan, layout = target.plan, target.layout
    mark = latest_mark(source, freshness)
    name = table_of(plan, mark)
    columns = ["`k` STRING", "`ts` BIGINT", *(f"`f{i}` STRING" for i in range(len(lookups)))]
    options = (
        ("connector", "featuredsl-redis"),
        ("mode", "fields"),
        ("url", config.redis),
        ("key-prefix", layout.key_prefix),
        ("fields", ";".join(f"l:{lookup.name}" for lookup in lookups)),
        ("expire-after", str(layout.expire_after_us)),
        *mark_options(layout, mark, freshness, config),
    )
    ranks = ",\n  ".join(f"{_rank(target, lookup)} AS `f{i}`" for i, lookup in enumerate(lookups))
    insert = (
        f"INSERT INTO {FLINK.ident(name)}\n"
        f"SELECT {key_of(plan)} AS `k`, MAX(`_ts`) AS `ts`,\n  {ranks}\n"
        f"{latest_rows(plan, source, freshness)}"
    )
    return table(name, [*columns, "PRIMARY KEY (`k`) NOT ENFORCED"], options), insert
