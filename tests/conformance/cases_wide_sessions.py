"""Cases of wide aggregates over the last closed session. The values are worked out by hand."""

from __future__ import annotations

from tests.conformance.cases import BIG, Case, H, plan_of, row
from tests.conformance.session_groups import Couples, Runs, WideVisits

A = ("a",)


def nothing(**values: object) -> dict[str, object]:
    """The values of `WideVisits` where no session has closed, but for those given."""
    names = ("last_session_30m", "first", "top", "share", "fading", "hourly")
    return dict.fromkeys(names) | {"common": "none", "distinct": 0, "n": 0} | values


WIDE_SESSION_CASES: tuple[Case, ...] = (
    Case(
        # Sessions {0, 600, 1200}, {3000, 3000}, {10000}; of x > 0 {0}, {3000, 3000}, {10000}.
        "the last closed session, with nulls that end none, ties, filters",
        plan_of(WideVisits),
        {
            "events": [
                row(3000, x=9, s="q"),
                row(0, x=1, s="p"),
                row(1200, s="r"),
                row(3000, x=7, s="r"),
                row(600, x=-5, s="r"),
                row(10000, x=BIG),
            ]
        },
        [
            (A, 0, nothing(last_1h=None)),
            (A, 1799.999999, nothing(last_1h=[-5, 1])),
            (A, 1800, nothing(last_1h=[-5, 1], common="p")),
            (A, 2999.999999, nothing(common="p")),
            (
                A,
                3000,
                nothing(
                    last_session_30m=[-5, 1],
                    first=1,
                    top=["r", "p"],
                    distinct=2,
                    common="p",
                    share=2.0,
                    n=3,
                    fading=2.0 ** (-3000 / H) - 5 * 2.0 ** (-2400 / H),
                    last_1h=[-5, 1],
                ),
            ),
            (A, 4799.999999, {"last_session_30m": [-5, 1], "common": "p", "n": 3, "last_1h": [9, 7]}),
            (
                A,
                4800,
                nothing(
                    last_session_30m=[9, 7],
                    first=7,
                    top=["q", "r"],
                    distinct=2,
                    common="q",
                    share=1.0,
                    n=2,
                    fading=16 * 2.0 ** (-1800 / H),
                    hourly=[-5, 1],
                ),
            ),
            (A, 7800, {"last_session_30m": [9, 7], "hourly": [9, 7]}),
            (A, 11799.999999, {"last_session_30m": [9, 7], "distinct": 2, "share": 1.0}),
            (A, 11800, {"last_session_30m": [BIG], "first": BIG, "top": None, "distinct": 0, "share": 0.0, "n": 1}),
            (A, 11800, {"common": "none", "last_1h": [BIG]}),
            (A, 4000 * 24 * H, {"last_session_30m": [BIG], "hourly": [BIG], "fading": 0.0, "n": 1}),
            (("b",), 4800, nothing(last_1h=None)),
        ],
    ),
    Case(
        "a gap of exactly the length ends a session, a microsecond less does not",
        plan_of(Runs),
        {
            "ordered": [
                (1000, {"u": "a", "x": 1, "seq": 1}),
                (1000 + 59.999999, {"u": "a", "x": 2, "seq": 2}),
                (1000 + 119.999999, {"u": "a", "x": 3, "seq": 2}),
                (1000 + 119.999999, {"u": "a", "x": 9, "seq": 1}),
            ]
        },
        [
            (A, 1000 + 119.999998, {"last": None, "first": None}),
            (A, 1000 + 119.999999, {"last": [2, 1], "first": 1}),
            (A, 1000 + 179.999998, {"last": [2, 1], "first": 1}),
            (A, 1000 + 179.999999, {"last": [3, 9], "first": 9}),
        ],
    ),
    Case(
        "each key has its own sessions; a null part never matches",
        plan_of(Couples),
        {
            "pairs": [
                (0, {"u": "a", "m": 1, "x": 5}),
                (500, {"u": "a", "m": 2, "x": 7}),
                (550, {"u": "a", "m": None, "x": 8}),
                (600, {"u": "a", "m": 1, "x": 6}),
            ]
        },
        [
            (("a", 1), 599, {"seen": None}),
            (("a", 1), 600, {"seen": [5]}),
            (("a", 1), 1200, {"seen": [6]}),
            (("a", 2), 1100, {"seen": [7]}),
            (("a", 3), 1100, {"seen": None}),
        ],
    ),
)
