"""What every engine must answer alike about arrays, worked out by hand: operations, then lookups and windows.

Same shapes as `expression_cases` (every expression is asked on every row in one query, so none may raise) and
`cases`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from featuredsl.dtypes import DType
from featuredsl.nodes import Column, Literal, Node, call, literal
from tests.conformance.array_groups import ArrayTiers, ArrayWindows, LatestArrays
from tests.conformance.cases import Case as GroupCase
from tests.conformance.cases import plan_of
from tests.conformance.expression_cases import MAX, MIN, NAN, Case, on

COLUMNS: dict[str, DType] = {"i": "int[]", "d": "float[]", "w": "str[]", "a": "int", "f": "float", "s": "str"}
INTS, D, W = (Column(name, COLUMNS[name]) for name in "idw")
A, F, S = (Column(name, COLUMNS[name]) for name in "afs")
BIG = 2**53 + 1


def op(name: str, *args: Any) -> Node:
    """A node; plain values become constants."""
    first = args[0].dtype
    return call(
        name, *(arg if isinstance(arg, Column | Literal) or hasattr(arg, "op") else literal(arg, first) for arg in args)
    )


i, d, w, ia, df, ws = (on(*names) for names in ("i", "d", "w", "ia", "df", "ws"))

CASES = (
    Case("length", op("length", INTS), i(([1, 2, 3], 3), ([], 0), (None, None))),
    Case("length of strings", op("length", W), w(([""], 1), (["a", "b"], 2))),
    Case("length in arithmetic", op("*", op("length", D), 2), d(([0.5, 1.5], 4), ([], 0), (None, None))),
    Case("first element", op("at", INTS, 0), i(([MIN, 1], MIN), ([], None), (None, None), ([BIG], BIG))),
    Case("third element", op("at", D, 2), d(([1.0, 2.0, 0.1], 0.1), ([1.0, 2.0], None))),
    Case("an element of strings", op("at", W, 1), w((["a", "日本"], "日本"), (["a"], None), (["a", ""], ""))),
    Case(
        "an element by a column",
        op("at", INTS, A),
        ia(([7, 8], 0, 7), ([7, 8], 1, 8), ([7, 8], 2, None), ([7, 8], -1, None), ([7, 8], None, None))
        + ia((None, 0, None), ([7, 8], MAX, None), ([7, 8], MIN, None), ([7, 8], 2**32, None), ([], 0, None)),
    ),
    Case("an element far outside", op("at", INTS, 2**31), i(([1, 2], None))),
    Case("a negative constant index", call("at", INTS, Literal(-1, "int")), i(([1, 2], None), ([], None))),
    Case("an element in arithmetic", op("+", op("at", D, 0), op("at", D, 1)), d(([0.5, 0.25], 0.75), ([0.5], None))),
    Case(
        "contains an integer",
        op("contains", INTS, BIG),
        i(([1, BIG], True), ([BIG - 1], False), ([], False), (None, None)),
    ),
    Case("contains the least", op("contains", INTS, MIN), i(([MIN], True), ([MAX], False))),
    Case(
        "contains a column",
        op("contains", INTS, A),
        ia(([1, 2], 2, True), ([1, 2], 3, False), ([1], None, None), ([], 1, False), (None, 1, None), ([], None, None)),
    ),
    Case("contains a float", op("contains", D, 0.0), d(([-0.0], True), ([0.5], False), ([], False))),
    Case(
        "contains a column of floats",
        op("contains", D, F),
        df(([0.5], 0.5, True), ([0.5], NAN, None), ([0.0], -0.0, True), ([0.5], None, None)),
    ),
    Case("contains an integer among floats", op("contains", D, 2), d(([2.0], True), ([2.5], False))),
    Case(
        "contains a column of integers among floats",
        op("contains", D, A),
        on("d", "a")(([2.0], 2, True), ([2.5], 2, False), ([2.0**53], BIG, True)),
    ),
    Case("contains a string", op("contains", W, "it's"), w((["it's"], True), (["it"], False), (["IT'S"], False))),
    Case("contains the empty string", op("contains", W, ""), w(([""], True), (["a"], False), ([], False))),
    Case(
        "contains a column of strings",
        op("contains", W, S),
        ws((["a", "b"], "b", True), (["a "], "a", False), (["a"], None, None)),
    ),
    Case("a filter on an array", op("not", op("contains", W, "x")), w((["x"], False), (["y"], True), (None, None))),
    Case("least integer", op("min_element", INTS), i(([3, -1, 2], -1), ([MIN, MAX], MIN), ([], None), (None, None))),
    Case("greatest integer", op("max_element", INTS), i(([3, -1, 2], 3), ([BIG, BIG - 1], BIG), ([], None))),
    Case("least float", op("min_element", D), d(([0.5, -1.5], -1.5), ([], None), (None, None))),
    Case("greatest float", op("max_element", D), d(([0.5, -1.5], 0.5), ([1e308], 1e308))),
    Case("null test", op("is_null", INTS), i((None, True), ([], False), ([1], False))),
    Case("first that is not null", op("coalesce", INTS, [7, MIN]), i(([1], [1]), ([], []), (None, [7, MIN]))),
    Case("integers for floats", op("coalesce", D, [1, 2]), d(([0.5], [0.5]), (None, [1.0, 2.0]))),
    Case("strings with quotes", op("coalesce", W, ["it's", "\\n"]), w((None, ["it's", "\\n"]), ([""], [""]))),
    Case(
        "a choice of arrays",
        call("if_else", op(">", A, 0), INTS, Literal(None, "int[]")),
        ia(([1], 1, [1]), ([1], 0, None), ([1], None, None)),
    ),
)
ROWS: Sequence[dict[str, Any]] = [{name: row.get(name) for name in COLUMNS} for case in CASES for row, _ in case.rows]


def wrong(found: Sequence[Sequence[Any]], cases: Sequence[Case] = CASES) -> list[str]:
    """What differs: one answer per row of `ROWS` and case, in order. Every value of another type differs, too."""
    problems = []
    place = 0
    for case in CASES:
        for row, expected in case.rows:
            if case in cases:
                value = found[place][cases.index(case)]
                if not (value == expected and kinds(value) == kinds(expected)):
                    problems.append(f"{case.name}: {row} gave {value!r}, not {expected!r}")
            place += 1
    return problems


def kinds(value: Any) -> Any:
    """The types of a value and of its elements."""
    return [type(item) for item in value] if isinstance(value, list) else type(value)


H, DAY_S = 3600, 86400


def tie(key: str, second: float, *rows: Any) -> list[tuple[float, dict[str, Any]]]:
    """Events of one key at one time; a row is (i, d, w)."""
    return [(second, {"u": key, "i": i, "d": d, "w": w}) for i, d, w in rows]


GROUP_CASES = (
    GroupCase(
        "ties of arrays are decided element by element, a prefix first, null lowest",
        plan_of(LatestArrays),
        {
            "bare": [
                *tie("elements", 1, ([1, 9], [1.0, 9.0], ["a", "z"]), ([2], [2.0], ["b"]), ([1, 10], [1.5], ["a"])),
                *tie("prefix", 1, ([1], [0.5], ["a"]), ([1, MIN], [0.5, -1e300], ["a", ""]), ([], [], [])),
                *tie("empty", 1, (None, None, None), ([], [], [])),
                *tie("null", 1, (None, None, None), (None, None, None)),
                *tie("signs", 1, ([-1, 5], [-0.5], ["Z"]), ([MIN], [-1e308], ["B"]), ([-2, 9], [-2.0], ["a"])),
                *tie("bytes", 1, ([BIG], [0.1], ["\uffff"]), ([BIG - 1], [0.2], ["😀"]), ([0], [0.0], ["\uffff", "a"])),
                *tie("nul", 1, ([0], [0.0], ["a"]), ([0], [0.0], ["a\x01"]), ([0], [0.0], ["a", "b"])),
                *tie("row", 1, ([1], [9.0], ["z"]), ([1, 0], [0.0], ["a"]), ([1, 0], None, ["z"])),
                *tie("time", 1, ([9], [9.0], ["a", "z"])),
                *tie("time", 2, ([1], None, ["b"])),
            ]
        },
        [
            (("elements",), 2, {"i": [2], "d": [2.0], "w": ["b"], "row_d": [2.0], "tagged": ["a"]}),
            (("prefix",), 2, {"i": [1, MIN], "d": [0.5, -1e300], "w": ["a", ""], "row_d": [0.5, -1e300]}),
            (("empty",), 2, {"i": [], "d": [], "w": [], "row_d": [], "tagged": [], "recent": []}),
            (("null",), 2, {"i": None, "d": None, "w": None, "row_d": None, "tagged": [], "recent": [0.5, 1.0]}),
            (("signs",), 2, {"i": [-1, 5], "d": [-0.5], "w": ["a"], "row_d": [-0.5]}),
            (("bytes",), 2, {"i": [BIG], "d": [0.2], "w": ["😀"], "row_d": [0.1]}),
            (("nul",), 2, {"w": ["a\x01"]}),
            (("row",), 2, {"i": [1, 0], "d": [9.0], "w": ["z"], "row_d": [0.0], "tagged": ["a"]}),
            (("time",), 2, {"i": [9], "d": [9.0], "row_d": [9.0]}),
            (("time",), 3, {"i": [1], "d": [9.0], "row_d": None, "tagged": ["a", "z"], "w": ["b"]}),
            (("time",), H + 1, {"recent": [9.0], "d": [9.0]}),
            (("time",), H + 1.000001, {"recent": [0.5, 1.0], "d": [9.0]}),
            (("nobody",), 2, {"i": None, "tagged": [], "recent": [0.5, 1.0]}),
        ],
    ),
    GroupCase(
        "windows over what arrays give",
        plan_of(ArrayWindows),
        {
            "vectors": [
                (10, {"u": "a", "i": [5, 7], "d": [0.5, -2.0], "w": ["a"], "x": 1, "seq": 1}),
                (10, {"u": "a", "i": [1], "d": [], "w": ["a", "b"], "x": 0, "seq": 3}),
                (10, {"u": "a", "i": [9], "d": [9.0], "w": [], "x": -1, "seq": 2}),
                (400, {"u": "a", "i": [], "d": None, "w": None, "x": 0, "seq": 0}),
                (500, {"u": "a", "i": None, "d": [1.0], "w": ["a"], "x": None, "seq": 0}),
                (550, {"u": "a", "i": [6, 8], "d": None, "w": ["a"], "x": 7, "seq": 0}),
            ]
        },
        [
            (("a",), 11, {"n": 3, "items": 4, "first": 4.75, "chosen": 7, "tagged": 2, "by_sequence": [1]}),
            (("a",), 11, {"lowest": -2.0}),
            (("a",), 401, {"n": 3, "items": 4, "lowest": -2.0, "by_sequence": []}),
            (("a",), 600, {"n": 4, "items": 6, "first": 3.5, "chosen": 7, "tagged": 3, "by_sequence": [6, 8]}),
            (("a",), 900, {"n": 1, "items": 2, "first": 1.0, "chosen": None, "tagged": 1, "lowest": -1.0}),
            (("b",), 900, {"n": 0, "items": None, "first": None, "tagged": 0, "lowest": None, "by_sequence": None}),
        ],
    ),
    GroupCase(
        "arrays of the batch tiers",
        plan_of(ArrayTiers),
        {
            "bare": [
                *tie("a", 0, ([1, 2], None, ["x", "y"])),
                *tie("a", H + 60, ([BIG], None, [])),
                *tie("a", DAY_S - 1, (None, None, ["é", ""])),
            ]
        },
        [
            (("a",), H + 599, {"hourly": None, "daily": ["none"]}),
            (("a",), H + 600, {"hourly": [1, 2], "daily": ["none"]}),
            (("a",), 2 * H + 600, {"hourly": [BIG], "daily": ["none"]}),
            (("a",), DAY_S + H, {"hourly": [BIG], "daily": ["é", ""]}),
            (("a",), 2 * DAY_S + H, {"hourly": [BIG], "daily": ["none"]}),
        ],
    ),
)
