"""The table of scalar operations: result types, which arguments are constants, and what those may be.

Nothing is computed here. `nodes.call` reads the table where an expression is built, so a wrong type or constant
is an error at definition time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from featuredsl.dtypes import ELEMENTS, NUMERIC, DType
from featuredsl.errors import DefinitionError
from featuredsl.records import dataclass

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
_ELEMENT_HINT = "use at(i) for one element"
_COMPARE_HINT = "arrays are not compared; compare length(), at(i) or contains(x)"
_ARRAYS: dict[DType, DType] = {element: array for array, element in ELEMENTS.items()}


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


def _require(op: str, kinds: tuple[DType, ...], ok: bool, wanted: str) -> None:
    if not ok:
        mixed = "str" in kinds and not NUMERIC.isdisjoint(kinds)
        hint = "; convert one with to_int(), to_float() or to_str()" if mixed else ""
        raise DefinitionError(f"'{op}' takes {wanted}, not {' and '.join(kinds) or 'nothing'}{hint}")


def _scalars(op: str, kinds: tuple[DType, ...], hint: str) -> None:
    arrays = [kind for kind in kinds if kind in ELEMENTS]
    if arrays:
        raise DefinitionError(f"'{op}' takes no array, here {arrays[0]}: {hint}")


def _arithmetic(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) <= NUMERIC, "numbers")
    return "int" if set(kinds) == {"int"} else "float"


def _real(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) <= NUMERIC, "numbers")
    return "float"


def _integers(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) == {"int"}, "integers")
    return "int"


def _comparison(op: str, kinds: tuple[DType, ...]) -> DType:
    one_by_one = op == "in" and kinds[:1] and kinds[0] not in ELEMENTS
    _scalars(op, kinds, "give is_in() the values one by one" if one_by_one else _COMPARE_HINT)
    _require(op, kinds, len(kinds) > 1, "at least one value to compare with")
    _require(op, kinds, len(set(kinds)) == 1 or set(kinds) <= NUMERIC, "two values of one type")
    return "bool"


def _order(op: str, kinds: tuple[DType, ...]) -> DType:
    _comparison(op, kinds)
    _require(op, kinds, "bool" not in kinds, "numbers or strings")
    return "bool"


def _logic(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) == {"bool"}, "booleans")
    return "bool"


def _predicate(op: str, kinds: tuple[DType, ...]) -> DType:
    return "bool"


def _float_predicate(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) == {"float"}, "a float")
    return "bool"


def _same(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, len(set(kinds)) == 1 or (bool(kinds) and set(kinds) <= NUMERIC), "values of one type")
    return kinds[0] if len(set(kinds)) == 1 else "float"


def _extreme(op: str, kinds: tuple[DType, ...]) -> DType:
    _scalars(op, kinds, "use at(i), min_element() or max_element()")
    _require(op, kinds, len(kinds) > 1 and "bool" not in kinds, "two or more numbers, or two or more strings")
    return _same(op, kinds)


def _choice(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, kinds[0] == "bool", "a boolean first")
    return _same(op, kinds[1:])


def _number(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) <= NUMERIC, "a number")
    return "int" if set(kinds) == {"int"} else "float"


def _whole(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, kinds[0] in NUMERIC, "a number")
    return "int"


def _round(op: str, kinds: tuple[DType, ...]) -> DType:
    _whole(op, kinds)
    _require(op, kinds, kinds[1:] in ((), ("int",)), "a number and a number of digits")
    return "float" if kinds[1:] and kinds[0] == "float" else "int"


def _floats(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) == {"float"}, "a float")
    return "float"


def _to_int(op: str, kinds: tuple[DType, ...]) -> DType:
    _scalars(op, kinds, _ELEMENT_HINT)
    return "int"


def _to_float(op: str, kinds: tuple[DType, ...]) -> DType:
    _scalars(op, kinds, _ELEMENT_HINT)
    return "float"


def _to_str(op: str, kinds: tuple[DType, ...]) -> DType:
    _scalars(op, kinds, _ELEMENT_HINT)
    _require(op, kinds, kinds != ("float",), "an integer, a boolean or a string (engines print floats differently)")
    return "str"


def _text(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, set(kinds) == {"str"}, "strings")
    return "str"


def _text_test(op: str, kinds: tuple[DType, ...]) -> DType:
    _text(op, kinds)
    return "bool"


def _length(op: str, kinds: tuple[DType, ...]) -> DType:
    _text(op, kinds)
    return "int"


def _substring(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, kinds == ("str", "int", "int"), "a string, a start and a length")
    return "str"


def _array_length(op: str, kinds: tuple[DType, ...]) -> DType:
    _element(op, kinds)
    return "int"


def _at(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, kinds[0] in ELEMENTS and kinds[1:] == ("int",), "an array and an integer")
    return ELEMENTS[kinds[0]]


def _array_contains(op: str, kinds: tuple[DType, ...]) -> DType:
    element = ELEMENTS.get(kinds[0])
    same = len(kinds) == 2 and (kinds[1] == element or (kinds[1] == "int" and element == "float"))
    _require(op, kinds, same, "an array and a value of its element type")
    return "bool"


def _element(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, len(kinds) == 1 and kinds[0] in ELEMENTS, "an array")
    return ELEMENTS[kinds[0]]


def _number_element(op: str, kinds: tuple[DType, ...]) -> DType:
    element = _element(op, kinds)
    # Flink orders the strings of an array by UTF-16 units, the others by UTF-8 bytes
    _require(op, kinds, element in NUMERIC, "an array of numbers")
    return element


def _list_of(op: str, kinds: tuple[DType, ...]) -> DType:
    _require(op, kinds, len(set(kinds)) == 1 and kinds[0] in _ARRAYS, "numbers of one type, or strings")
    return _ARRAYS[kinds[0]]


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
    "+": Operation(_arithmetic),
    "-": Operation(_arithmetic),
    "*": Operation(_arithmetic),
    "/": Operation(_real),
    "//": Operation(_integers),
    "%": Operation(_integers),
    "neg": Operation(_number),
    "abs": Operation(_number),
    "sign": Operation(_whole, decides=True),
    "==": Operation(_comparison, decides=True),
    "!=": Operation(_comparison, decides=True),
    "<": Operation(_order, decides=True),
    "<=": Operation(_order, decides=True),
    ">": Operation(_order, decides=True),
    ">=": Operation(_order, decides=True),
    "between": Operation(_order, decides=True),
    "in": Operation(_comparison, decides=True),
    "and": Operation(_logic),
    "or": Operation(_logic),
    "not": Operation(_logic),
    "is_null": Operation(_predicate),
    "is_not_null": Operation(_predicate),
    "is_nan": Operation(_float_predicate),
    "is_finite": Operation(_float_predicate),
    "finite": Operation(_floats),
    "coalesce": Operation(_same),
    "if_else": Operation(_choice),
    "min_of": Operation(_extreme),
    "max_of": Operation(_extreme),
    "clip": Operation(_number, check=_a_range),
    "round": Operation(_round, decides=True, check=_digits),
    "floor": Operation(_whole, decides=True),
    "ceil": Operation(_whole, decides=True),
    "sqrt": Operation(_real, approximate=True),
    "ln": Operation(_real, approximate=True),
    "log1p": Operation(_real, approximate=True),
    "exp": Operation(_real, approximate=True),
    "pow": Operation(_real, approximate=True),
    "to_int": Operation(_to_int, decides=True),
    "to_float": Operation(_to_float),
    "to_str": Operation(_to_str),
    "lower": Operation(_text),
    "upper": Operation(_text),
    "length": Operation(_length),
    "concat": Operation(_text),
    "substring": Operation(_substring, check=_a_part),
    "starts_with": Operation(_text_test, check=_a_text),
    "ends_with": Operation(_text_test, check=_a_text),
    "contains": Operation(_text_test, check=_a_text),
    "replace": Operation(_text, check=_a_text),
    "trim": Operation(_text),
    "hour_of_day": Operation(_integers),
    "minute_of_hour": Operation(_integers),
    "day_of_week": Operation(_integers),
    "floor_time": Operation(_integers, check=_a_step),
    "array_length": Operation(_array_length),
    "at": Operation(_at),
    "array_contains": Operation(_array_contains, decides=True),
    "min_element": Operation(_number_element),
    "max_element": Operation(_number_element),
    "list_of": Operation(_list_of),
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
