"""Which columns a feature is made of, and the tags that it inherits from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from featuredsl.nodes import Node, columns_of
from featuredsl.plan import GroupPlan, LookupFeature, OnDemandFeature, StoredFeature, WindowFeature

ColumnOf = tuple[str, str]
"""(source, column)."""


def columns_read(plan: GroupPlan, feature: StoredFeature | OnDemandFeature) -> tuple[ColumnOf, ...]:
    """Every column that decides a feature's value, filters included, without keys and times; sorted."""
    return tuple(sorted(set(_columns(plan, feature))))


def _columns(plan: GroupPlan, feature: StoredFeature | OnDemandFeature) -> Iterator[ColumnOf]:
    if isinstance(feature, WindowFeature):
        for part in feature.aggregate.parts:
            yield from ((part.source, name) for node in part.nodes for name in _names(node))
    elif isinstance(feature, LookupFeature):
        yield feature.source, feature.column
        if feature.where is not None:
            yield from ((feature.source, name) for name in _names(feature.where))
    else:
        made = {item.name: item for item in (*plan.features, *plan.on_demand)}
        for name in feature.inputs:
            yield from _columns(plan, made[name])


@lru_cache(maxsize=4096)
def _names(node: Node) -> frozenset[str]:
    return frozenset(column.name for column in columns_of(node))


def with_tags(plan: GroupPlan, group_tags: tuple[str, ...] = ()) -> GroupPlan:
    """The plan whose features have their own tags, the group's, and those of every column that they read."""
    known = {(s.name, column): tags for s in plan.sources for column, tags in s.tags}
    own = {item.name: item.tags for item in (*plan.features, *plan.on_demand)}

    def tags_of(feature: StoredFeature | OnDemandFeature) -> tuple[str, ...]:
        inherited = {tag for column in columns_read(plan, feature) for tag in known.get(column, ())}
        names = feature.inputs if isinstance(feature, OnDemandFeature) else ()
        passed = {tag for name in names for tag in own.get(name, ())}
        return tuple(sorted({*feature.tags, *group_tags, *inherited, *passed}))

    return replace(
        plan,
        features=tuple(replace(f, tags=tags_of(f)) for f in plan.features),
        on_demand=tuple(replace(f, tags=tags_of(f)) for f in plan.on_demand),
    )
