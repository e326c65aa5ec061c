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
_ARRAYS: dict[DType | None, DType] = {element: array for array, element in ELEMENTS.items()}
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
    if typing.get_origin(annotation) is list and len(typing.get_args(annotation)) == 1:
        return _ARRAYS.get(_PYTHON.get(typing.get_args(annotation)[0]))
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
    """The logical type of a Python literal, or None; an array has that of its elements, an empty one none."""
    if not isinstance(value, list | tuple):
        return _PYTHON.get(type(value))
    kinds = {of_value(item) for item in value}
    if kinds == {"int", "float"}:
        return "float[]"
    return _ARRAYS.get(kinds.pop()) if len(kinds) == 1 else None


def fits(value: object, dtype: DType) -> bool:
    """True when `value` may stand in a column of `dtype` (integers may stand for floats)."""
    if isinstance(value, list | tuple):
        return dtype in ELEMENTS and all(fits(item, ELEMENTS[dtype]) for item in value)
    kind = of_value(value)
    return kind == dtype or (dtype == "float" and kind == "int")


def spelled(dtype: DType) -> str:
    """The Python annotation of a logical type: `list[float]` for `float[]`."""
    return f"list[{ELEMENTS[dtype]}]" if dtype in ELEMENTS else dtype


ANNOTATIONS = "int, float, str, bool or a list of one of the first three, such as list[float]"
"""What `from_annotation` knows, for messages."""
