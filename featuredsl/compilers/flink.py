"""Plans to Flink SQL: one aggregation per (group, source, hop) into the ring, one per source into the hash.

States of variable width have statements of their own (`flink_wide`), and so have sessions (`flink_sessions`).

Realtime tiers need no watermark to publish. An event that is too late for every window changes no answer: its tile is
older than the one in its slot, and the sink's guard refuses it. Text only: no engine is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from featuredsl.compilers.flink_asof import FUNCTION as AS_OF
from featuredsl.compilers.flink_asof import table_columns
from featuredsl.compilers.flink_closed import (
    closed_streams,
    in_time_views,
    latest_rows,
    mark_options,
    tile_rows,
    watermark_columns,
)
from featuredsl.compilers.flink_progress import AHEAD, progress_insert, progress_sink
from featuredsl.compilers.flink_sessions import session_functions, sessions
from featuredsl.compilers.flink_sources import (
    refuse_sources,
    sequence_of,
    streamed,
    streams_read,
    tables_read,
    union_view,
)
from featuredsl.compilers.flink_tables import (
    GroupTarget,
    StreamConfig,
    any_null,
    key_of,
    null_keys,
    table,
    table_of,
    tile_of,
)
from featuredsl.compilers.flink_topics import dead_letter_table, dead_letters, late_letters, source_table
from featuredsl.compilers.flink_unique import unique_functions, unique_views
from featuredsl.compilers.flink_wide import wide_functions, wide_tiles
from featuredsl.compilers.scalar import FLINK, render
from featuredsl.errors import UnsupportedError
from featuredsl.lateness import late_after_us
from featuredsl.nodes import constants_of
from featuredsl.plan import GroupPlan, LookupFeature, StoredFeature, keys_of
from featuredsl.sources import EventSource, UnionOf
from featuredsl.tiles import (
    BATCH_TIERS,
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
    plans = [target.plan for target in targets]
    for plan in plans:
        refuse_unstreamable(plan, "flink")
        refuse_sources(plan)
        _refuse_empty_arrays(plan)
    ddl, inserts = _read(plans, config)
    for target in targets:
        made = _group(target, config)
        ddl += [table for table, _ in made]
        inserts += [insert for _, insert in made]
        for view, sink, insert in sessions(target, config):
            ddl += [view, sink]
            inserts.append(insert)
    return ddl + inserts


def _read(plans: Sequence[GroupPlan], config: StreamConfig) -> tuple[list[str], list[str]]:
    """What the groups read, as far as the views of events; and what is said of its records, with its sinks."""
    sources = _by_name(source for plan in plans for source in streams_read(plan))
    tables = _by_name(records for plan in plans for records in tables_read(plan))
    for name in sources.keys() & tables.keys():
        raise UnsupportedError(f"flink: {name!r} is a source and a table of one job; give one of them another name")
    every = sources | tables
    readers = {name: [plan for plan in plans if source in streams_read(plan)] for name, source in sources.items()}
    timed = {stream.name for stream in timed_streams(plans)}
    ddl = [*FUNCTIONS, *wide_functions(plans), *session_functions(plans)]
    ddl += [*unique_functions(sources.values(), closed_streams(plans)), *([AS_OF] if tables else [])]
    for name, source in sources.items():
        ddl.append(source_table(source, config, [AHEAD, *(watermark_columns() if name in timed else ())]))
    ddl += [source_table(records, config, table_columns()) for records in tables.values()]
    ddl += [view for name, source in sources.items() for view in unique_views(source, readers[name])]
    made_of = {source.name: source for plan in plans for source in streamed(plan)}.values()
    ddl += [union_view(source) for source in made_of if isinstance(source.origin, UnionOf)]
    ddl += in_time_views(plans, readers)
    no_keys = {name: " OR ".join(null_keys(source, readers[name])) for name, source in sources.items()}
    for name in tables:
        no_keys[name] = " OR ".join(f"({any_null(key)})" for key in keys_of(plans, name))
    inserts: list[str] = []
    for name, source in every.items():
        ddl += [dead_letter_table(source, "dlq", config), progress_sink(source, config.redis, config.group_id)]
        late_us = None if name in tables else late_after_us(source, readers[name])
        inserts += [dead_letters(source, no_keys[name], config), progress_insert(source, no_keys[name], late_us)]
        if name in timed:
            ddl.append(dead_letter_table(source, "late", config))
            late = [plan for plan in readers[name] if source in timed_streams([plan])]
            inserts.append(late_letters(source, late, config))
    return ddl, inserts


def _by_name(sources: Iterable[EventSource]) -> dict[str, EventSource]:
    found: dict[str, EventSource] = {}
    for source in sources:
        if found.setdefault(source.name, source) != source:
            raise UnsupportedError(f"flink: two groups of the bundle define source {source.name!r} differently")
    return found


FUNCTIONS = (
    "CREATE TEMPORARY SYSTEM FUNCTION fdsl_age AS 'dev.featuredsl.flink.AgeFunction'",
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
