"""From `@on_demand` functions to features of a plan: inputs, types, and the order of evaluation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

from featuredsl.closures import closure_code
from featuredsl.declared import DeclaredOnDemand, built, check_name
from featuredsl.dtypes import ANNOTATIONS, ELEMENTS, DType, allows_null, annotation_text, from_annotation, spelled
from featuredsl.errors import DefinitionError, unknown
from featuredsl.plan import OnDemandFeature, StoredFeature
from featuredsl.where import at, location_of, together


def derived_features(
    declared: Sequence[DeclaredOnDemand], stored: Sequence[StoredFeature]
) -> tuple[OnDemandFeature, ...]:
    """The on-demand features of a group, each after its inputs, else as declared. Raises DefinitionError."""
    names = (*(f.name for f in stored), *(item.function.__name__ for item in declared))
    made = built(lambda item: [_feature(item, names)], declared)
    types: dict[str, DType] = {f.name: f.dtype for f in (*stored, *made)}
    errors = [error for feature in made for error in _problems(feature, types)]
    if errors:
        raise together(errors)
    _check_requests(made)
    return _ordered(made)


def _feature(item: DeclaredOnDemand, known: tuple[str, ...]) -> OnDemandFeature:
    function = item.function
    location = location_of(function)
    with at(location, function.__name__):
        code = closure_code(function)
        check_name("feature", function.__name__)
        for wanted in item.inputs:
            _check_input(wanted, known)
        request = tuple((key, _request_type(key, kind)) for key, kind in item.request.items())
        parameters = tuple(inspect.signature(function).parameters)
        _check_names(parameters, item)
        annotation = function.__annotations__.get("return")
        dtype = from_annotation(annotation)
        if dtype is None:
            found = "" if annotation is None else f", not {annotation_text(annotation)}"
            raise DefinitionError(f"needs a return type: {ANNOTATIONS}; optionally with '| None'{found}")
        nullable = frozenset(p for p in parameters if allows_null(function.__annotations__.get(p)))
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
        raise DefinitionError(f"request input {name!r} has type {annotation_text(annotation)}; use {ANNOTATIONS}")
    return dtype


def _check_names(parameters: tuple[str, ...], item: DeclaredOnDemand) -> None:
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


def _problems(feature: OnDemandFeature, types: Mapping[str, DType]) -> list[DefinitionError]:
    try:
        with at(feature.location, feature.name):
            _check_parameters(feature, types)
    except DefinitionError as error:
        return [error]
    return []


def _check_parameters(feature: OnDemandFeature, types: Mapping[str, DType]) -> None:
    """A parameter's annotation must be able to hold what it gets."""
    given = {name: types[name] for name in feature.inputs} | dict(feature.request)
    for name, dtype in given.items():
        annotation = feature.function.__annotations__.get(name)
        wanted = from_annotation(annotation)
        if annotation is None or (wanted is not None and _holds(wanted, dtype)):
            continue
        raise DefinitionError(
            f"parameter {name!r} is annotated {annotation_text(annotation)} but gets {spelled(dtype)}; write "
            f"'{name}: {spelled(dtype)}', with '| None' where the function answers for a null"
        )


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
