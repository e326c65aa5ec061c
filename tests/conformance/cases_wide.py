"""Cases of wide aggregates and histograms, worked out by hand; the shape is that of `cases`.

Values are exact where the aggregate is; those of `approx_quantile` are the exact quantile, met within 1/256.
"""

from __future__ import annotations

from tests.conformance.cases import BIG, Case, D, H, Row, plan_of, row
from tests.conformance.wide_groups import Couples, Decays, Firsts, Hours, Kinds, Layers, Lists, Sequenced, Spread


def seq(seconds: float, x: int | None, sequence: int | None) -> Row:
    """An event of `ordered`."""
    return seconds, {"u": "a", "x": x, "seq": sequence}


WIDE_CASES: tuple[Case, ...] = (
    Case(
        "first of a window: nulls skipped or kept, filter, ties by value, edges",
        plan_of(Firsts),
        {
            "events": [
                row(299, s="old", x=9),
                row(300, x=1),
                row(301, s="z", x=2),
                row(301, s="b", x=7),
                row(302, s="é", x=8),
                row(600, s="c", x=6),
            ]
        },
        [
            # 899 - 600 = 299 lies in the hop from 0, 900 - 600 = 300 begins a hop
            (("a",), 899, {"first_s": "old", "first_row_s": "old", "first_large": "old", "twice": 18}),
            (("a",), 900, {"first_s": "b", "first_row_s": None, "first_large": "b", "twice": 2}),
            (("a",), 301, {"first_s": "old", "first_row_s": "old", "first_large": "old"}),
            (("a",), 1200, {"first_s": "c", "first_row_s": "c", "first_large": "c", "twice": 12}),
            (("a",), 1500, {"first_s": None, "first_row_s": None, "first_large": "none", "twice": None}),
            (("zz",), 900, {"first_s": None, "first_row_s": None, "first_large": "none", "twice": None}),
        ],
    ),
    Case(
        "a sequence decides between equal times, a null one is the lowest; beyond 2^53 integers stay apart",
        plan_of(Sequenced),
        {"ordered": [seq(5, BIG, 2), seq(5, 7, 1), seq(5, 9, 1), seq(4, 3, 8), seq(5, BIG + 1, 2), seq(4, 99, None)]},
        [
            (("a",), 5, {"first_x": 99, "last_two": [3, 99]}),
            (("a",), 6, {"first_x": 99, "last_two": [BIG + 1, BIG]}),
        ],
    ),
    Case(
        "last_k is newest first, top_k by count and then the lesser value, in order of UTF-8 bytes",
        plan_of(Lists),
        {
            "events": [
                row(H, s="a", x=10, f=1.0),
                row(H + 1, s="é", x=9, f=0.5),
                row(H + 2, s=None, x=10),
                row(2.5 * H, s="é", x=9, f=0.75),
                row(3 * H, s="z", x=-1),
                row(3 * H, s="a", x=None, f=9.0),
            ]
        },
        [
            (
                ("a",),
                3 * H + 1,
                {
                    "last_three_1h": ["z", "a", "é"],
                    "last_three_6h": ["z", "a", "é"],
                    "top": ["a", "é"],
                    "top_counts": [2, 2],
                    "favourite": 9,
                    "large": [9, 10],
                },
            ),
            (("a",), 3 * H, {"last_three_1h": ["é"], "last_three_6h": ["é", "é", "a"], "top": ["é", "a"]}),
            (("a",), 7.6 * H, {"last_three_1h": None, "last_three_6h": ["z", "a", "é"], "top": ["a", "z"]}),
            (("a",), 20 * H, {"last_three_6h": None, "top": None, "top_counts": None, "favourite": None}),
            (("b",), 3 * H, {"last_three_6h": None, "large": None}),
        ],
    ),
    Case(
        "distinct counts, quantiles and bins; ratios with ordinary aggregates and of two sources",
        plan_of(Spread),
        {
            "events": [
                row(1, s="p", x=-1, f=0.5),
                row(2, s="q", x=0, f=0.25),
                row(3, s="p", x=9, f=0.25),
                row(4, s=None, x=10, f=2.0),
                row(5, s="r", x=None, f=None),
            ],
            "other": [(3, {"u": "a", "x": 4}), (4, {"u": "a", "x": 4}), (4, {"u": "b", "x": None})],
        },
        [
            (
                ("a",),
                10,
                {
                    "distinct": 3,
                    "share": 0.6,
                    "others": 4.0,
                    "median": 0.0,
                    "lowest": 0.25,
                    "bins": [1, 2, 1],
                    "small_bins": [1, 1],
                },
            ),
            (("a",), 1, {"distinct": 0, "share": None, "median": None, "bins": [0, 0, 0], "small_bins": [0, 0]}),
            (("b",), 10, {"distinct": 0, "share": None, "others": None, "lowest": None, "bins": [0, 0, 0]}),
        ],
    ),
    Case(
        "decay is exact to the query time, and the window cuts it off",
        plan_of(Decays),
        {"events": [row(0, x=8, s="a"), row(H, x=4), row(2 * H, s="b"), row(2 * H, x=1)]},
        [
            (("a",), 3 * H, {"weight": 1 + 1 + 0.5, "number": 0.125 + 0.25 + 1.0, "texts": 0.625}),
            # 4 h before 4 h 20 m lies in the hop that begins at 0 h 20 m
            (("a",), 4 * H + 1200, {"weight": 4 * 2 ** -(10 / 3) + 2 ** -(7 / 3)}),
            (("a",), 0, {"weight": None, "number": 0.0, "texts": 0.0}),
            (("a",), 3 * H + 600, {"hourly": 2.5}),
            (("a",), 3 * H + 599, {"hourly": 2.0 + 2.0}),
            (("b",), 3 * H, {"weight": None, "number": 0.0, "texts": 0.0, "hourly": None}),
        ],
    ),
    Case(
        "wide features of batch tiers are asked at the last closed period; offset windows end on the hop",
        plan_of(Layers),
        {"events": [row(0.5 * H, x=1), row(1.5 * H, x=2), row(1.6 * H, x=2), row(25 * H, x=3)]},
        [
            (("a",), H, {"hourly": None, "daily": None, "n": 0}),
            (("a",), H + 600, {"hourly": [1], "n": 1}),
            (("a",), 2 * H + 600, {"hourly": [2, 2, 1], "n": 3}),
            (("a",), D + H, {"hourly": None, "daily": 2, "n": 0}),
            (("a",), 2 * D + H, {"daily": 2}),
            (("a",), 4 * D + H, {"daily": None}),
            (("a",), 2.55 * H, {"before": [1]}),
            (("a",), 2.6 * H, {"before": [2]}),
            (("a",), 2.7 * H, {"before": [2, 2]}),
            (("a",), 1.4 * H, {"before": None}),
        ],
    ),
    Case(
        "composite keys; a null part never matches",
        plan_of(Couples),
        {
            "pairs": [
                (1, {"u": "a", "m": 1, "x": 5}),
                (2, {"u": "a", "m": 2, "x": 7}),
                (3, {"u": "a", "m": None, "x": 100}),
                (4, {"u": None, "m": 1, "x": 100}),
                (4, {"u": "a", "m": 1, "x": 6}),
            ],
        },
        [
            (("a", 1), 10, {"seen": [6, 5]}),
            (("a", 2), 10, {"seen": [7]}),
            (("b", 1), 10, {"seen": None}),
            (("a", None), 10, {"seen": None}),
            (("a", 1), 2, {"seen": [5]}),
        ],
    ),
    Case(
        "booleans, floats and texts; negative and large integer keys",
        plan_of(Kinds),
        {
            "typed": [
                (1, {"k": -1, "b": True, "f": 0.5, "s": ""}),
                (1, {"k": -1, "b": False, "f": -0.5, "s": "it's"}),
                (2, {"k": -1, "b": True, "f": 0.5, "s": None}),
                (3, {"k": 2**62, "b": None, "f": None, "s": "é\n"}),
            ]
        },
        [
            (
                (-1,),
                9,
                {"first_b": False, "common_b": True, "number_b": 2, "top_f": [0.5, -0.5], "last_s": ["it's", ""]},
            ),
            ((2**62,), 9, {"first_b": None, "common_b": None, "number_b": 0, "top_f": None, "last_s": ["é\n"]}),
        ],
    ),
    Case(
        "complete hours: texts by their UTF-8 bytes, states as of the last hour",
        plan_of(Hours),
        {
            "events": [
                row(0.5 * H, s="\ue000", x=1),
                row(H - 0.000001, s="\U0001f600", x=1),
                row(H, s="b", x=0),
                row(H, s="a", x=1),
                row(1.5 * H, s=None, x=1),
                row(2 * H - 1, s="b", x=None),
                row(2.2 * H, s="z", x=9),
            ]
        },
        [
            (
                ("a",),
                1.7 * H,
                {"least": "\ue000", "greatest": "\U0001f600", "top": ["\ue000", "\U0001f600"], "share": 1.0},
            ),
            (("a",), 2 * H, {"least": "a", "greatest": "a", "top": ["b", "a"], "share": 0.5}),
            (("a",), 2.9 * H, {"least": "a", "greatest": "a", "top": ["b", "a"], "share": 0.5}),
            (("a",), 3 * H, {"least": "z", "greatest": "z", "top": ["z"], "share": 1.0}),
            (("a",), 4 * H, {"least": None, "greatest": None, "top": None, "share": None}),
            (("a",), 0.9 * H, {"least": None, "top": None}),
        ],
    ),
)
