"""The version of a group: a hash of what it means. Docs, owner, order and layout do not change it."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

from featuredsl.aggregators import WidePartial
from featuredsl.nodes import Call, Column, Node
from featuredsl.plan import GroupPlan, OnDemandFeature, StoredFeature, WindowFeature
from featuredsl.sources import EventSource, JoinOf, UnionOf
from featuredsl.window_kinds import Session

MEANING = 1


def fingerprint(plan: GroupPlan) -> str:
    """12 hex digits of the SHA-256 of the plan's canonical form."""
    return digest(canonical(plan))


def stored_fingerprint(plan: GroupPlan) -> str:
    """The fingerprint of what is stored: everything but the on-demand features."""
    return digest({**canonical(plan), "on_demand": {}})


def digest(data: object) -> str:
    """12 hex digits for plain data."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def canonical(plan: GroupPlan) -> dict[str, Any]:
    """The plan as plain data, without what does not change its meaning."""
    return {
        "meaning": MEANING,
        "name": plan.name,
        "entity": [list(part) for part in plan.entity],
        "retention_us": plan.retention_us,
        "sources": {source.name: _source(source) for source in plan.sources},
        "features": {feature.name: _feature(feature) for feature in plan.features},
        "on_demand": {feature.name: _on_demand(feature) for feature in plan.on_demand},
    }


def _source(source: EventSource) -> dict[str, Any]:
    """What is left at its default is left out, so that a new option changes no version."""
    if source.origin is not None:
        return {"columns": dict(source.columns)} | _origin(source.origin)
    options = {"arrival_time": source.arrival_time, "unique": list(source.unique), "within_us": source.within_us}
    return {name: value for name, value in options.items() if value} | {
        "event_time": source.event_time,
        "columns": dict(source.columns),
        "sequence": source.sequence,
        "time_unit": source.time_unit,
        "time_range": source.time_range,
        "topic": source.topic,
        "table": source.table,
    }


def _origin(origin: UnionOf | JoinOf) -> dict[str, Any]:
    if isinstance(origin, UnionOf):
        return {"union": {part.name: _source(part) for part in origin.parts}}
    return {
        "base": {origin.base.name: _source(origin.base)},
        "table": {origin.table.name: _source(origin.table.records)},
        "key": list(origin.table.key),
        "on": list(origin.on),
    }


def _feature(feature: StoredFeature) -> dict[str, Any]:
    common = {"dtype": feature.dtype, "freshness": feature.freshness, "default": feature.default}
    if isinstance(feature, WindowFeature):
        return common | {"aggregate": _aggregate(feature), "window": feature.window.meaning}
    return common | {
        "source": feature.source,
        "columns": [list(column) for column in feature.columns],
        "column": feature.column,
        "where": None if feature.where is None else node_data(feature.where),
        "ttl_us": feature.ttl_us,
    }


def _aggregate(feature: WindowFeature) -> dict[str, Any]:
    aggregate = feature.aggregate
    partials = [[p.source, node_data(p.lift), p.merge] for p in aggregate.partials]
    data: dict[str, Any] = {"partials": partials, "finalize": node_data(aggregate.finalize)}
    if not aggregate.wide:
        return data
    data["wide"] = [_wide(part) for part in aggregate.wide]
    if isinstance(feature.window, Session):
        data["forms"] = None if aggregate.filter is None else node_data(aggregate.filter)
    return data


def _wide(part: WidePartial) -> list[Any]:
    where = None if part.where is None else node_data(part.where)
    return [part.source, part.kind, dict(part.params), [node_data(column) for column in part.columns], where]


def _on_demand(feature: OnDemandFeature) -> dict[str, Any]:
    return {
        "dtype": feature.dtype,
        "inputs": sorted(feature.inputs),
        "request": dict(feature.request),
        "code": feature.code,
    }


@lru_cache(maxsize=4096)
def node_data(node: Node) -> list[Any]:
    """A node as nested lists, which equal nodes share: they are to be read only."""
    if isinstance(node, Column):
        return ["column", node.name, node.dtype]
    if isinstance(node, Call):
        return [node.op, *(node_data(arg) for arg in node.args)]
    return ["literal", node.value, node.dtype]
