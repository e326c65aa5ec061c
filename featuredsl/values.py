"""Values of columns and features, and how a foreign value becomes one.

Arrays are Python lists without nulls, NaN or infinities, wherever values flow. Constants of a plan (defaults,
literals) hold them as tuples, because plans are hashed and shared.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from featuredsl.dtypes import ELEMENTS, DType

Value = int | float | str | bool | list[Any] | None
Constant = int | float | str | bool | tuple[Any, ...] | None

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def typed(value: object, dtype: DType) -> Value:
    """`value` as one of `dtype`: an integer becomes a float where one is wanted, a tuple a list; null stays null.

    Raises ValueError, saying what is wrong, for any other type, an element that is null, an integer beyond 64
    bits and a float that is not finite.
    """
    if value is None:
        return None
    element = ELEMENTS.get(dtype)
    if element is None:
        return _scalar(value, dtype)
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is {kind_of(value)}, not {dtype}")
    if any(item is None for item in value):
        raise ValueError("an array holds a null; elements are never null")
    return [_scalar(item, element) for item in value]


def _scalar(value: object, dtype: DType) -> int | float | str | bool:
    if dtype == "bool" and isinstance(value, bool):
        return value
    if dtype == "str" and isinstance(value, str):
        return value
    if dtype == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(value)
    if dtype == "int" and isinstance(value, int) and not isinstance(value, bool):
        if not _INT64_MIN <= value <= _INT64_MAX:
            raise ValueError(f"{value} does not fit in 64 bits")
        return value
    raise ValueError(f"{value!r} is {kind_of(value)}, not {dtype}")


def _finite(value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{value} does not fit a 64-bit float") from None
    if not math.isfinite(number):
        raise ValueError(f"{number} is no finite number")
    return number


def parse_array(text: str) -> list[Any]:
    """The elements of a JSON array, still of any type. Raises ValueError for other text, NaN and Infinity included."""
    try:
        value = json.loads(text, parse_constant=refuse_constant)
    except ValueError as error:
        raise ValueError(f"{text!r} is no JSON array: {error}") from None
    if not isinstance(value, list):
        raise ValueError(f"{text!r} is no JSON array, such as [1, 2]")
    return value


def refuse_constant(name: str) -> NoReturn:
    """For `json.loads(parse_constant=…)`: NaN and Infinity are no JSON."""
    raise ValueError(f"{name} is not JSON")


def kind_of(value: object) -> str:
    """What a Python value is, for messages."""
    return "an array" if isinstance(value, list | tuple) else type(value).__name__


def frozen(value: object, dtype: DType) -> Constant:
    """The constant of a value: arrays typed and as tuples, scalars as they are. Raises ValueError for an array of
    another type."""
    if dtype not in ELEMENTS or value is None:
        return value  # type: ignore[return-value]
    return tuple(typed(value, dtype))  # type: ignore[arg-type]


def thawed(constant: Constant) -> Value:
    """The value of a constant; a new list each time, so that no reader can change it for another."""
    return list(constant) if isinstance(constant, tuple) else constant
