"""`@feature_group`, `@feature` and `@on_demand`: from a Python class to a plan."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, FunctionType
from typing import Any, TypeVar

from featuredsl.building import group_plan
from featuredsl.declared import DeclaredFeature, DeclaredOnDemand, WindowSpec
from featuredsl.errors import DefinitionError, unknown
from featuredsl.plan import GroupPlan
from featuredsl.sources import EventSource, TableSource
from featuredsl.times import DAY, SECOND, parse_duration
from featuredsl.where import at, author_place, is_keeping, keep, located, located_error, location_of
from featuredsl.windows import TIERS

C = TypeVar("C", bound=type)


def feature(
    *given: object,
    freshness: str = "",
    window: WindowSpec | Sequence[WindowSpec] | None = None,
    ttl: str | int | None = None,
    default: object = None,
    tags: Sequence[str] = (),
) -> Callable[[FunctionType], DeclaredFeature]:
    """Declare a feature of a group.

    The method's parameters are annotated with event sources, its return with the feature's type; its body
    builds one aggregate (give `window=`, one or several: "1h", window(…), tumbling(…), session(…), lifetime; with
    several the names get suffixes, `n_1h`) or one lookup (`ttl=` is optional). `freshness` is one of realtime, 5m, 1h,
    1d. `default` is what a null becomes; that of an array is a list. The docstring and `tags` describe it.
    """
    frame = sys._getframe(1)
    names = _visible_names(frame)
    _check_given("feature", given, "freshness='realtime', window='1h'")

    @located
    def decorate(function: FunctionType) -> DeclaredFeature:
        _check_function("feature", function)
        location = location_of(function)
        sources: tuple[EventSource, ...] = ()
        windows: tuple[object, ...] = ()
        problem = None
        try:
            with at(location, function.__name__):
                _check_new(function.__name__, frame)
                _check_tags(tags)
                if not freshness:
                    raise DefinitionError(f"@feature needs freshness=, one of {', '.join(TIERS)}")
                if freshness not in TIERS:
                    raise DefinitionError(unknown("freshness", freshness, "tiers", tuple(TIERS)))
                _check_unit("ttl", ttl)
                windows = _windows(window)
                sources = _sources(function, names)
        except DefinitionError as error:
            problem = error
        return DeclaredFeature(
            function, sources, freshness, windows, ttl, default, location, tags=tuple(tags), problem=problem
        )

    return decorate


def on_demand(
    *given: object,
    inputs: Sequence[str] = (),
    request: Mapping[str, object] | None = None,
    tags: Sequence[str] = (),
) -> Callable[[FunctionType], DeclaredOnDemand]:
    """Declare a feature computed when asked: a plain function of `inputs` (features of the group, on-demand ones
    included) and of `request` (name to type). The same code runs in serving and in training sets."""
    frame = sys._getframe(1)
    _check_given("on_demand", given, "inputs=['clicks_1h']")

    @located
    def decorate(function: FunctionType) -> DeclaredOnDemand:
        _check_function("on_demand", function)
        problem = None
        try:
            with at(location_of(function), function.__name__):
                _check_new(function.__name__, frame)
                _check_tags(tags)
                if isinstance(inputs, str):
                    raise DefinitionError(f"inputs={inputs!r} is a text; write a list: inputs=[{inputs!r}]")
        except DefinitionError as error:
            problem = error
        return DeclaredOnDemand(function, tuple(inputs), dict(request or {}), tags=tuple(tags), problem=problem)

    return decorate


@located
def feature_group(
    *given: object,
    name: str = "",
    entity: str | Sequence[str] = (),
    retention: str | int = 7 * DAY,
    owner: str = "",
    tags: Sequence[str] = (),
    bundle: str = "",
) -> Callable[[C], C]:
    """Make a feature group of a class; the plan is on its `plan` attribute.

    `entity` is the key column or columns, present in every source of the group. `retention` is how much longer
    than its longest window a silent key is kept online. `tags` are those of every feature of the group. Groups of one
    `bundle` share a Flink job, and so the reading of their sources; by default a group has a job of its own.
    """

    _check_given("feature_group", given, "name='user_clicks', entity='user_id'")
    location = author_place()

    def decorate(cls: C) -> C:
        names = sys._getframe(1).f_locals
        try:
            with at(location, name):
                _check_new_class(cls.__name__, names.get(cls.__name__))
                keys = (entity,) if isinstance(entity, str) else tuple(entity)
                _check_tags(tags)
                _check_unit("retention", retention)
                retention_us = parse_duration(retention) if retention != 0 else 0
                plan = group_plan(cls, name, keys, retention_us, owner, location, tuple(tags), bundle)
        except DefinitionError as error:
            if not keep(error):
                raise
        else:
            cls.plan = plan  # type: ignore[attr-defined]
        return cls

    return decorate


def _check_given(decorator: str, given: tuple[object, ...], example: str) -> None:
    """Its arguments are given by name; without brackets Python gives it the function itself."""
    if given:
        raise located_error(f"{author_place()}: @{decorator} takes its arguments by name: @{decorator}({example})")


def _check_function(decorator: str, function: object) -> None:
    if not isinstance(function, FunctionType):
        raise DefinitionError(
            f"@{decorator} takes a plain function, not {type(function).__name__}; take the other decorators away"
        )


def _windows(given: object) -> tuple[object, ...]:
    if given is None:
        return ()
    specs = tuple(given) if isinstance(given, list | tuple) else (given,)
    for spec in specs:
        if isinstance(spec, int | float):
            raise DefinitionError(
                f"window={spec!r} is a number without a unit; write a duration, for example '1h' (3600 seconds)"
            )
    return specs


def _check_unit(what: str, given: object) -> None:
    if isinstance(given, float) or (isinstance(given, int) and 0 < given < SECOND):
        raise DefinitionError(
            f"{what}={given!r} would be microseconds; write a duration, for example '1h' (3600 seconds)"
        )


def _check_tags(tags: object) -> None:
    if isinstance(tags, str) or not all(isinstance(tag, str) and tag for tag in tags):  # type: ignore[attr-defined]
        raise DefinitionError(f"tags={tags!r} must be a list of texts, for example tags=['pii']")


def _check_new(name: str, frame: FrameType) -> None:
    """A second method of the same name would silently replace the first."""
    first = frame.f_locals.get(name) if "__qualname__" in frame.f_locals else None
    if isinstance(first, DeclaredFeature | DeclaredOnDemand):
        raise DefinitionError(
            f"feature {name!r} is defined twice; the first one is at {location_of(first.function)}. Rename one of them"
        )


def _check_new_class(name: str, first: object) -> None:
    """In a definition file, a second class of the same name would silently replace the first group."""
    plan = getattr(first, "plan", None)
    if is_keeping() and isinstance(first, type) and isinstance(plan, GroupPlan):
        raise DefinitionError(f"class {name} is defined twice; the first one is at {plan.location}. Rename one of them")


def _sources(function: FunctionType, names: Mapping[str, Any]) -> tuple[EventSource, ...]:
    found = []
    for parameter in inspect.signature(function).parameters:
        annotation = function.__annotations__.get(parameter)
        value = annotation
        if isinstance(annotation, str):
            value = names.get(annotation, function.__globals__.get(annotation))
        if not isinstance(value, EventSource):
            raise DefinitionError(_no_source(parameter, annotation, value, {**function.__globals__, **names}))
        found.append(value)
    if not found:
        raise DefinitionError("needs a parameter annotated with an event source, for example (e: clicks)")
    return tuple(found)


def _no_source(parameter: str, annotation: object, value: object, names: Mapping[str, Any]) -> str:
    known = tuple(k for k, v in names.items() if isinstance(v, EventSource))
    if isinstance(value, TableSource):
        return f"parameter {parameter!r} is the table {value.name!r}; annotate it with a source and use e.join(table)"
    if isinstance(annotation, DeclaredFeature):
        name = annotation.function.__name__
        return (
            f"parameter {parameter!r}: the feature {name!r} hides the source of that name; rename one of them, or "
            "begin the file with 'from __future__ import annotations'"
        )
    written = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", repr(annotation))
    near = difflib.get_close_matches(str(written), known, n=1)
    found = f", not {written!r}" if annotation is not None else ""
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return (
        f"parameter {parameter!r} must be annotated with an event source{found}; sources here: "
        f"{', '.join(known) or 'none'}.{hint}"
    )


def _visible_names(frame: FrameType) -> dict[str, EventSource | TableSource]:
    """The sources of the class body and of an enclosing function: postponed annotations are plain strings, and a
    feature may have the name of a source."""
    outer = frame.f_back
    scopes = (outer.f_locals if outer else {}, frame.f_locals)
    return {
        name: value for scope in scopes for name, value in scope.items() if isinstance(value, EventSource | TableSource)
    }
