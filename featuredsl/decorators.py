"""`@feature_group`, `@feature` and `@on_demand`: from a Python class to a plan."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, FunctionType
from typing import Any, TypeVar

from featuredsl.building import group_plan
from featuredsl.declared import DeclaredFeature, DeclaredOnDemand, WindowSpec, at, location_of, short_path
from featuredsl.errors import DefinitionError, unknown
from featuredsl.plan import Location
from featuredsl.sources import EventSource, TableSource
from featuredsl.times import DAY, parse_duration
from featuredsl.windows import TIERS

C = TypeVar("C", bound=type)


def feature(
    *,
    freshness: str,
    window: WindowSpec | Sequence[WindowSpec] | None = None,
    ttl: str | int | None = None,
    default: object = None,
) -> Callable[[FunctionType], DeclaredFeature]:
    """Declare a feature of a group.

    The method's parameters are annotated with event sources, its return with the feature's type; its body
    builds one aggregate (give `window=`, one or several: "1h", window(…), tumbling(…), session(…), lifetime; with
    several the names get suffixes, `n_1h`) or one lookup (`ttl=` is optional). `freshness` is
    one of realtime, 5m, 1h, 1d. `default` is what a null becomes; that of an array is a list.
    """
    names = _visible_names(sys._getframe(1))
    spec = () if window is None else tuple(window) if isinstance(window, list | tuple) else (window,)

    def decorate(function: FunctionType) -> DeclaredFeature:
        location = location_of(function)
        with at(location, function.__name__):
            if freshness not in TIERS:
                raise DefinitionError(unknown("freshness", freshness, "tiers", tuple(TIERS)))
            sources = _sources(function, names)
        return DeclaredFeature(function, sources, freshness, spec, ttl, default, location)

    return decorate


def on_demand(
    *, inputs: Sequence[str] = (), request: Mapping[str, object] | None = None
) -> Callable[[FunctionType], DeclaredOnDemand]:
    """Declare a feature computed when asked: a plain function of `inputs` (features of the group, on-demand ones
    included) and of `request` (name to type). The same code runs in serving and in training sets."""

    def decorate(function: FunctionType) -> DeclaredOnDemand:
        return DeclaredOnDemand(function, tuple(inputs), dict(request or {}))

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
        location = Location(short_path(inspect.getfile(cls)), _first_line(cls))
        with at(location, name):
            keys = (entity,) if isinstance(entity, str) else tuple(entity)
            plan = group_plan(cls, name, keys, parse_duration(retention), owner, location)
        cls.plan = plan  # type: ignore[attr-defined]
        return cls

    return decorate


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
                + ("; a table is read with e.join(table)" if isinstance(value, TableSource) else "")
            )
        found.append(value)
    if not found:
        raise DefinitionError("needs a parameter annotated with an event source, for example (e: clicks)")
    return tuple(found)


def _visible_names(frame: FrameType) -> dict[str, Any]:
    """Names of the class body and of an enclosing function: postponed annotations are plain strings."""
    outer = frame.f_back
    return {**(outer.f_locals if outer else {}), **frame.f_locals}


def _first_line(cls: type) -> int:
    lines = [
        value.location.line if isinstance(value, DeclaredFeature) else value.function.__code__.co_firstlineno
        for value in vars(cls).values()
        if isinstance(value, DeclaredFeature | DeclaredOnDemand)
    ]
    return min(lines, default=1)
