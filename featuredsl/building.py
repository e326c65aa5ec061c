"""From a class of declared features to a group plan: traces the methods, checks names and types."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import TypeVar

from featuredsl.closures import closure_code
from featuredsl.declared import DeclaredFeature, DeclaredOnDemand, WindowSpec
from featuredsl.dtypes import DType, allows_null, annotation_text, fits, from_annotation
from featuredsl.errors import DefinitionError, unknown
from featuredsl.fingerprint import fingerprint
from featuredsl.lineage import with_tags
from featuredsl.nodes import Value
from featuredsl.plan import GroupPlan, LookupFeature, OnDemandFeature, StoredFeature, WindowFeature
from featuredsl.sources import EventSource
from featuredsl.times import format_duration, parse_duration
from featuredsl.trace import Expr, LatestRow, Stream, TracedAggregate, TracedLookup
from featuredsl.where import Location, at, location_of, together
from featuredsl.windows import TIERS, Window, window

D = TypeVar("D", DeclaredFeature, DeclaredOnDemand)
F = TypeVar("F", StoredFeature, OnDemandFeature)
RESULTS = "int, float, str, bool, list[int], list[float], list[str]"


def group_plan(
    cls: type,
    name: str,
    keys: tuple[str, ...],
    retention_us: int,
    owner: str,
    location: Location,
    tags: tuple[str, ...] = (),
) -> GroupPlan:
    """The plan of a decorated class. Raises DefinitionError with every error of its features."""
    _check_name("group", name)
    declared = [value for value in vars(cls).values() if isinstance(value, DeclaredFeature)]
    if not declared:
        raise DefinitionError("a group needs at least one @feature")
    features = _all(_features, declared)
    sources = tuple(dict.fromkeys(source for item in declared for source in item.sources))
    later = [value for value in vars(cls).values() if isinstance(value, DeclaredOnDemand)]
    plan = GroupPlan(
        name=name,
        entity=_entity(keys, sources),
        sources=sources,
        features=features,
        on_demand=_all(lambda item: [_on_demand(item, features)], later),
        retention_us=retention_us,
        owner=owner,
        doc=inspect.cleandoc(cls.__doc__ or ""),
        location=location,
    )
    _check_unique(plan)
    return replace(with_tags(plan, tags), version=fingerprint(plan))


def _all(build: Callable[[D], Sequence[F]], declared: Sequence[D]) -> tuple[F, ...]:
    """What is built of all of them, or the errors of all of them as one."""
    found: list[F] = []
    errors: list[DefinitionError] = []
    for item in declared:
        try:
            if item.problem is not None:
                raise item.problem
            doc = inspect.cleandoc(item.function.__doc__ or "")
            found += [replace(made, tags=item.tags, doc=doc) for made in build(item)]
        except DefinitionError as error:
            errors.append(error)
    if errors:
        raise together(errors)
    return tuple(found)


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


def _features(item: DeclaredFeature) -> list[StoredFeature]:
    name = item.function.__name__
    with at(item.location, name, item.function.__code__):
        _check_name("feature", name)
        traced = item.function(*(Stream(source) for source in item.sources))
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
    if callable(traced) and not isinstance(traced, type):
        return f"{getattr(traced, '__name__', 'a function')} without calling it"
    kinds = {Expr: "a column of every event", LatestRow: "a whole row", Stream: "the events themselves"}
    return kinds.get(type(traced), f"{type(traced).__name__} {traced!r}")


def _windowed(name: str, item: DeclaredFeature, traced: TracedAggregate, declared: DType | None) -> list[WindowFeature]:
    if not item.windows:
        raise DefinitionError("an aggregate needs window=, for example window='1h'; without one use e.latest()")
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
            _window(spec, item.freshness),
            item.default,
            item.location,
        )
        for spec in item.windows
    ]


def _window(spec: WindowSpec, freshness: str) -> Window:
    made = spec if isinstance(spec, Window) else window(spec)
    tier = TIERS[freshness]
    if made.size_us < tier.period_us:
        raise DefinitionError(
            f"window {made.suffix} is shorter than the period {format_duration(tier.period_us)} of the tier "
            f"{freshness!r}, so events between two values would never count; use a longer window or a fresher tier"
        )
    return made


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
        code = closure_code(function)
        _check_name("feature", function.__name__)
        known = tuple(f.name for f in features)
        for wanted in item.inputs:
            if wanted not in known:
                raise DefinitionError(unknown("input", wanted, "the group", known))
        request = tuple((key, _request_type(key, kind)) for key, kind in item.request.items())
        _check_parameters(tuple(inspect.signature(function).parameters), item)
        _check_inputs(function, {f.name: f.dtype for f in features} | dict(request))
        annotation = function.__annotations__.get("return")
        dtype = from_annotation(annotation)
        if dtype is None:
            found = "" if annotation is None else f", not {annotation_text(annotation)}"
            raise DefinitionError(f"needs a return type: int, float, str or bool, optionally '| None'{found}")
        nullable = frozenset(p for p in function.__annotations__ if allows_null(function.__annotations__[p]))
        return OnDemandFeature(
            function.__name__,
            dtype,
            item.inputs,
            request,
            nullable - {"return"},
            function,
            code,
            location,
        )


def _check_parameters(parameters: tuple[str, ...], item: DeclaredOnDemand) -> None:
    expected = (*item.inputs, *item.request)
    for name in expected:
        if expected.count(name) > 1:
            raise DefinitionError(f"{name!r} is given twice in inputs and request; rename the request input")
        if name not in parameters:
            raise DefinitionError(unknown("input", name, "the parameters", parameters) + " Add it as a parameter")
    for name in parameters:
        if name not in expected:
            text = unknown("parameter", name, "inputs and request", expected)
            raise DefinitionError(text + " Add it to inputs=[…] or request={…}")


def _check_inputs(function: FunctionType, given: Mapping[str, DType]) -> None:
    for name in inspect.signature(function).parameters:
        annotation = function.__annotations__.get(name)
        declared = from_annotation(annotation)
        if annotation is None or declared == given[name] or (declared, given[name]) == ("float", "int"):
            continue
        raise DefinitionError(
            f"parameter {name!r} is annotated {annotation_text(annotation)} but gets {given[name]}; write "
            f"'{name}: {given[name]}', with '| None' where the function answers for a null"
        )


def _request_type(name: str, annotation: object) -> DType:
    dtype = from_annotation(annotation)
    if dtype is None:
        raise DefinitionError(
            f"request input {name!r} has type {annotation_text(annotation)}; use int, float, str or bool"
        )
    return dtype


def _result_type(found: DType, declared: DType | None) -> DType:
    if declared is None:
        raise DefinitionError(f"needs a return type; this one gives {found}: write '-> {found}'")
    if declared != found:
        raise DefinitionError(f"is declared {declared} but gives {found}; write '-> {found}'")
    return declared


def _check_default(default: Value, dtype: DType) -> None:
    if default is not None and not fits(default, dtype):
        raise DefinitionError(f"default {default!r} is not of type {dtype}; give a default of the feature's own type")
    if isinstance(default, float) and not math.isfinite(default):
        raise DefinitionError(f"default {default!r} is no finite number; leave it out for null")


def _check_name(kind: str, name: str) -> None:
    if not name.isidentifier() or "__" in name or name.startswith("_"):
        raise DefinitionError(
            f"{kind} name {name!r} must be a Python name that does not start with '_' and has no '__': output columns "
            "are called group__feature"
        )


def _check_unique(plan: GroupPlan) -> None:
    seen: dict[str, Location] = {}
    for item in (*plan.features, *plan.on_demand):
        if item.name in seen:
            raise DefinitionError(
                f"feature {item.name!r} is defined twice: {seen[item.name]} and {item.location}; with several windows "
                "the names get suffixes such as _1h. Rename one of them"
            )
        seen[item.name] = item.location
