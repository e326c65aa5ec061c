"""From `@on_demand` functions to features of a plan: inputs, types, and the order of evaluation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

from featuredsl.closures import closure_code
from featuredsl.declared import DeclaredOnDemand, at, check_name, location_of
from featuredsl.dtypes import ANNOTATIONS, ELEMENTS, DType, allows_null, from_annotation, spelled
from featuredsl.errors import DefinitionError, unknown
from featuredsl.plan import OnDemandFeature, StoredFeature


def derived_features(
    declared: Sequence[DeclaredOnDemand], stored: Sequence[StoredFeature]
) -> tuple[OnDemandFeature, ...]:
    """The on-demand features of a group, each after its inputs, else as declared. Raises DefinitionError."""
    names = (*(f.name for f in stored), *(item.function.__name__ for item in declared))
    made = [_feature(item, names) for item in declared]
    types: dict[str, DType] = {f.name: f.dtype for f in (*stored, *made)}
    for feature in made:
        with at(feature.location, feature.name):
            _check_parameters(feature, types)
    _check_requests(made)
    return _ordered(made)


def _feature(item: DeclaredOnDemand, known: tuple[str, ...]) -> OnDemandFeature:
    function = item.function
    location = location_of(function)
    with at(location, function.__name__):
        check_name("feature", function.__name__)
        for wanted in item.inputs:
            _check_input(wanted, known)
        request = tuple((key, _request_type(key, kind)) for key, kind in item.request.items())
        if twice := sorted(set(item.inputs) & set(item.request)):
            raise DefinitionError(f"{twice[0]!r} is an input and a request input; rename one")
        parameters = tuple(inspect.signature(function).parameters)
        expected = (*item.inputs, *item.request)
        if set(parameters) != set(expected):
            raise DefinitionError(f"takes {', '.join(parameters)}; inputs and request give {', '.join(expected)}")
        dtype = from_annotation(function.__annotations__.get("return"))
        if dtype is None:
            raise DefinitionError(f"needs a return type: {ANNOTATIONS}; optionally with '| None'")
        nullable = frozenset(p for p in parameters if allows_null(function.__annotations__.get(p)))
        code = closure_code(function)
        return OnDemandFeature(function.__name__, dtype, item.inputs, request, nullable, function, code, location)


def _check_input(wanted: str, known: tuple[str, ...]) -> None:
    group, dot, name = wanted.partition(".")
    if dot:
        raise DefinitionError(
            f"input {wanted!r} names a feature of the group {group!r}; inputs are features of the same group: "
            f"compute {name!r} in this group, or read both groups where they are used"
        )
    if wanted not in known:
        raise DefinitionError(unknown("input", wanted, "the group", known))


def _request_type(name: str, annotation: object) -> DType:
    dtype = from_annotation(annotation)
    if dtype is None:
        raise DefinitionError(f"request input {name!r} has type {annotation!r}; use {ANNOTATIONS}")
    return dtype


def _check_parameters(feature: OnDemandFeature, types: Mapping[str, DType]) -> None:
    """A parameter's annotation, where it is one of ours, must be able to hold what it gets."""
    given = {name: types[name] for name in feature.inputs} | dict(feature.request)
    for name, dtype in given.items():
        wanted = from_annotation(feature.function.__annotations__.get(name))
        if wanted is not None and not _holds(wanted, dtype):
            raise DefinitionError(f"parameter {name!r} is annotated {spelled(wanted)}, but it gets {spelled(dtype)}")


def _holds(wanted: DType, given: DType) -> bool:
    if wanted in ELEMENTS and given in ELEMENTS:
        return _holds(ELEMENTS[wanted], ELEMENTS[given])
    return wanted == given or (wanted, given) == ("float", "int")


def _check_requests(features: Sequence[OnDemandFeature]) -> None:
    seen: dict[str, tuple[DType, OnDemandFeature]] = {}
    for feature in features:
        for name, dtype in feature.request:
            kind, first = seen.setdefault(name, (dtype, feature))
            if kind != dtype:
                raise DefinitionError(
                    f"request input {name!r} is {spelled(kind)} for {first.name} ({first.location}), "
                    f"but {spelled(dtype)} for {feature.name} ({feature.location}); use one type or two names"
                )


def _ordered(features: Sequence[OnDemandFeature]) -> tuple[OnDemandFeature, ...]:
    waiting = {feature.name: feature for feature in features}
    done: list[OnDemandFeature] = []
    while waiting:
        ready = next((f for f in waiting.values() if not waiting.keys() & set(f.inputs)), None)
        if ready is None:
            raise DefinitionError(_cycle(waiting))
        done.append(waiting.pop(ready.name))
    return tuple(done)


def _cycle(waiting: Mapping[str, OnDemandFeature]) -> str:
    """The text for features of which none can be first: one round, from the one that is declared first."""
    path: list[str] = []
    name = next(iter(waiting))
    while name not in path:
        path.append(name)
        name = next(wanted for wanted in waiting[name].inputs if wanted in waiting)
    ring = path[path.index(name) :]
    first = min(ring, key=list(waiting).index)
    ring = ring[ring.index(first) :] + ring[: ring.index(first)]
    steps = " -> ".join(f"{step} ({waiting[step].location})" for step in ring)
    return f"on-demand features need each other: {steps} -> {first}; an arrow points to an input. Remove one of them"
