"""`@feature_group`, `@feature` and `@on_demand`: from a Python class to a plan."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, TypeVar

from featuredsl.closures import closure_code
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
)
from featuredsl.sources import EventSource
from featuredsl.times import DAY, parse_duration
from featuredsl.trace import Stream, TracedAggregate, TracedLookup
from featuredsl.windows import TIERS, Window, window

C = TypeVar("C", bound=type)
WindowSpec = str | Window


@dataclass(frozen=True, slots=True)
class _Feature:
    function: FunctionType
    sources: tuple[EventSource, ...]
    freshness: str
    windows: tuple[WindowSpec, ...]
    ttl: str | int | None
    default: Value
    location: Location


@dataclass(frozen=True, slots=True)
class _OnDemand:
    function: FunctionType
    inputs: tuple[str, ...]
    request: Mapping[str, object] = field(default_factory=dict)


def feature(
    *,
    freshness: str,
    window: WindowSpec | Sequence[WindowSpec] | None = None,
    ttl: str | int | None = None,
    default: Value = None,
) -> Callable[[FunctionType], _Feature]:
    """Declare a feature of a group.

    The method's parameters are annotated with event sources, its return with the feature's type; its body
    builds one aggregate (give `window=`, one or several) or one lookup (`ttl=` is optional). `freshness` is
    one of realtime, 5m, 1h, 1d. `default` is what a null becomes.
    """
    names = _visible_names(sys._getframe(1))
    spec: tuple[WindowSpec, ...] = (
        () if window is None else (window,) if isinstance(window, str | Window) else tuple(window)
    )

    def decorate(function: FunctionType) -> _Feature:
        location = _location(function)
        with _at(location, function.__name__):
            if freshness not in TIERS:
                raise DefinitionError(unknown("freshness", freshness, "tiers", tuple(TIERS)))
            sources = _sources(function, names)
        return _Feature(function, sources, freshness, spec, ttl, default, location)

    return decorate


def on_demand(
    *, inputs: Sequence[str] = (), request: Mapping[str, object] | None = None
) -> Callable[[FunctionType], _OnDemand]:
    """Declare a feature computed when asked: a plain function of `inputs` (features of the group) and of
    `request` (name to type). The same code runs in serving and in training sets."""

    def decorate(function: FunctionType) -> _OnDemand:
        return _OnDemand(function, tuple(inputs), dict(request or {}))

    return decorate


def feature_group(
    *,
    name: str,
    entity: str | Sequence[str],
    retention: str | int = 7 * DAY,
    owner: str = "",
) -> Callable[[C], C]:
    """Make a feature group of a class; the plan is on its `plan` attribute.

    `entity` is the key column or columns, present in every source of the group. `retention` is how much longer
    than its longest window a silent key is kept online.
    """

    def decorate(cls: C) -> C:
        location = Location(_short(inspect.getfile(cls)), _first_line(cls))
        with _at(location, name):
            keys = (entity,) if isinstance(entity, str) else tuple(entity)
            plan = _group(cls, name, keys, parse_duration(retention), owner, location)
        cls.plan = plan  # type: ignore[attr-defined]
        return cls

    return decorate


class _at:
    """Prefixes a DefinitionError with what and where."""

    def __init__(self, location: Location, what: str) -> None:
        self.prefix = f"{what} ({location}): "

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, DefinitionError) and " (" not in str(error).split(": ", 1)[0]:
            raise type(error)(self.prefix + str(error)) from None
        if isinstance(error, ValueError) and not isinstance(error, DefinitionError):
            raise DefinitionError(self.prefix + str(error)) from None


def _group(cls: type, name: str, keys: tuple[str, ...], retention_us: int, owner: str, location: Location) -> GroupPlan:
    _check_name("group", name)
    declared = [value for value in vars(cls).values() if isinstance(value, _Feature)]
    if not declared:
        raise DefinitionError("a group needs at least one @feature")
    sources = tuple(dict.fromkeys(source for item in declared for source in item.sources))
    features = tuple(made for item in declared for made in _features(item))
    plan = GroupPlan(
        name=name,
        entity=_entity(keys, sources),
        sources=sources,
        features=features,
        on_demand=tuple(_on_demand(v, features) for v in vars(cls).values() if isinstance(v, _OnDemand)),
        retention_us=retention_us,
        owner=owner,
        doc=inspect.cleandoc(cls.__doc__ or ""),
        location=location,
    )
    _check_unique(plan)
    return replace(plan, version=fingerprint(plan))


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


def _features(item: _Feature) -> list[StoredFeature]:
    name = item.function.__name__
    with _at(item.location, name):
        _check_name("feature", name)
        traced = item.function(*(Stream(source) for source in item.sources))
        declared = from_annotation(item.function.__annotations__.get("return"))
        if isinstance(traced, TracedAggregate):
            return list(_windowed(name, item, traced, declared))
        if isinstance(traced, TracedLookup):
            return [_lookup(name, item, traced, declared)]
        raise DefinitionError(
            f"returns {type(traced).__name__}; return an aggregate such as e.count(), or a lookup such as "
            "e.latest().column"
        )


def _windowed(name: str, item: _Feature, traced: TracedAggregate, declared: DType | None) -> list[WindowFeature]:
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


def _lookup(name: str, item: _Feature, traced: TracedLookup, declared: DType | None) -> LookupFeature:
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


def _on_demand(item: _OnDemand, features: Sequence[StoredFeature]) -> OnDemandFeature:
    function = item.function
    location = _location(function)
    with _at(location, function.__name__):
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


def _sources(function: FunctionType, names: Mapping[str, Any]) -> tuple[EventSource, ...]:
    found = []
    for parameter in inspect.signature(function).parameters:
        annotation = function.__annotations__.get(parameter)
        value = annotation
        if isinstance(annotation, str):
            value = names.get(annotation, function.__globals__.get(annotation))
        if not isinstance(value, EventSource):
            known = tuple(k for k, v in {**function.__globals__, **names}.items() if isinstance(v, EventSource))
            raise DefinitionError(
                f"parameter {parameter!r} must be annotated with an event source; sources here: "
                f"{', '.join(known) or 'none'}"
            )
        found.append(value)
    if not found:
        raise DefinitionError("needs a parameter annotated with an event source, for example (e: clicks)")
    return tuple(found)


def _visible_names(frame: FrameType) -> dict[str, Any]:
    """Names of the class body and of an enclosing function: postponed annotations are plain strings."""
    outer = frame.f_back
    return {**(outer.f_locals if outer else {}), **frame.f_locals}


def _location(function: FunctionType) -> Location:
    return Location(_short(function.__code__.co_filename), function.__code__.co_firstlineno)


def _first_line(cls: type) -> int:
    lines = [
        value.location.line if isinstance(value, _Feature) else value.function.__code__.co_firstlineno
        for value in vars(cls).values()
        if isinstance(value, _Feature | _OnDemand)
    ]
    return min(lines, default=1)


def _short(file: str) -> str:
    path = Path(file)
    cwd = Path.cwd()
    return str(path.relative_to(cwd)) if path.is_absolute() and path.is_relative_to(cwd) else path.name
