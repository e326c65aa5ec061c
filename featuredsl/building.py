"""From a class of declared features to a group plan: traces the methods, checks names and types."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType, MethodType

from featuredsl.declared import DeclaredFeature, DeclaredOnDemand, built, check_name
from featuredsl.derived import derived_features
from featuredsl.dtypes import DType, annotation_text, fits, from_annotation, spelled
from featuredsl.errors import DefinitionError, unknown
from featuredsl.fingerprint import fingerprint
from featuredsl.lineage import with_tags
from featuredsl.plan import GroupPlan, LookupFeature, StoredFeature, WindowFeature, inputs_of
from featuredsl.sources import EventSource
from featuredsl.times import parse_duration
from featuredsl.trace import Expr, LatestRow, Stream, TracedLookup
from featuredsl.traced import TracedAggregate
from featuredsl.values import Constant, frozen, typed
from featuredsl.where import Location, at
from featuredsl.windows import TIERS, Session, Window, as_window

RESULTS = "int, float, str, bool, list[int], list[float], list[str]"


def group_plan(
    cls: type,
    name: str,
    keys: tuple[str, ...],
    retention_us: int,
    owner: str,
    location: Location,
    tags: tuple[str, ...] = (),
    bundle: str = "",
) -> GroupPlan:
    """The plan of a decorated class. Raises DefinitionError with every error of its features."""
    check_name("group", name)
    check_name("bundle", bundle or name)
    declared = [value for value in vars(cls).values() if isinstance(value, DeclaredFeature)]
    if not declared:
        raise DefinitionError("a group needs at least one @feature")
    joins: list[EventSource] = []
    features = built(lambda item: _features(item, joins), declared)
    sources = _used(features, (*(source for item in declared for source in item.sources), *joins))
    later = [value for value in vars(cls).values() if isinstance(value, DeclaredOnDemand)]
    plan = GroupPlan(
        name=name,
        entity=_entity(keys, sources),
        sources=sources,
        features=features,
        on_demand=derived_features(later, features),
        retention_us=retention_us,
        owner=owner,
        doc=inspect.cleandoc(cls.__doc__ or ""),
        location=location,
        bundle=bundle or name,
    )
    _check_unique(plan)
    inputs_of([plan])
    return replace(with_tags(plan, tags), version=fingerprint(plan))


def _used(features: Sequence[StoredFeature], known: Sequence[EventSource]) -> tuple[EventSource, ...]:
    """The sources that the features read, in order. Raises DefinitionError when two of them have one name."""
    names = {name for feature in features for name in feature.source_names}
    used = tuple(source for source in dict.fromkeys(known) if source.name in names)
    for source in used:
        if sum(other.name == source.name for other in used) > 1:
            raise DefinitionError(f"two sources of the group are called {source.name!r}; rename one")
    return used


def _entity(keys: tuple[str, ...], sources: tuple[EventSource, ...]) -> tuple[tuple[str, DType], ...]:
    if not keys:
        raise DefinitionError("entity is empty; name the key column or columns, for example entity='user_id'")
    entity = []
    for key in keys:
        kinds = {source.name: source.dtype(key) for source in sources}
        for source in sources:
            if kinds[source.name] is None:
                raise DefinitionError(unknown("entity column", key, source.name, source.column_names))
        if len(set(kinds.values())) > 1:
            found = ", ".join(f"{kind} in {source!r}" for source, kind in kinds.items())
            raise DefinitionError(f"entity column {key!r} has several types: {found}; give it one type in every source")
        kind = next(iter(kinds.values()))
        if kind not in ("int", "str", "bool"):
            raise DefinitionError(f"entity column {key!r} is {kind}; keys are int, str or bool")
        entity.append((key, kind))
    return tuple(entity)


def _features(item: DeclaredFeature, joins: list[EventSource]) -> list[StoredFeature]:
    name = item.function.__name__
    with at(item.location, name, item.function.__code__):
        check_name("feature", name)
        traced = item.function(*(Stream(source, None, joins) for source in item.sources))
        annotation = item.function.__annotations__.get("return")
        declared = from_annotation(annotation)
        if declared is None and annotation is not None:
            raise DefinitionError(f"return type {annotation_text(annotation)} is none of {RESULTS}")
        if isinstance(traced, TracedAggregate):
            return list(_windowed(name, item, traced, declared))
        if isinstance(traced, TracedLookup):
            return [_lookup(name, item, traced, declared)]
        raise DefinitionError(
            f"returns {_what(traced)}; return an aggregate such as e.count(), or a lookup such as e.latest().column"
        )


def _what(traced: object) -> str:
    if traced is None:
        return "nothing"
    if isinstance(traced, FunctionType | MethodType):
        return f"{getattr(traced, '__name__', 'a function')} without calling it"
    kinds = {Expr: "a column of every event", LatestRow: "a whole row", Stream: "the events themselves"}
    return kinds.get(type(traced), f"{type(traced).__name__} {traced!r}")


def _windowed(name: str, item: DeclaredFeature, traced: TracedAggregate, declared: DType | None) -> list[WindowFeature]:
    if not item.windows:
        raise DefinitionError("an aggregate needs window=, for example window='1h'; without one use e.latest()")
    if item.ttl is not None:
        raise DefinitionError("a windowed feature takes no ttl; the window says how long events count")
    dtype = _result_type(traced.aggregate.dtype, declared)
    default = _default(item.default, dtype)
    windows = [as_window(spec) for spec in item.windows]
    _check_windows(windows, item, traced)
    return [
        WindowFeature(
            f"{name}_{window.suffix}" if len(windows) > 1 else name,
            dtype,
            item.freshness,
            traced.aggregate,
            window,
            default,
            item.location,
        )
        for window in windows
    ]


def _check_windows(windows: Sequence[Window], item: DeclaredFeature, traced: TracedAggregate) -> None:
    sources = traced.aggregate.sources
    for i, window in enumerate(windows):
        window.check(TIERS[item.freshness])
        if window in windows[:i]:
            first = windows[windows.index(window)]
            raise DefinitionError(f"windows {first} and {window} are the same; leave one out")
        timed = [source.name for source in item.sources if source.arrival_time is not None]
        if isinstance(window, Session) and timed:
            raise DefinitionError(
                f"source {timed[0]!r} has an arrival time, and a late event could change a session that had closed; "
                "give the feature a sliding or tumbling window, or lifetime"
            )
        if isinstance(window, Session) and len(sources) > 1:
            raise DefinitionError(
                f"a session is made of the events of one source, not of {', '.join(sources)}; give the ratio a "
                "sliding or tumbling window, or one of the two sources only"
            )


def _lookup(name: str, item: DeclaredFeature, traced: TracedLookup, declared: DType | None) -> LookupFeature:
    if item.windows:
        raise DefinitionError("a lookup takes no window; use ttl= to say how old a value may be")
    kind = traced.source.dtype(traced.column)
    if kind is None:
        raise DefinitionError(unknown("column", traced.column, traced.source.name, traced.source.column_names))
    dtype = _result_type(kind, declared)
    default = _default(item.default, dtype)
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
        default,
        item.location,
    )


def _result_type(found: DType, declared: DType | None) -> DType:
    if declared is None:
        raise DefinitionError(f"needs a return type; this one gives {spelled(found)}: write '-> {spelled(found)}'")
    if declared != found:
        raise DefinitionError(
            f"is declared {spelled(declared)} but gives {spelled(found)}; write '-> {spelled(found)}'"
        )
    return declared


def _default(default: object, dtype: DType) -> Constant:
    if default is not None and not fits(default, dtype):
        raise DefinitionError(
            f"default {default!r} is not of type {spelled(dtype)}; give a default of the feature's own type"
        )
    if isinstance(default, float) and not math.isfinite(default):
        raise DefinitionError(f"default {default!r} is no finite number; leave it out for null")
    typed(default, dtype)
    return frozen(default, dtype)


def _check_unique(plan: GroupPlan) -> None:
    seen: dict[str, Location] = {}
    for item in (*plan.features, *plan.on_demand):
        if item.name in seen:
            raise DefinitionError(
                f"feature {item.name!r} is defined twice: {seen[item.name]} and {item.location}; with several windows "
                "the names get suffixes such as _1h. Rename one of them"
            )
        seen[item.name] = item.location
