"""The logical types of columns and features, and what they are called in each place."""

from __future__ import annotations

import types
import typing
from typing import Any, Literal

DType = Literal["int", "float", "str", "bool", "int[]", "float[]", "str[]"]

SCALARS: tuple[DType, ...] = ("int", "float", "str", "bool")
ELEMENTS: dict[DType, DType] = {"int[]": "int", "float[]": "float", "str[]": "str"}
"""The array types, and the type of an element."""

_PYTHON: dict[Any, DType] = {
    int: "int",
    float: "float",
    str: "str",
    bool: "bool",
    list[int]: "int[]",
    list[float]: "float[]",
    list[str]: "str[]",
}
_NAMES: dict[str, DType] = {kind.__name__ if isinstance(kind, type) else str(kind): d for kind, d in _PYTHON.items()}
NUMERIC: frozenset[DType] = frozenset({"int", "float"})


def from_annotation(annotation: Any) -> DType | None:
    """The logical type of `int`, `float`, `str`, `bool`, a `list` of the first three, or one of them `| None`;
    None when it is another."""
    if isinstance(annotation, str):
        parts = [part.strip() for part in annotation.split("|")]
        kinds = [_NAMES.get(part) for part in parts if part != "None"]
        return kinds[0] if len(kinds) == 1 else None
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        arms = [arm for arm in typing.get_args(annotation) if arm is not type(None)]
        return from_annotation(arms[0]) if len(arms) == 1 else None
    return _PYTHON.get(annotation)


def annotation_text(annotation: object) -> str:
    """An annotation as an author writes it."""
    if isinstance(annotation, str):
        return annotation
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def allows_null(annotation: Any) -> bool:
    """True for an annotation with `| None`."""
    if isinstance(annotation, str):
        return "None" in [part.strip() for part in annotation.split("|")] or annotation.startswith("Optional[")
    return type(None) in typing.get_args(annotation)


def of_value(value: object) -> DType | None:
    """The logical type of a Python literal, or None."""
    return _PYTHON.get(type(value))


def fits(value: object, dtype: DType) -> bool:
    """True when `value` may stand in a column of `dtype` (an int may stand for a float)."""
    kind = of_value(value)
    return kind == dtype or (dtype == "float" and kind == "int")
