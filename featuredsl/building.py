"""From a class of declared features to a group plan: traces the methods, checks names and types."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace

from featuredsl.closures import closure_code
from featuredsl.declared import DeclaredFeature, DeclaredOnDemand, WindowSpec, at, location_of
from featuredsl.dtypes import DType, allows_null, fits, from_annotation
from featuredsl.errors import DefinitionError, unknown
from featuredsl.fingerprint import fingerprint
from featuredsl.nodes import Value
from featuredsl.plan import (
    GroupPlan,
    Location,
    LookupFeature,
    OnDemandFeature,
    StoredFeature,
    WindowFeature,
    inputs_of,
)
from featuredsl.sources import EventSource
from featuredsl.times import parse_duration
from featuredsl.trace import Stream, TracedAggregate, TracedLookup
from featuredsl.windows import Window, window


def group_plan(
    cls: type, name: str, keys: tuple[str, ...], retention_us: int, owner: str, location: Location
) -> GroupPlan:
    """The plan of a decorated class. Raises DefinitionError."""
    _check_name("group", name)
    declared = [value for value in vars(cls).values() if isinstance(value, DeclaredFeature)]
    if not declared:
        raise DefinitionError("a group needs at least one @feature")
    joins: list[EventSource] = []
    features = tuple(made for item in declared for made in _features(item, joins))
    sources = _used(features, (*(source for item in declared for source in item.sources), *joins))
    plan = GroupPlan(
        name=name,
        entity=_entity(keys, sources),
        sources=sources,
        features=features,
        on_demand=tuple(_on_demand(v, features) for v in vars(cls).values() if isinstance(v, DeclaredOnDemand)),
        retention_us=retention_us,
        owner=owner,
        doc=inspect.cleandoc(cls.__doc__ or ""),
        location=location,
    )
    _check_unique(plan)
    inputs_of([plan])
    return replace(plan, version=fingerprint(plan))


def _used(features: Sequence[StoredFeature], known: Sequence[EventSource]) -> tuple[EventSource, ...]:
    """The sources that the features read, in order. Raises DefinitionError when two of them have one name."""
    names = {name for feature in features for name in feature.source_names}
    used = tuple(source for source in dict.fromkeys(known) if source.name in names)
    for source in used:
        if sum(other.name == source.name for other in used) > 1:
            raise DefinitionError(f"two sources of the group are called {source.name!r}; rename one")
    return used


def _entity(keys: tuple[str, ...], sources: tuple[EventSource, ...]) -> tuple[tuple[str, DType], ...]:
    entity = []
    for key in keys:
        kinds = {source.name: source.dtype(key) for source in sources}
        for source in sources:
            if kinds[source.name] is None:
                raise DefinitionError(unknown("entity column", key, source.name, source.column_names))
        if len(set(kinds.values())) > 1:
            raise DefinitionError(f"entity column {key!r} has several types: {kinds}")
        kind = next(iter(kinds.values()))
        if kind is None or kind == "float":
            raise DefinitionError(f"entity column {key!r} is a float; keys are int, str or bool")
        entity.append((key, kind))
    return tuple(entity)


def _features(item: DeclaredFeature, joins: list[EventSource]) -> list[StoredFeature]:
    name = item.function.__name__
    with at(item.location, name):
        _check_name("feature", name)
        traced = item.function(*(Stream(source, None, joins) for source in item.sources))
        declared = from_annotation(item.function.__annotations__.get("return"))
        if isinstance(traced, TracedAggregate):
            return list(_windowed(name, item, traced, declared))
        if isinstance(traced, TracedLookup):
            return [_lookup(name, item, traced, declared)]
        raise DefinitionError(
            f"returns {type(traced).__name__}; return an aggregate such as e.count(), or a lookup such as "
            "e.latest().column"
        )


def _windowed(name: str, item: DeclaredFeature, traced: TracedAggregate, declared: DType | None) -> list[WindowFeature]:
    if not item.windows:
        raise DefinitionError("an aggregate needs window=, for example window='1h'")
    if item.ttl is not None:
        raise DefinitionError("a windowed feature takes no ttl; the window says how long events count")
    dtype = _result_type(traced.aggregate.dtype, declared)
    _check_default(item.default, dtype)
    several = len(item.windows) > 1
    return [
        WindowFeature(
            f"{name}_{_suffix(spec)}" if several else name,
            dtype,
            item.freshness,
            traced.aggregate,
            _window(spec),
            item.default,
            item.location,
        )
        for spec in item.windows
    ]


def _window(spec: WindowSpec) -> Window:
    return spec if isinstance(spec, Window) else window(spec)


def _suffix(spec: WindowSpec) -> str:
    return spec.suffix if isinstance(spec, Window) else spec.replace(" ", "")


def _lookup(name: str, item: DeclaredFeature, traced: TracedLookup, declared: DType | None) -> LookupFeature:
    if item.windows:
        raise DefinitionError("a lookup takes no window; use ttl= to say how old a value may be")
    kind = traced.source.dtype(traced.column)
    if kind is None:
        raise DefinitionError(unknown("column", traced.column, traced.source.name, traced.source.column_names))
    dtype = _result_type(kind, declared)
    _check_default(item.default, dtype)
    ttl_us = None if item.ttl is None else parse_duration(item.ttl)
    return LookupFeature(
        name,
        dtype,
        item.freshness,
        traced.source.name,
        traced.columns,
        traced.column,
        traced.where,
        ttl_us,
        item.default,
        item.location,
    )


def _on_demand(item: DeclaredOnDemand, features: Sequence[StoredFeature]) -> OnDemandFeature:
    function = item.function
    location = location_of(function)
    with at(location, function.__name__):
        _check_name("feature", function.__name__)
        known = tuple(f.name for f in features)
        for wanted in item.inputs:
            if wanted not in known:
                raise DefinitionError(unknown("input", wanted, "the group", known))
        request = tuple((key, _request_type(key, kind)) for key, kind in item.request.items())
        parameters = tuple(inspect.signature(function).parameters)
        expected = (*item.inputs, *item.request)
        if set(parameters) != set(expected):
            raise DefinitionError(f"takes {', '.join(parameters)}; inputs and request give {', '.join(expected)}")
        dtype = from_annotation(function.__annotations__.get("return"))
        if dtype is None:
            raise DefinitionError("needs a return type: int, float, str or bool, optionally '| None'")
        nullable = frozenset(p for p in parameters if allows_null(function.__annotations__.get(p)))
        return OnDemandFeature(
            function.__name__,
            dtype,
            item.inputs,
            request,
            nullable,
            function,
            closure_code(function),
            location,
        )


def _request_type(name: str, annotation: object) -> DType:
    dtype = from_annotation(annotation)
    if dtype is None:
        raise DefinitionError(f"request input {name!r} has type {annotation!r}; use int, float, str or bool")
    return dtype


def _result_type(found: DType, declared: DType | None) -> DType:
    if declared is None:
        raise DefinitionError(f"needs a return type; this one gives {found}")
    if declared != found:
        raise DefinitionError(f"is declared {declared} but gives {found}")
    return declared


def _check_default(default: Value, dtype: DType) -> None:
    if default is not None and not fits(default, dtype):
        raise DefinitionError(f"default {default!r} is not of type {dtype}")


def _check_name(kind: str, name: str) -> None:
    if not name.isidentifier() or "__" in name or name.startswith("_"):
        raise DefinitionError(f"{kind} name {name!r} must be an identifier without '__'")


def _check_unique(plan: GroupPlan) -> None:
    seen: dict[str, Location] = {}
    for item in (*plan.features, *plan.on_demand):
        if item.name in seen:
            raise DefinitionError(f"feature {item.name!r} is defined twice: {seen[item.name]} and {item.location}")
        seen[item.name] = item.location
