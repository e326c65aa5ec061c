"""Types by annotation, and how foreign values become values."""

from __future__ import annotations

import math
import typing
from typing import Any

import pytest

from featuredsl.dtypes import DType, allows_null, from_annotation, of_value
from featuredsl.values import frozen, parse_array, thawed, typed


@pytest.mark.parametrize(
    ("annotation", "dtype"),
    [
        (list[int], "int[]"),
        (list[float] | None, "float[]"),
        (typing.Optional[list[str]], "str[]"),  # noqa: UP045
        (typing.List[float], "float[]"),  # noqa: UP006
        ("list[float]", "float[]"),
        ("list[str] | None", "str[]"),
        (list[bool], None),
        (list[list[int]], None),
        (list, None),
        (typing.List, None),  # noqa: UP006
        (tuple[int, ...], None),
        (list[int] | list[str], None),
        ("list[bytes]", None),
    ],
)
def test_annotations(annotation: Any, dtype: DType | None) -> None:
    assert from_annotation(annotation) == dtype


def test_null_of_arrays() -> None:
    assert allows_null(list[int] | None)
    assert allows_null("list[int] | None")
    assert not allows_null(list[int])


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([1, 2], "int[]"),
        ([1, 2.5], "float[]"),
        ((2.5,), "float[]"),
        (["a"], "str[]"),
        ([], None),
        ([None], None),
        ([1, None], None),
        ([True], None),
        ([1, True], None),
        ([1, "a"], None),
        ([[1]], None),
        ({1}, None),
    ],
)
def test_types_of_literals(value: Any, dtype: DType | None) -> None:
    assert of_value(value) == dtype


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        ((1, 2), "int[]", [1, 2]),
        ([1, 2.5], "float[]", [1.0, 2.5]),
        ([], "str[]", []),
        (None, "int[]", None),
        (None, "int", None),
        (3, "float", 3.0),
        (2**63 - 1, "int", 2**63 - 1),
        (True, "bool", True),
    ],
)
def test_typed(value: Any, dtype: DType, expected: Any) -> None:
    found = typed(value, dtype)
    assert found == expected
    assert repr(found) == repr(expected)


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        ([1, None], "int[]", "holds a null"),
        ([1.0], "int[]", "1.0 is float, not int"),
        ([True], "int[]", "True is bool, not int"),
        (["1"], "float[]", "'1' is str, not float"),
        ([1], "str[]", "1 is int, not str"),
        ([[1]], "int[]", "an array, not int"),
        ("ab", "str[]", r"'ab' is str, not str\[\]"),
        ({1}, "int[]", "is set"),
        ([2**63], "int[]", "does not fit in 64 bits"),
        ([10**400], "float[]", "does not fit a 64-bit float"),
        ([math.nan], "float[]", "no finite number"),
        (-math.inf, "float", "no finite number"),
        (True, "int", "True is bool"),
        (1, "bool", "1 is int"),
        (b"a", "str", "bytes"),
    ],
)
def test_what_is_no_value(value: Any, dtype: DType, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        typed(value, dtype)


def test_constants_are_shared_as_tuples_and_given_out_as_lists() -> None:
    constant = frozen([1, 2], "float[]")
    assert constant == (1.0, 2.0)
    assert hash(constant) == hash((1.0, 2.0))
    first, second = thawed(constant), thawed(constant)
    assert first == [1.0, 2.0]
    assert first is not second
    assert (frozen(3, "float"), frozen(None, "int[]"), thawed("a")) == (3, None, "a")


@pytest.mark.parametrize("text", ["", "1", '"[1]"', "{}", "[1", "[NaN]", "[-Infinity]", "[1] [2]", "null"])
def test_what_is_no_json_array(text: str) -> None:
    with pytest.raises(ValueError, match="is no JSON array"):
        parse_array(text)


def test_json_arrays_keep_every_digit() -> None:
    assert parse_array('[9007199254740993, 0.1, "é"]') == [2**53 + 1, 0.1, "é"]
