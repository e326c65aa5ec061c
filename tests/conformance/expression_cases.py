"""Cases that every engine must answer alike: an expression, rows, and its value on each, worked out by hand.

Columns that a row does not name are null. Every expression is asked on every row of all cases in one query, so none
may raise on any of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from featuredsl.dtypes import DType
from featuredsl.nodes import Column, Literal, Node, Value, approximate_of, call, literal
from featuredsl.times import DAY, HOUR, MINUTE

COLUMNS: dict[str, DType] = {
    "a": "int",
    "b": "int",
    "f": "float",
    "g": "float",
    "s": "str",
    "t": "str",
    "p": "bool",
    "q": "bool",
}
Row = Mapping[str, Value]
MIN, MAX = -(2**63), 2**63 - 1
BIG = 2**53 + 1
NAN, INF = math.nan, math.inf
A, B, F, G = Column("a", "int"), Column("b", "int"), Column("f", "float"), Column("g", "float")
S, T, P, Q = Column("s", "str"), Column("t", "str"), Column("p", "bool"), Column("q", "bool")


@dataclass(frozen=True)
class Case:
    """`rows` are (row, value); `name` is unique."""

    name: str
    node: Node
    rows: Sequence[tuple[Row, Value]]


def op(name: str, *args: Node | Value) -> Node:
    """A node; plain values become constants."""
    return call(name, *(arg if isinstance(arg, Column | Literal) or not _plain(arg) else literal(arg) for arg in args))  # type: ignore[arg-type]


def _plain(arg: object) -> bool:
    return isinstance(arg, bool | int | float | str)


def on(*names: str) -> _Rows:
    """Rows by position: `on("a", "b")((1, 2, 3))` is value 3 for a = 1 and b = 2."""
    return _Rows(names)


@dataclass(frozen=True)
class _Rows:
    names: tuple[str, ...]

    def __call__(self, *rows: tuple[Value, ...]) -> list[tuple[Row, Value]]:
        return [(dict(zip(self.names, row[:-1], strict=True)), row[-1]) for row in rows]


a, ab, f, fg, s, st, p, pq = (on(*names) for names in ("a", "ab", "f", "fg", "s", "st", "p", "pq"))
NULL_INT = Literal(None, "int")

ARITHMETIC = (
    Case("add", op("+", A, B), ab((2, 3, 5), (MAX, 1, None), (MIN, -1, None), (MAX, MIN, -1), (None, 1, None))),
    Case("add keeps 64 bits", op("+", A, 1), a((2**53, BIG), (MAX - 1, MAX), (MAX, None), (MIN, MIN + 1))),
    Case("add a negative constant", op("+", -1, A), a((MIN, None), (MIN + 1, MIN), (MAX, MAX - 1))),
    Case("add the least integer", op("+", A, MIN), a((-1, None), (0, MIN), (MAX, -1))),
    Case("add floats", op("+", F, G), fg((0.5, 0.25, 0.75), (1e308, 1e308, None), (NAN, 1.0, None), (INF, -INF, None))),
    Case("add int and float", op("+", A, F), on("a", "f")((1, 0.5, 1.5), (BIG, 0.0, 2.0**53), (1, NAN, None))),
    Case("subtract", op("-", A, B), ab((2, 3, -1), (MIN, 1, None), (MAX, -1, None), (-1, MIN, MAX), (0, MIN, None))),
    Case("subtract a constant", op("-", A, 3), a((MIN + 3, MIN), (MIN + 2, None), (MAX, MAX - 3))),
    Case("subtract from a constant", op("-", 0, A), a((MIN, None), (MAX, -MAX), (5, -5))),
    Case("subtract from a negative constant", op("-", -2, A), a((MAX, None), (MAX - 1, MIN), (MIN, MAX - 1))),
    Case(
        "multiply",
        op("*", A, B),
        ab((3, -4, -12), (MAX, 2, None), (MIN, -1, None), (MIN, 1, MIN), (2**32, 2**31, None), (-(2**32), 2**31, MIN))
        + ab((MAX, 0, 0), (0, MIN, 0), (1, MIN, MIN), (2, MIN, None), (MAX, -1, -MAX), (3037000500, 3037000500, None))
        + ab((None, 0, None), (0, None, None), (2**62, -2, MIN), (-(2**62), -2, None)),
    ),
    Case("multiply by a constant", op("*", A, 100), a((MAX, None), (92233720368547758, 9223372036854775800))),
    Case("multiply by a negative constant", op("*", -2, A), a((2**62, MIN), (-(2**62), None), (7, -14))),
    Case("multiply by minus one", op("*", A, -1), a((MIN, None), (MAX, -MAX))),
    Case("multiply floats", op("*", F, G), fg((1.5, -2.0, -3.0), (1e200, 1e200, None), (0.0, INF, None))),
    Case("a product that fits again", op("*", op("*", F, G), 0.0), fg((1e200, 1e200, None), (2.0, 3.0, 0.0))),
    Case("a chain of floats", op("-", op("+", F, G), op("*", F, 2)), fg((1.0, 4.0, 3.0), (1e308, 1e308, None))),
    Case(
        "divide integers",
        op("/", A, B),
        ab((7, 2, 3.5), (-1, 3, -1 / 3), (1, 0, None), (0, 0, None), (BIG, 1, 2.0**53)),
    ),
    Case(
        "divide floats", op("/", F, G), fg((1.0, 4.0, 0.25), (1.0, 0.0, None), (1e300, 1e-300, None), (1.0, INF, None))
    ),
    Case("divide by minus zero", op("/", F, -0.0), f((1.0, None), (0.0, None), (None, None))),
    Case("divide by a quotient", op("/", 6, op("/", F, G)), fg((3.0, 1.0, 2.0), (1.0, 0.0, None), (0.0, 1.0, None))),
    Case(
        "floor division",
        op("//", A, B),
        ab((-2, 3, -1), (2, 3, 0), (7, -2, -4), (-7, -2, 3), (6, -2, -3), (1, 0, None), (MIN, -1, None), (MIN, 1, MIN))
        + ab((BIG, 1, BIG), (MAX, MIN, -1), (MIN, MAX, -2), (MAX, -1, -MAX), (None, 2, None)),
    ),
    Case(
        "floor division by a constant",
        op("//", A, 3),
        a((-2, -1), (-3, -1), (MIN, -3074457345618258603), (MAX, MAX // 3)),
    ),
    Case("floor division by a negative constant", op("//", A, -3), a((2, -1), (-2, 0), (3, -1))),
    Case("floor division by the constant zero", op("//", A, 0), a((2, None), (None, None))),
    Case(
        "modulo",
        op("%", A, B),
        ab((-2, 3, 1), (2, -3, -1), (-2, -3, -2), (7, 7, 0), (1, 0, None), (MIN, -1, 0), (MIN, MAX, MAX - 1))
        + ab((5 * 10**18, 9 * 10**18, 5 * 10**18), (-1, MAX, MAX - 1), (MAX, MIN, -1)),
    ),
    Case("modulo of a constant", op("%", A, 3), a((-2, 1), (MIN, 1), (MAX, 1), (None, None))),
    Case("modulo of a great constant", op("%", A, MAX), a((-1, MAX - 1), (MIN, MAX - 1), (5, 5))),
    Case("negate", op("neg", A), a((5, -5), (MIN, None), (MAX, -MAX))),
    Case("negate a float", op("neg", F), f((1.5, -1.5), (NAN, None), (INF, None))),
    Case("abs", op("abs", A), a((-5, 5), (MIN, None), (0, 0))),
    Case("abs of a float", op("abs", F), f((-1.5, 1.5), (-INF, None), (None, None))),
    Case("sign", op("sign", A), a((-5, -1), (0, 0), (MAX, 1), (None, None))),
    Case("sign of a float", op("sign", F), f((-0.1, -1), (-0.0, 0), (5e-324, 1), (NAN, None), (INF, None))),
)

COMPARISONS = (
    Case(
        "equal",
        op("==", A, B),
        ab((1, 1, True), (1, 2, False), (None, None, None), (1, None, None), (BIG, BIG - 1, False)),
    ),
    Case("not equal", op("!=", A, B), ab((1, 1, False), (1, 2, True), (1, None, None))),
    Case("equal floats", op("==", F, F), f((0.1, True), (NAN, None), (INF, None), (None, None))),
    Case("zero equals minus zero", op("==", F, 0.0), f((-0.0, True), (0.0, True))),
    Case("not equal floats", op("!=", F, G), fg((NAN, NAN, None), (1.0, 2.0, True), (1.0, INF, None))),
    Case("an integer equals a float as a float", op("==", A, F), on("a", "f")((BIG, 2.0**53, True), (1, 1.5, False))),
    Case(
        "equal strings", op("==", S, T), st(("ä", "ä", True), ("a", "A", False), ("", None, None), ("a ", "a", False))
    ),
    Case("equal booleans", op("==", P, Q), pq((True, True, True), (True, False, False), (None, True, None))),
    Case("NaN is above nothing", op(">", F, 100.0), f((NAN, None), (INF, None), (100.5, True), (100.0, False))),
    Case("NaN beside an integer", op(">", F, A), on("a", "f")((1, NAN, None), (1, 1.5, True), (2, 1.5, False))),
    Case("minus zero is not below zero", op("<", F, 0.0), f((-0.0, False), (-1e-300, True))),
    Case("less", op("<", A, B), ab((MIN, MAX, True), (1, 1, False), (None, 1, None))),
    Case("less or equal", op("<=", A, B), ab((1, 1, True), (2, 1, False))),
    Case("greater or equal", op(">=", A, B), ab((1, 1, True), (0, 1, False))),
    Case(
        "strings order by code point",
        op("<", S, T),
        st(("Z", "a", True), ("z", "ä", True), ("a", "ab", True), ("\uffff", "😀", True)),
    ),
    Case("between", op("between", A, 1, 3), a((1, True), (3, True), (4, False), (None, None))),
    Case("between columns", op("between", A, B, 5), ab((9, None, False), (3, None, None), (3, 3, True))),
    Case("between floats", op("between", F, -1.0, 1.0), f((-0.0, True), (NAN, None), (1.0000001, False), (INF, None))),
    Case("in", op("in", A, 1, 3), a((1, True), (2, False), (None, None))),
    Case("in with a null", op("in", A, 1, NULL_INT), a((1, True), (2, None), (None, None))),
    Case("in columns", op("in", A, B, 7), ab((7, None, True), (6, None, None), (6, 6, True), (6, 5, False))),
    Case("in strings", op("in", S, "a", "it's", "ß\\"), s(("it's", True), ("ß\\", True), ("A", False), (None, None))),
    Case("in floats", op("in", F, 0.0, 2.5), f((-0.0, True), (2.5, True), (NAN, None), (1.0, False), (None, None))),
    Case("an integer in floats", op("in", A, 1.0, 2.5), a((1, True), (2, False))),
    Case("in booleans", op("in", P, True), p((True, True), (False, False), (None, None))),
)

LOGIC = (
    Case(
        "and",
        op("and", P, Q),
        pq((True, True, True), (True, False, False), (None, False, False), (False, None, False), (None, True, None))
        + pq((None, None, None)),
    ),
    Case(
        "or",
        op("or", P, Q),
        pq((False, False, False), (None, True, True), (True, None, True), (None, False, None), (None, None, None)),
    ),
    Case("not", op("not", P), p((True, False), (False, True), (None, None))),
    Case("is null", op("is_null", A), a((None, True), (0, False))),
    Case("NaN is not null", op("is_null", F), f((NAN, False), (INF, False), (None, True))),
    Case("is not null", op("is_not_null", F), f((NAN, True), (None, False), (0.0, True))),
    Case("what overflows is null", op("is_null", op("*", F, F)), f((1e200, True), (2.0, False), (NAN, True))),
    Case("is NaN", op("is_nan", F), f((NAN, True), (INF, False), (1.0, False), (None, None))),
    Case("is finite", op("is_finite", F), f((NAN, False), (-INF, False), (1.7976931348623157e308, True), (None, None))),
    Case("finite", op("finite", F), f((NAN, None), (INF, None), (2.5, 2.5), (None, None))),
    Case("coalesce", op("coalesce", A, B, 7), ab((None, None, 7), (None, 2, 2), (1, 2, 1))),
    Case(
        "coalesce int and float", op("coalesce", F, A), on("a", "f")((3, None, 3.0), (3, 1.5, 1.5), (None, None, None))
    ),
    Case("fill a product", op("coalesce", op("*", F, G), -1), fg((1e200, 1e200, -1.0), (2.0, 3.0, 6.0))),
    Case(
        "if else",
        op("if_else", P, A, B),
        [({"p": x, "a": 1, "b": 2}, y) for x, y in ((True, 1), (False, 2), (None, 2))],
    ),
    Case("if else of int and float", op("if_else", P, A, 0.5), on("p", "a")((True, BIG, 2.0**53), (False, 1, 0.5))),
    Case("if else of texts", op("if_else", P, "a", "bcd"), p((True, "a"), (False, "bcd"), (None, "bcd"))),
    Case("if else with a null", op("if_else", op(">", A, 0), A, NULL_INT), a((5, 5), (-5, None), (None, None))),
)

NUMBERS = (
    Case("least", op("min_of", A, B), ab((1, 2, 1), (2, 1, 1), (None, 2, 2), (2, None, 2), (None, None, None))),
    Case("greatest", op("max_of", A, B), ab((1, 2, 2), (2, 1, 2), (None, 2, 2), (2, None, 2), (None, None, None))),
    Case(
        "least of three",
        op("min_of", F, G, 0.5),
        fg((1.0, 2.0, 0.5), (NAN, 0.25, 0.25), (None, None, 0.5), (0.1, INF, 0.1)),
    ),
    Case("greatest of floats", op("max_of", F, G), fg((NAN, 1.0, 1.0), (INF, -INF, None), (1.0, 2.0, 2.0))),
    Case("least string", op("min_of", S, T), st(("b", "a", "a"), ("\uffff", "😀", "\uffff"), (None, "", ""))),
    Case("greatest string", op("max_of", S, T), st(("b", "a", "b"), ("\uffff", "😀", "😀"), (None, None, None))),
    Case("least of int and float", op("min_of", A, F), on("a", "f")((1, 1.5, 1.0), (2, 1.5, 1.5), (2, NAN, 2.0))),
    Case("greatest of strings", op("max_of", S, T), st(("a", "ä", "ä"), (None, "", ""), ("b", "ab", "b"))),
    Case("clip", op("clip", A, 0, 9), a((-1, 0), (10, 9), (5, 5), (None, None))),
    Case("clip a float", op("clip", F, -1.5, 1.5), f((-2.0, -1.5), (2.0, 1.5), (0.5, 0.5), (NAN, None), (INF, None))),
    Case(
        "round", op("round", F), f((2.5, 3), (-1.5, -1), (0.4, 0), (1e300, None), (NAN, None), (-INF, None), (-0.4, 0))
    ),
    Case("round an integer", op("round", A), a((BIG, BIG), (None, None))),
    Case(
        "round to cents",
        op("round", F, 2),
        f((1.234, 1.23), (2.675, 2.68), (-2.5, -2.5), (0.125, 0.13), (-0.125, -0.12)),
    ),
    Case(
        "round what is great",
        op("round", F, 2),
        f((1e300, 1e300), (NAN, None), (INF, None), (123456789.875, 123456789.88)),
    ),
    Case(
        "floor", op("floor", F), f((1.5, 1), (-1.5, -2), (1e300, None), (NAN, None), (-(2.0**63), MIN), (2.0**63, None))
    ),
    Case("ceil", op("ceil", F), f((1.5, 2), (-1.5, -1), (-0.5, 0), (INF, None), (9.2e18, 9200000000000000000))),
    Case("square root", op("sqrt", F), f((2.25, 1.5), (0.0, 0.0), (-1.0, None), (NAN, None), (INF, None))),
    Case("square root of an integer", op("sqrt", A), a((9, 3.0), (-9, None))),
    Case(
        "ln",
        op("ln", F),
        f((1.0, 0.0), (math.e, 1.0), (0.0, None), (-1.0, None), (INF, None), (5e-324, -744.4400719213812)),
    ),
    Case("ln of an integer", op("ln", A), a((1, 0.0), (0, None), (10, 2.302585092994046))),
    Case("log1p", op("log1p", F), f((0.0, 0.0), (1.0, 0.6931471805599453), (-1.0, None), (NAN, None))),
    Case("exp", op("exp", F), f((0.0, 1.0), (1.0, math.e), (710.0, None), (-1000.0, 0.0), (INF, None), (-INF, None))),
    Case(
        "pow",
        op("pow", F, G),
        fg(
            (2.0, 10.0, 1024.0),
            (2.0, -1.0, 0.5),
            (0.0, -1.0, None),
            (-8.0, 0.5, None),
            (1e300, 2.0, None),
            (NAN, 0.0, None),
        )
        + fg((0.0, 0.0, 1.0), (-2.0, 3.0, -8.0)),
    ),
    Case("pow of integers", op("pow", A, 2), a((3, 9.0), (-3, 9.0), (None, None))),
)

CASTS = (
    Case(
        "float to int cuts", op("to_int", F), f((1.9, 1), (-1.9, -1), (2.5, 2), (NAN, None), (INF, None), (1e300, None))
    ),
    Case(
        "float to int at the ends", op("to_int", F), f((2.0**63, None), (-(2.0**63), MIN), (9007199254740993.0, 2**53))
    ),
    Case(
        "text to int",
        op("to_int", S),
        s(("007", 7), ("-12", -12), ("12.7", None), ("1e3", None), ("", None), (" 1", None)),
    ),
    Case(
        "text to int, odd",
        op("to_int", S),
        s(("12\n", None), ("+1", None), ("٣", None), ("999999999999999999", 10**18 - 1), ("1" * 19, None)),
    ),
    Case("bool to int", op("to_int", P), p((True, 1), (False, 0), (None, None))),
    Case("int to int", op("to_int", A), a((BIG, BIG), (None, None))),
    Case("int to float", op("to_float", A), a((BIG, 2.0**53), (-3, -3.0), (MIN, -(2.0**63)))),
    Case(
        "text to float",
        op("to_float", S),
        s(("1.5", 1.5), ("-2e3", -2000.0), ("1E-2", 0.01), ("7", 7.0), ("NaN", None)),
    ),
    Case(
        "text to float, odd",
        op("to_float", S),
        s(("1d", None), (".5", None), ("inf", None), ("0x1p3", None), ("1_0", None)),
    ),
    Case("bool to float", op("to_float", P), p((True, 1.0), (False, 0.0), (None, None))),
    Case("int to text", op("to_str", A), a((BIG, "9007199254740993"), (-7, "-7"), (MIN, "-9223372036854775808"))),
    Case("bool to text", op("to_str", P), p((True, "true"), (False, "false"), (None, None))),
    Case("text to text", op("to_str", S), s(("ä", "ä"), (None, None))),
)

STRINGS = (
    Case("lower", op("lower", S), s(("ÄBC-z1", "Äbc-z1"), ("ΣΑΣ", "ΣΑΣ"), ("İI", "İi"), (None, None))),
    Case("upper", op("upper", S), s(("straße", "STRAßE"), ("", ""), ("\u0131i", "\u0131I"))),
    Case("length", op("length", S), s(("", 0), ("aä😀", 3), ("e\u0301", 2), ("a ", 2), (None, None))),
    Case("concat", op("concat", S, "-", T), st(("a", "b", "a-b"), ("a", None, None), ("", "", "-"))),
    Case(
        "substring",
        op("substring", S, 1, 2),
        s(("abcd", "bc"), ("aä😀", "ä😀"), ("ab", "b"), ("a", ""), ("", ""), (None, None)),
    ),
    Case(
        "starts with",
        op("starts_with", S, "ä%"),
        s(("ä%b", True), ("äxb", False), ("ä", False), ("", False), (None, None)),
    ),
    Case(
        "ends with", op("ends_with", S, "_E"), s(("D_E", True), ("DxE", False), ("E", False), ("", False), (None, None))
    ),
    Case("contains", op("contains", S, "D_"), s(("xD_E", True), ("xDE", False), ("", False), (None, None))),
    Case("contains a quote", op("contains", S, "'\\"), s(("it's", False), ("a'\\b", True))),
    Case("replace", op("replace", S, "a.", "é"), s(("a.ba.", "ébé"), ("abc", "abc"), ("", ""), (None, None))),
    Case("replace by nothing", op("replace", S, "aa", ""), s(("aaa", "a"), ("aa", ""))),
    Case(
        "trim", op("trim", S), s(("  a b ", "a b"), ("\ta", "\ta"), ("\u00a0a ", "\u00a0a"), ("   ", ""), (None, None))
    ),
)

BEFORE = -MINUTE - 1  # 1969-12-31T23:58:59.999999Z, a Wednesday
TIMES = (
    Case(
        "hour of day",
        op("hour_of_day", A),
        a((0, 0), (BEFORE, 23), (DAY - 1, 23), (1_767_225_600_000_000 + 5 * HOUR, 5)),
    ),
    Case(
        "minute of hour", op("minute_of_hour", A), a((0, 0), (BEFORE, 58), (59 * MINUTE, 59), (HOUR, 0), (None, None))
    ),
    # 2026-01-01 is a Thursday, 2026-01-04 a Sunday; the epoch is a Thursday.
    Case(
        "day of week",
        op("day_of_week", A),
        a((0, 4), (-1, 3), (1_767_225_600_000_000, 4), (1_767_225_600_000_000 + 4 * DAY - 1, 7)),
    ),
    Case(
        "day of week at the ends", op("day_of_week", A), a((4 * DAY, 1), (-3 * DAY, 1), (-3 * DAY - 1, 7), (None, None))
    ),
    Case("floor to 5 s", op("floor_time", A, 5_000_000), a((-1, -5_000_000), (4_999_999, 0), (5_000_000, 5_000_000))),
    Case("floor to a day", op("floor_time", A, DAY), a((BEFORE, -DAY), (DAY + 1, DAY), (MIN, None), (None, None))),
    # -2^63 us is 54775808 us after the day before it, so the first day that fits starts 86345224192 us later.
    Case(
        "floor to the first day that fits",
        op("floor_time", A, DAY),
        a(
            (MIN + DAY, -106751991 * DAY),
        ),
    ),
)

LISTS = (
    Case("list of integers", op("list_of", op("coalesce", A, 7), BIG), a((1, [1, BIG]), (None, [7, BIG]))),
    Case(
        "list of strings", op("list_of", op("coalesce", S, ""), "it's"), s(("é", ["é", "it's"]), (None, ["", "it's"]))
    ),
)

CASES: tuple[Case, ...] = (*ARITHMETIC, *COMPARISONS, *LOGIC, *NUMBERS, *CASTS, *STRINGS, *TIMES, *LISTS)
ROWS: tuple[dict[str, Value], ...] = tuple(
    {name: row.get(name) for name in COLUMNS} for case in CASES for row, _ in case.rows
)
"""One row for each value, in the order of the cases."""
EXPECTED: tuple[tuple[int, int, Value], ...] = tuple(
    (number, position, value)
    for number, (position, value) in enumerate(
        (position, value) for position, case in enumerate(CASES) for _, value in case.rows
    )
)
"""(row number, case number, value)."""


def same(case: Case, found: Value, expected: Value) -> bool:
    """Equal in value and type; to 1e-9 where the last digits of a function are an engine's own."""
    if type(found) is not type(expected):
        return False
    if isinstance(expected, float) and isinstance(found, float) and approximate_of(case.node):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    return found == expected


def wrong(table: Sequence[Sequence[Value]]) -> list[tuple[str, Row, Value, Value]]:
    """(case, row, found, expected) of every value that is not the expected one; `table` holds the values of all
    cases for each of `ROWS`."""
    return [
        (CASES[case].name, {k: v for k, v in ROWS[row].items() if v is not None}, table[row][case], value)
        for row, case, value in EXPECTED
        if not same(CASES[case], table[row][case], value)
    ]
