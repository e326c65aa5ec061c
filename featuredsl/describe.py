"""What `explain` says of a group, as plain data."""

from __future__ import annotations

from typing import Any

from featuredsl.compilers.flink_sources import refuse_sources, streamed, streams_read
from featuredsl.costs import STATE_ROW_BYTES, backfills, cost, tiles_of, width, worst_age_us
from featuredsl.errors import UnsupportedError
from featuredsl.horizon import history_columns, tile_us
from featuredsl.lineage import columns_read
from featuredsl.plan import GroupPlan, OnDemandFeature, StoredFeature, WindowFeature
from featuredsl.sources import EventSource, TableSource
from featuredsl.tiles import remembered_us
from featuredsl.times import format_duration


def group_data(plan: GroupPlan, at_us: int | None = None) -> dict[str, Any]:
    """Everything that is known of a group, as JSON data; durations are texts such as `1h`, sizes are bytes."""
    history = history_columns(plan)
    return {
        "group": plan.name,
        "version": plan.version,
        "entity": [{"name": name, "type": dtype} for name, dtype in plan.entity],
        "owner": plan.owner or None,
        "bundle": plan.bundle,
        "doc": plan.doc or None,
        "where": str(plan.location),
        "sources": [source.name for source in plan.sources],
        "features": [feature_data(plan, item) for item in (*plan.features, *plan.on_demand)],
        "duplicates": [_duplicates(plan, source) for source in streams_read(plan) if source.unique],
        "tables": [_table(table, source) for source in streamed(plan) for table in source.tables()],
        "backfill": [backfill.text(at_us) for backfill in backfills(plan)],
        "history": [] if history is None else list(history.sources),
        **_cost_data(plan),
    }


def _duplicates(plan: GroupPlan, source: EventSource) -> dict[str, Any]:
    """What the stream job keeps of a source to know copies by: a key, and its own 16 bytes and 64 of the state."""
    kinds = {**dict(source.columns), source.event_time: "int"}
    return {
        "source": source.name,
        "key": list(source.unique),
        "remembered": format_duration(remembered_us(source, [plan])),
        "bytes_per_event": STATE_ROW_BYTES + 16 + sum(width(kinds[name]) for name in source.unique),
    }


def _table(table: TableSource, source: EventSource) -> dict[str, Any]:
    """What the stream job keeps of a table for a source that it is joined to: the newest row of each key, its columns
    twice (themselves, and in what orders rows), and 64 bytes of the state."""
    columns = sum(width(dtype) for _, dtype in table.values)
    row_bytes = STATE_ROW_BYTES + 2 * columns
    return {"table": table.name, "key": list(table.key), "source": source.name, "bytes_per_row": row_bytes}


def _cost_data(plan: GroupPlan) -> dict[str, Any]:
    try:
        refuse_sources(plan)
        found = cost(plan)
    except UnsupportedError as error:
        return {"online": None, "state_bytes": None, "unsupported": str(error)}
    online = {"bytes": found.online_bytes, "ring_bytes": found.ring_bytes, "hash_fields": found.hash_fields}
    return {"online": online, "state_bytes": found.state_bytes, "unsupported": None}


def feature_data(plan: GroupPlan, feature: StoredFeature | OnDemandFeature) -> dict[str, Any]:
    """One feature as JSON data."""
    common = {
        "feature": feature.name,
        "type": feature.dtype,
        "tags": list(feature.tags),
        "doc": feature.doc or None,
        "columns": [f"{source}.{column}" for source, column in columns_read(plan, feature)],
        "where": str(feature.location),
    }
    if isinstance(feature, OnDemandFeature):
        request = [f"request.{name}" for name, _ in feature.request]
        inputs = {"sources": [], "inputs": [*feature.inputs, *request], "default": None}
        return {**common, **inputs, "tier": "on demand", "engine": "python", **_NO_WINDOW}
    shared = {
        "sources": list(feature.source_names),
        "inputs": [],
        "default": feature.default,
        "tier": feature.freshness,
        "engine": feature.tier.engine,
        "worst_age": format_duration(worst_age_us(feature)) if worst_age_us(feature) else "0s",
    }
    return {**common, **shared, **_window_data(feature)}


_NO_WINDOW = {"worst_age": None, "window": None, "hop": None, "tiles": None}


def _window_data(feature: StoredFeature) -> dict[str, Any]:
    if isinstance(feature, WindowFeature):
        hop_us = tile_us(feature)
        hop = None if hop_us is None else format_duration(hop_us)
        return {"window": str(feature.window), "hop": hop, "tiles": tiles_of(feature)}
    ttl = "latest" if feature.ttl_us is None else f"latest, ttl {format_duration(feature.ttl_us)}"
    return {"window": ttl, "hop": None, "tiles": None}
