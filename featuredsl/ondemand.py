"""On-demand features: the same Python code in serving and in training sets."""

from __future__ import annotations

from collections.abc import Mapping

from featuredsl.errors import InputError
from featuredsl.nodes import Value
from featuredsl.plan import OnDemandFeature


def compute(feature: OnDemandFeature, values: Mapping[str, Value]) -> Value:
    """The feature's value for inputs and request values by name; a missing one counts as null.

    Null for a parameter that does not allow it, or an arithmetic or type error inside, gives null.
    Raises InputError when the function returns a value of another type.
    """
    names = (*feature.inputs, *(name for name, _ in feature.request))
    arguments = {name: values.get(name) for name in names}
    if any(value is None and name not in feature.nullable for name, value in arguments.items()):
        return None
    try:
        result = feature.function(**arguments)
    except (ArithmeticError, TypeError, ValueError):
        return None
    return _typed(feature, result)


def _typed(feature: OnDemandFeature, result: object) -> Value:
    kind = type(result).__name__
    if result is None or kind == feature.dtype:
        return result  # type: ignore[return-value]
    if feature.dtype == "float" and isinstance(result, int) and not isinstance(result, bool):
        return float(result)
    raise InputError(f"{feature.name} ({feature.location}) returned {kind} {result!r}; it is declared {feature.dtype}")
