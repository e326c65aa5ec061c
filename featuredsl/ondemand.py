"""On-demand features: the same Python code in serving and in training sets."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from featuredsl.dtypes import ELEMENTS, DType, spelled
from featuredsl.errors import InputError
from featuredsl.nodes import Value
from featuredsl.plan import GroupPlan, OnDemandFeature
from featuredsl.values import kind_of, typed

_INT64 = range(-(2**63), 2**63)


def request_values(plan: GroupPlan, request: Mapping[str, object]) -> dict[str, Value]:
    """What the group's on-demand features need of a request, typed; what is not given is null.

    Names that the group does not ask for are left out. Raises InputError for a value of another type.
    """
    found: dict[str, Value] = {}
    for name, dtype in plan.request_inputs.items():
        try:
            found[name] = typed(request.get(name), dtype)
        except ValueError as error:
            raise InputError(f"{plan.name}: request input {name!r} is {spelled(dtype)}: {error}") from None
    return found


def compute_all(plan: GroupPlan, stored: Mapping[str, Value], request: Mapping[str, Value]) -> dict[str, Value]:
    """Every on-demand feature of a group, from its stored features by name and from typed request values."""
    values = dict(stored)
    made: dict[str, Value] = {}
    for feature in plan.on_demand:
        given = {name: request.get(name) for name, _ in feature.request}
        made[feature.name] = values[feature.name] = compute(feature, values | given)
    return made


def compute(feature: OnDemandFeature, values: Mapping[str, Value]) -> Value:
    """The feature's value for inputs and request values by name; a missing one counts as null.

    Null for a parameter that does not allow it, an arithmetic, type or value error inside, an index outside of
    an array, and a result that is not finite or does not fit in 64 bits give null. Arrays are handed over as
    copies. Raises InputError when the function returns a value of another type.
    """
    names = (*feature.inputs, *(name for name, _ in feature.request))
    arguments = {name: values.get(name) for name in names}
    if any(value is None and name not in feature.nullable for name, value in arguments.items()):
        return None
    own = {name: list(value) if isinstance(value, list) else value for name, value in arguments.items()}
    try:
        result = feature.function(**own)
    except (ArithmeticError, TypeError, ValueError, LookupError):
        return None
    return _result(feature, result)


def _result(feature: OnDemandFeature, result: object) -> Value:
    if result is None:
        return None
    element = ELEMENTS.get(feature.dtype)
    if element is None:
        return _scalar(feature, result, feature.dtype)
    if not isinstance(result, list | tuple):
        raise _wrong(feature, result)
    if any(item is None for item in result):
        raise InputError(f"{feature.name} ({feature.location}) returned an array with a null: elements are never null")
    items = [_scalar(feature, item, element) for item in result]
    return None if None in items else items


def _scalar(feature: OnDemandFeature, value: object, dtype: DType) -> int | float | str | bool | None:
    """The value as `dtype`; null where it is not finite or does not fit."""
    if isinstance(value, bool):
        if dtype == "bool":
            return value
    elif dtype == "str" and isinstance(value, str):
        return value
    elif dtype == "float" and isinstance(value, int | float):
        return float(value) if abs(value) <= sys.float_info.max else None
    elif dtype == "int" and isinstance(value, int):
        return value if value in _INT64 else None
    raise _wrong(feature, value)


def _wrong(feature: OnDemandFeature, value: object) -> InputError:
    return InputError(
        f"{feature.name} ({feature.location}) returned {kind_of(value)} {value!r}; it is declared "
        f"{spelled(feature.dtype)}"
    )
