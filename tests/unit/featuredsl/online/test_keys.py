"""Entity keys: golden texts, round trips, refused parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featuredsl.errors import InputError
from featuredsl.online.keys import KeyPart, join_key, split_key

GOLDEN = Path(__file__).parents[3] / "golden" / "online" / "keys.json"
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
INT64 = st.integers(-(2**63), 2**63 - 1)
PARTS = st.lists(st.one_of(TEXT, INT64, st.booleans()), min_size=1, max_size=4)


def _part(tagged: dict[str, Any]) -> KeyPart:
    ((kind, value),) = tagged.items()
    return int(value) if kind == "int" else value


def _dtype(part: KeyPart) -> str:
    return type(part).__name__


@pytest.mark.parametrize("case", json.loads(GOLDEN.read_text()), ids=lambda case: ascii(case["key"]))
def test_golden_keys(case: dict[str, Any]) -> None:
    parts = tuple(_part(part) for part in case["parts"])
    assert join_key(parts) == case["key"]
    assert split_key(case["key"], [_dtype(part) for part in parts]) == parts


@given(PARTS)
def test_round_trip_and_no_braces(parts: list[KeyPart]) -> None:
    key = join_key(parts)
    assert split_key(key, [_dtype(part) for part in parts]) == tuple(parts)
    assert "{" not in key
    assert "}" not in key


@given(st.lists(TEXT, min_size=1, max_size=3), st.lists(TEXT, min_size=1, max_size=3))
def test_different_parts_have_different_keys(left: list[str], right: list[str]) -> None:
    assert (join_key(left) == join_key(right)) == (left == right)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), "at least one part"),
        ((2**63,), "64-bit"),
        ((1.5,), "float"),
        ((None,), "NoneType"),
        (("\ud800",), "not valid Unicode"),
    ],
)
def test_refused_parts(parts: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        join_key(parts)


@pytest.mark.parametrize(
    ("text", "dtypes", "message"),
    [
        ("a|b", ["str"], "has 2 part"),
        ("1.0", ["int"], "not a decimal"),
        ("01", ["int"], "not a decimal"),
        ("+1", ["int"], "not a decimal"),
        ("-", ["int"], "not a decimal"),
        ("٣", ["int"], "not a decimal"),
        ("9223372036854775808", ["int"], "not a decimal"),
        ("True", ["bool"], "not a boolean"),
        ("a%2", ["str"], "unknown escape"),
        ("50%", ["str"], "unknown escape"),
        ("{a}", ["str"], "bare brace"),
    ],
)
def test_refused_texts(text: str, dtypes: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        split_key(text, dtypes)


def test_escapes_are_read_in_either_case() -> None:
    assert split_key("a%7cb", ["str"]) == ("a|b",)
