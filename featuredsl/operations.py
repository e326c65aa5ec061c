"""The table of scalar operations: result types, which arguments are constants, and what those may be.

Nothing is computed here. `nodes.call` reads the table where an expression is built, so a wrong type or constant
is an error at definition time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from featuredsl import type_rules as rules
from featuredsl.dtypes import DType

TypeRule = Callable[[str, tuple[DType, ...]], DType]

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
INTEGER_TEXT = "-?[0-9]{1,18}"
"""The texts that to_int() reads."""
NUMBER_TEXT = "-?[0-9]{1,15}([.][0-9]{1,15})?([eE][+-]?[0-9]{1,2})?"
"""The texts that to_float() reads."""
EXP_LIMIT = 709.78
"""exp() of more is null."""
MAX_DIGITS = 9
_MAX_TEXT = 1_000_000


@dataclass(frozen=True, slots=True)
class Operation:
    """One row: the rule of the result type; `constants` of the arguments after the first are checked by `check`.

    An `approximate` operation may differ in its last digits between engines, so one that `decides` (jumps where
    its argument changes a little) refuses it.
    """

    result: TypeRule
    decides: bool = False
    approximate: bool = False
    check: Callable[[Sequence[Any]], str | None] | None = None


def _a_text(values: Sequence[Any]) -> str | None:
    return None if values[0] else "needs a text that is not empty"


def _a_range(values: Sequence[Any]) -> str | None:
    return None if values[0] <= values[1] else f"has bounds that are not in order: {values[0]!r} and {values[1]!r}"


def _a_part(values: Sequence[Any]) -> str | None:
    start, length = values
    if 0 <= start <= _MAX_TEXT and 1 <= length <= _MAX_TEXT:
        return None
    return f"counts from 0 and takes at least one character, not start {start} and length {length}"


def _digits(values: Sequence[Any]) -> str | None:
    if not values or 1 <= values[0] <= MAX_DIGITS:
        return None
    return f"takes 1 to {MAX_DIGITS} digits (none gives an integer), not {values[0]}"


def _a_step(values: Sequence[Any]) -> str | None:
    return None if values[0] > 0 else f"needs a positive step in microseconds, not {values[0]}"


OPERATIONS: Mapping[str, Operation] = {
    "+": Operation(rules.arithmetic),
    "-": Operation(rules.arithmetic),
    "*": Operation(rules.arithmetic),
    "/": Operation(rules.real),
    "//": Operation(rules.integers),
    "%": Operation(rules.integers),
    "neg": Operation(rules.number),
    "abs": Operation(rules.number),
    "sign": Operation(rules.whole, decides=True),
    "==": Operation(rules.comparison, decides=True),
    "!=": Operation(rules.comparison, decides=True),
    "<": Operation(rules.order, decides=True),
    "<=": Operation(rules.order, decides=True),
    ">": Operation(rules.order, decides=True),
    ">=": Operation(rules.order, decides=True),
    "between": Operation(rules.order, decides=True),
    "in": Operation(rules.comparison, decides=True),
    "and": Operation(rules.logic),
    "or": Operation(rules.logic),
    "not": Operation(rules.logic),
    "is_null": Operation(rules.predicate),
    "is_not_null": Operation(rules.predicate),
    "is_nan": Operation(rules.float_predicate),
    "is_finite": Operation(rules.float_predicate),
    "finite": Operation(rules.floats),
    "coalesce": Operation(rules.same),
    "if_else": Operation(rules.choice),
    "min_of": Operation(rules.extreme),
    "max_of": Operation(rules.extreme),
    "clip": Operation(rules.number, check=_a_range),
    "round": Operation(rules.round_of, decides=True, check=_digits),
    "floor": Operation(rules.whole, decides=True),
    "ceil": Operation(rules.whole, decides=True),
    "sqrt": Operation(rules.real, approximate=True),
    "ln": Operation(rules.real, approximate=True),
    "log1p": Operation(rules.real, approximate=True),
    "exp": Operation(rules.real, approximate=True),
    "pow": Operation(rules.real, approximate=True),
    "to_int": Operation(rules.to_int, decides=True),
    "to_float": Operation(rules.to_float),
    "to_str": Operation(rules.to_str),
    "lower": Operation(rules.text),
    "upper": Operation(rules.text),
    "length": Operation(rules.length),
    "concat": Operation(rules.text),
    "substring": Operation(rules.substring, check=_a_part),
    "starts_with": Operation(rules.text_test, check=_a_text),
    "ends_with": Operation(rules.text_test, check=_a_text),
    "contains": Operation(rules.text_test, check=_a_text),
    "replace": Operation(rules.text, check=_a_text),
    "trim": Operation(rules.text),
    "hour_of_day": Operation(rules.integers),
    "minute_of_hour": Operation(rules.integers),
    "day_of_week": Operation(rules.integers),
    "floor_time": Operation(rules.integers, check=_a_step),
    "array_length": Operation(rules.array_length),
    "at": Operation(rules.at),
    "array_contains": Operation(rules.array_contains, decides=True),
    "min_element": Operation(rules.number_element),
    "max_element": Operation(rules.number_element),
    "list_of": Operation(rules.list_of),
}

ON_ARRAYS: Mapping[str, str] = {"length": "array_length", "contains": "array_contains"}
"""What an operation is called when its first argument is an array."""

BANNED: Mapping[str, str] = {
    "like": "engines escape patterns differently; use contains(), starts_with() or ends_with()",
    "regex_extract": "engines disagree on what no match gives; use contains() or substring()",
    "split": "engines disagree on empty strings; use substring()",
    "reverse": "engines disagree on what a character is",
    "log": "say which: ln() is the natural logarithm",
    "log10": "use ln() / 2.302585092994046",
    "year": "calendar fields before 1970 differ between engines; use floor_time()",
    "month": "calendar fields before 1970 differ between engines; use floor_time()",
    "day": "calendar fields before 1970 differ between engines; use floor_time('1d')",
    "strftime": "engines format times differently; keep times as microseconds",
    "to_time": "times stay integers in microseconds; use floor_time() and hour_of_day()",
    "median": "no engine but one can merge it; it is not an aggregate of this release",
}
"""Names that people look for, and why they are not there."""
