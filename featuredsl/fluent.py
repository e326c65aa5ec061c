"""Operators and methods of expressions: each builds one node of the table of operations."""

from __future__ import annotations

import difflib
from abc import abstractmethod
from typing import NoReturn, Self

from featuredsl.errors import DefinitionError
from featuredsl.operations import BANNED
from featuredsl.protocols import COLUMN, refusing
from featuredsl.times import parse_duration


@refusing(COLUMN)
class Fluent:
    """The methods of an expression. Null in, null out, unless the method says otherwise."""

    __slots__ = ()

    @abstractmethod
    def _call(self, op: str, *others: object, swapped: bool = False) -> Self:
        """The operation on this expression and others; `swapped` turns the order round."""

    def __bool__(self) -> bool:
        raise DefinitionError(
            "a column has no truth value: use & | ~ for and, or, not, .is_in(…) for in, .between(…) for a <= x <= b, "
            "if_else(…) for if, min_of(…) and max_of(…) for min() and max()"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in BANNED:
            raise DefinitionError(f"there is no {name}(): {BANNED[name]}")
        kind = type(self)
        known = tuple(sorted(n for n in dir(kind) if not n.startswith("_") and callable(getattr(kind, n))))
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean .{near[0]}()?" if near else ""
        raise DefinitionError(f"a column has no .{name}.{hint} There are: {', '.join(known)}")

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self._call("==", other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._call("!=", other)

    def __neg__(self) -> Self:
        return self._call("neg")

    def __invert__(self) -> Self:
        return self._call("not")

    def __abs__(self) -> Self:
        return self._call("abs")

    def __pow__(self, exponent: object) -> Self:
        return self._call("pow", exponent)

    def __add__(self, other: object) -> Self:
        return self._call("+", other)

    def __radd__(self, other: object) -> Self:
        return self._call("+", other, swapped=True)

    def __sub__(self, other: object) -> Self:
        return self._call("-", other)

    def __rsub__(self, other: object) -> Self:
        return self._call("-", other, swapped=True)

    def __mul__(self, other: object) -> Self:
        return self._call("*", other)

    def __rmul__(self, other: object) -> Self:
        return self._call("*", other, swapped=True)

    def __truediv__(self, other: object) -> Self:
        return self._call("/", other)

    def __rtruediv__(self, other: object) -> Self:
        return self._call("/", other, swapped=True)

    def __floordiv__(self, other: object) -> Self:
        return self._call("//", other)

    def __rfloordiv__(self, other: object) -> Self:
        return self._call("//", other, swapped=True)

    def __mod__(self, other: object) -> Self:
        return self._call("%", other)

    def __rmod__(self, other: object) -> Self:
        return self._call("%", other, swapped=True)

    def __and__(self, other: object) -> Self:
        return self._call("and", other)

    def __rand__(self, other: object) -> Self:
        return self._call("and", other, swapped=True)

    def __or__(self, other: object) -> Self:
        return self._call("or", other)

    def __ror__(self, other: object) -> Self:
        return self._call("or", other, swapped=True)

    def __lt__(self, other: object) -> Self:
        return self._call("<", other)

    def __le__(self, other: object) -> Self:
        return self._call("<=", other)

    def __gt__(self, other: object) -> Self:
        return self._call(">", other)

    def __ge__(self, other: object) -> Self:
        return self._call(">=", other)

    def is_in(self, *values: object) -> Self:
        """True when the value equals one of `values`; null when it is null, or equals none and one of them is null."""
        return self._call("in", *values)

    def between(self, low: object, high: object) -> Self:
        """True when low <= value <= high."""
        return self._call("between", low, high)

    def is_null(self) -> Self:
        """True when the value is null (NaN is not)."""
        return self._call("is_null")

    def is_not_null(self) -> Self:
        """True when the value is not null."""
        return self._call("is_not_null")

    def is_nan(self) -> Self:
        """True when a float is NaN."""
        return self._call("is_nan")

    def is_finite(self) -> Self:
        """True when a float is neither NaN nor infinite."""
        return self._call("is_finite")

    def finite(self) -> Self:
        """The float, or null where it is NaN or infinite."""
        return self._call("finite")

    def fill_null(self, value: object) -> Self:
        """The value, or `value` where it is null."""
        return self._call("coalesce", value)

    def abs(self) -> Self:
        """The absolute value; null where it does not fit (-2^63)."""
        return self._call("abs")

    def sign(self) -> Self:
        """-1, 0 or 1."""
        return self._call("sign")

    def clip(self, low: float, high: float) -> Self:
        """The value, at least `low` and at most `high`, both constants."""
        return self._call("clip", low, high)

    def floor(self) -> Self:
        """The greatest integer that is not above; null beyond 64 bits."""
        return self._call("floor")

    def ceil(self) -> Self:
        """The least integer that is not below; null beyond 64 bits."""
        return self._call("ceil")

    def sqrt(self) -> Self:
        """The square root; null below 0."""
        return self._call("sqrt")

    def ln(self) -> Self:
        """The natural logarithm; null at or below 0."""
        return self._call("ln")

    def log1p(self) -> Self:
        """ln(1 + value); null at or below -1."""
        return self._call("log1p")

    def exp(self) -> Self:
        """e to the power of the value; null above 709.78."""
        return self._call("exp")

    def pow(self, exponent: object) -> Self:
        """The power as a float; null where it is not a finite real number."""
        return self._call("pow", exponent)

    def to_int(self) -> Self:
        """An integer: floats lose their fraction, text must be 1 to 18 digits with an optional '-', else null."""
        return self._call("to_int")

    def to_float(self) -> Self:
        """A float; text must be a plain or scientific decimal number of at most 15 digits a part, else null."""
        return self._call("to_float")

    def to_str(self) -> Self:
        """The text of an integer, 'true' or 'false'; floats have none that engines agree on."""
        return self._call("to_str")

    def lower(self) -> Self:
        """ASCII letters in lower case; other characters are kept."""
        return self._call("lower")

    def upper(self) -> Self:
        """ASCII letters in upper case; other characters are kept."""
        return self._call("upper")

    def length(self) -> Self:
        """How many code points a text has, or how many elements an array."""
        return self._call("length")

    def at(self, index: object) -> Self:
        """The element at an index that counts from 0; null outside of the array."""
        if isinstance(index, int) and index < 0:
            raise DefinitionError(f"at() counts from 0, so at({index}) would always be null; use length() and at()")
        return self._call("at", index)

    def min_element(self) -> Self:
        """The least element of an array of numbers; null when it is empty."""
        return self._call("min_element")

    def max_element(self) -> Self:
        """The greatest element of an array of numbers; null when it is empty."""
        return self._call("max_element")

    def concat(self, *others: object) -> Self:
        """The texts one after another; null when one is null."""
        return self._call("concat", *others)

    def substring(self, start: int, length: int) -> Self:
        """At most `length` code points from `start`, which counts from 0."""
        return self._call("substring", start, length)

    def starts_with(self, prefix: str) -> Self:
        """True when the text starts with a constant."""
        return self._call("starts_with", prefix)

    def ends_with(self, suffix: str) -> Self:
        """True when the text ends with a constant."""
        return self._call("ends_with", suffix)

    def contains(self, part: object) -> Self:
        """True when a constant is in the text, or a value (constant or not) is an element of the array."""
        return self._call("contains", part)

    def replace(self, old: str, new: str) -> Self:
        """The text with every `old` replaced by `new`, both constants."""
        return self._call("replace", old, new)

    def trim(self) -> Self:
        """The text without spaces (U+0020) at both ends."""
        return self._call("trim")

    def hour_of_day(self) -> Self:
        """0 to 23, of microseconds since the epoch, UTC."""
        return self._call("hour_of_day")

    def minute_of_hour(self) -> Self:
        """0 to 59, of microseconds since the epoch."""
        return self._call("minute_of_hour")

    def day_of_week(self) -> Self:
        """1 (Monday) to 7 (Sunday), of microseconds since the epoch, UTC."""
        return self._call("day_of_week")

    def round(self, digits: int = 0) -> Self:
        """The nearest integer, halves up; with digits (1 to 9) the nearest float of so many decimals."""
        return self._call("round", digits) if digits else self._call("round")

    def floor_time(self, step: str) -> Self:
        """The latest multiple of a duration such as "1h" since the epoch, UTC, that is not after; microseconds."""
        return self._call("floor_time", parse_duration(step))
