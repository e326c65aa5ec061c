"""Kinds of failure that users of other feature stores reported, as cases that every engine must answer alike.

The values are worked out by hand under our rules: strictly before t, the tail aligned down to the hop. A name ends
with where the kind was reported.
"""

from __future__ import annotations

import math

from featuredsl import feature, feature_group, ratio
from tests.conformance.cases import BIG, Case, D, H, events, ordered, other, pairs, plan_of, row

A = ("a",)
US = 1e-6


@feature_group(name="newest", entity="u", retention="3650d")
class Newest:
    """The newest row, with a sequence that says which run wrote it."""

    @feature(freshness="realtime")
    def value(e: ordered) -> int:
        return e.latest().x

    @feature(freshness="realtime")
    def some(e: ordered) -> int:
        return e.x.latest()


@feature_group(name="parts", entity="u", retention="3650d")
class Parts:
    """Features of one entity that different records fill."""

    @feature(freshness="realtime")
    def a(e: events) -> int:
        return e.latest().x

    @feature(freshness="realtime")
    def b(e: other) -> int:
        return e.latest().x

    @feature(freshness="realtime")
    def some_a(e: events) -> int:
        return e.x.latest()

    @feature(freshness="realtime")
    def label(e: events) -> str:
        return e.filter(e.s.is_not_null()).latest().s


@feature_group(name="ages", entity="u", retention="3650d")
class Ages:
    """A time to live for each feature."""

    @feature(freshness="realtime", ttl="1s")
    def second(e: events) -> int:
        return e.latest().x

    @feature(freshness="realtime", ttl="1h")
    def hour(e: events) -> int:
        return e.latest().x

    @feature(freshness="realtime", ttl="7d")
    def week(e: events) -> int:
        return e.latest().x

    @feature(freshness="realtime", ttl="7d", default=-1)
    def week_or(e: events) -> int:
        return e.latest().x

    @feature(freshness="realtime")
    def ever(e: events) -> int:
        return e.latest().x


@feature_group(name="sizes_of_windows", entity="u", retention="3650d")
class Sizes:
    """Windows of every hop."""

    @feature(freshness="realtime", window=["12s", "1m", "6m", "12m", "1h", "6h", "12h", "1d", "7d", "30d"])
    def n(e: events) -> int:
        return e.count()


HOPS = {
    "12s": (12.0, 1.0),
    "1m": (60.0, 5.0),
    "6m": (360.0, 30.0),
    "12m": (720.0, 60.0),
    "1h": (H, 300.0),
    "6h": (6 * H, 300.0),
    "12h": (12 * H, H),
    "1d": (D, H),
    "7d": (7 * D, H),
    "30d": (30 * D, D),
}
"""Window and hop in seconds: the largest of 1 s, 5 s, 30 s, 1 m, 5 m, 1 h, 1 d that divides it twelve times or more."""


@feature_group(name="week_by_tier", entity="u", retention="3650d")
class WeekByTier:
    """Seven days, asked at the tiers' times."""

    @feature(freshness="1h", window="7d")
    def hourly(e: events) -> int:
        return e.count()

    @feature(freshness="1d", window="7d")
    def daily(e: events) -> int:
        return e.count()


@feature_group(name="week_of_tiles", entity="u", retention="3650d")
class WeekOfTiles:
    """Seven days by the stream."""

    @feature(freshness="realtime", window="7d")
    def n(e: events) -> int:
        return e.count()


@feature_group(name="measures", entity="u", retention="3650d")
class Measures:
    """Aggregates that engines spell alike and compute apart."""

    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window="1h")
    def marked(e: events) -> int:
        return e.filter(e.s == "x").count()

    @feature(freshness="realtime", window="1h")
    def texts(e: events) -> int:
        return e.s.count()

    @feature(freshness="realtime", window="1h")
    def empty(e: events) -> int:
        return e.filter(e.s == "").count()

    @feature(freshness="realtime", window="1h")
    def missing(e: events) -> int:
        return e.filter(e.s.is_null()).count()

    @feature(freshness="realtime", window="1h")
    def total(e: events) -> int:
        return e.x.sum()

    @feature(freshness="realtime", window="1h")
    def average(e: events) -> float:
        return e.x.mean()

    @feature(freshness="realtime", window="1h")
    def std_x(e: events) -> float:
        return e.x.std()

    @feature(freshness="realtime", window="1h")
    def low(e: events) -> float:
        return e.f.finite().min()

    @feature(freshness="realtime", window="1h")
    def high(e: events) -> float:
        return e.f.finite().max()

    @feature(freshness="realtime", window="1h")
    def whole(e: events) -> int:
        return e.filter(e.f < 10.0).f.floor().sum()

    @feature(freshness="realtime", window="1h")
    def share(e: events) -> float:
        return ratio(e.filter(e.s == "x").count(), e.s.count())


@feature_group(name="couples_of_keys", entity=("u", "m"), retention="3650d")
class Couples:
    """Two parts of a key."""

    @feature(freshness="realtime", window="1h")
    def n(p: pairs) -> int:
        return p.count()

    @feature(freshness="realtime")
    def last(p: pairs) -> int:
        return p.latest().x


def run(seconds: float, x: int | None, seq: int | None = None) -> tuple[float, dict[str, object]]:
    """A row of `ordered` for user a."""
    return seconds, {"u": "a", "x": x, "seq": seq}


def pair(seconds: float, u: str | None, m: int | None, x: int = 1) -> tuple[float, dict[str, object]]:
    """A row of `pairs`."""
    return seconds, {"u": u, "m": m, "x": x}


def sizes(after: float) -> dict[str, int]:
    """The counts of `Sizes` so long after its only event, which lies on all hops."""
    return {f"n_{name}": int(0 < after < size + hop) for name, (size, hop) in HOPS.items()}


def measures(**values: object) -> dict[str, object]:
    """The values of `Measures` for no event, but for those given."""
    nothing: dict[str, object] = dict.fromkeys(("n", "marked", "texts", "empty", "missing"), 0)
    return nothing | dict.fromkeys(("total", "average", "std_x", "low", "high", "whole", "share")) | values


WINDOW_EDGES = [at + step for size, hop in HOPS.values() for at in (size, size + hop) for step in (-US, 0.0, US)]

REPORTED_CASES: tuple[Case, ...] = (
    Case(
        "the newest of a batch in any order wins (feast#5163)",
        plan_of(Newest),
        {"ordered": [run(10, 30), run(5, 20), run(0, 10)]},
        [
            (A, 11, {"value": 30}),
            (A, 10, {"value": 20}),
            (A, 10 + US, {"value": 30}),
            (A, US, {"value": 10}),
            (A, 0, {"value": None}),
        ],
    ),
    Case(
        "a write that comes last does not win over a newer event (feast, concurrent writers)",
        plan_of(Newest),
        {"ordered": [run(5, 1), run(7, 2), run(6, 3)]},
        [(A, 8, {"value": 2}), (A, 7, {"value": 3}), (A, 6, {"value": 1})],
    ),
    Case(
        "a correction of the same time by a later run counts, up or down; the earlier run again does not (feast#2795)",
        plan_of(Newest),
        {"ordered": [run(100, 5, 1), run(100, 6, 2), run(100, 5, 1), run(200, 9, 1), run(200, 3, 2)]},
        [(A, 101, {"value": 6}), (A, 201, {"value": 3, "some": 3}), (A, 200, {"value": 6})],
    ),
    Case(
        "a correction to null counts; a row without a sequence is older than one with (feast#2795)",
        plan_of(Newest),
        {"ordered": [run(100, 5, 1), run(100, None, 2), run(100, 7, None)]},
        [(A, 101, {"value": None, "some": 5})],
    ),
    Case(
        "of rows alike in time the greatest value wins, null lowest (last value's ties)",
        plan_of(Newest),
        {"ordered": [run(5, -3), run(5, None), run(5, BIG), run(5, BIG - 1)]},
        [(A, 6, {"value": BIG, "some": BIG}), (A, 5, {"value": None, "some": None})],
    ),
    Case(
        "of texts alike in time the greatest by bytes wins (last value's ties)",
        plan_of(Parts),
        {"events": [row(5, s="b"), row(5, s="a"), row(5, s="B"), row(5, s="\u00e4"), row(5, s="")], "other": []},
        [(A, 6, {"label": "\u00e4"})],
    ),
    Case(
        "a partial record leaves other features; a null is a value (feast#3313, #5369, #1192)",
        plan_of(Parts),
        {
            "events": [row(1, x=1, s="p"), row(2, x=5), row(3)],
            "other": [(1, {"u": "a", "x": 2})],
        },
        [
            (A, 2, {"a": 1, "b": 2, "some_a": 1, "label": "p"}),
            (A, 3, {"a": 5, "b": 2, "some_a": 5, "label": "p"}),
            (A, 4, {"a": None, "b": 2, "some_a": 5, "label": "p"}),
        ],
    ),
    Case(
        "an old value is null, each feature by its own time to live (feast#6821, #3435, #4133, #3596, OpenMLDB#2256)",
        plan_of(Ages),
        {"events": [row(9 * H, x=4)]},
        [
            (A, 9 * H, dict.fromkeys(("second", "hour", "week", "ever")) | {"week_or": -1}),
            (A, 9 * H + US, {"second": 4, "hour": 4, "week": 4, "week_or": 4, "ever": 4}),
            (A, 9 * H + 1, {"second": 4}),
            (A, 9 * H + 1 + US, {"second": None, "hour": 4}),
            (A, 9 * H + 17 * 60, {"second": None, "hour": 4, "week": 4}),
            (A, 10 * H - US, {"hour": 4}),
            (A, 10 * H, {"hour": 4}),
            (A, 10 * H + US, {"hour": None, "week": 4}),
            (A, 7 * D + 9 * H, {"week": 4, "week_or": 4}),
            (A, 7 * D + 9 * H + US, {"week": None, "week_or": -1, "ever": 4}),
            (A, 8 * D, {"week": None, "ever": 4}),
        ],
    ),
    Case(
        "an old value is not revived by a newer one of somebody else (feast#3596)",
        plan_of(Ages),
        {"events": [row(0, x=4), (D, {"u": "b", "x": 1, "f": None, "s": None})]},
        [(A, D + 1, {"hour": None, "week": 4}), (("b",), D + 1, {"second": 1, "hour": 1})],
    ),
    Case(
        "both ends of windows of every hop, a microsecond before, at and after",
        plan_of(Sizes),
        {"events": [row(0)]},
        [(A, after, sizes(after)) for after in (-US, 0.0, US, *WINDOW_EDGES)],
    ),
    Case(
        "a microsecond before the aligned tail is out, in windows of every hop",
        plan_of(Sizes),
        {"events": [row(-US), row(30 * D - US)]},
        [
            (A, size + step, {f"n_{name}": int(name == "30d" and step > -hop)})
            for name, (size, hop) in HOPS.items()
            if name != "30d"
            for step in (0.0, hop - US)
        ]
        + [(A, 30 * D - US, {"n_30d": 1}), (A, 30 * D, {"n_30d": 1, "n_12s": 1}), (A, 31 * D - US, {"n_30d": 1})],
    ),
    Case(
        "a week of daily events, the batch behind by its delay (chronon#870)",
        plan_of(WeekByTier),
        {"events": [row((day - 1) * D + 6 * H) for day in range(1, 11)]},
        [
            # q = 9 d 11 h and 9 d: [2 d 11 h, 9 d 11 h) holds days 4 to 10, [2 d, 9 d) days 3 to 9.
            (A, 9 * D + 12 * H, {"hourly": 7, "daily": 7}),
            # q = 9 d 5 h and 9 d: [2 d 5 h, 9 d 5 h) holds days 3 to 9.
            (A, 9 * D + 6 * H, {"hourly": 7, "daily": 7}),
            # q = 2 d 23 h and 2 d.
            (A, 3 * D + 599, {"hourly": 3, "daily": 2}),
            # q = 16 d 6 h and 16 d: the event of 9 d 6 h is a week before; then q = 16 d 7 h.
            (A, 16 * D + 7 * H, {"hourly": 1, "daily": 1}),
            (A, 16 * D + 7 * H + 600, {"hourly": 0, "daily": 1}),
        ],
    ),
    Case(
        "a week of daily events, by the stream (chronon#870)",
        plan_of(WeekOfTiles),
        {"events": [row((day - 1) * D + 6 * H) for day in range(1, 11)]},
        [(A, 9 * D + 12 * H, {"n": 7}), (A, 9 * D + 6 * H, {"n": 7}), (A, 9 * D + 6 * H + US, {"n": 8})],
    ),
    Case(
        "counts, sums and means beyond 32 bits; a mean of integers is no integer (zipline#1292)",
        plan_of(Measures),
        {"events": [row(1, x=2**31 - 1), row(2, x=2**31 - 1), row(3, x=2**31 - 1), row(300, x=2**31)]},
        [
            (A, 3, measures(n=2, missing=2, total=2**32 - 2, average=2.0**31 - 1, std_x=0.0)),
            (A, 400, measures(n=4, missing=4, total=2**33 - 3, average=(2**33 - 3) / 4, std_x=0.5)),
        ],
    ),
    Case(
        "a filter that is null for every row counts 0; an empty text is not null (OpenMLDB#1650)",
        plan_of(Measures),
        {"events": [row(1, s=""), row(2), row(3, s="a")]},
        [
            (A, 3, measures(n=2, texts=1, empty=1, missing=1, share=0.0)),
            (A, 4, measures(n=3, texts=2, empty=1, missing=1, share=0.0)),
            (("b",), 4, measures()),
        ],
    ),
    Case(
        "a filter that is null for every row there is",
        plan_of(Measures),
        {"events": [row(1, x=6), row(2, x=7)]},
        [(A, 3, measures(n=2, missing=2, total=13, average=6.5, std_x=0.5**0.5))],
    ),
    Case(
        "what a filter leaves out cannot break the argument; finite() skips what is not",
        plan_of(Measures),
        {"events": [row(1, f=1e300), row(2, f=2.75), row(3, f=-0.5), row(4, f=math.nan), row(5, f=-math.inf)]},
        [(A, 9, {"n": 5, "low": -0.5, "high": 1e300, "whole": 1})],
    ),
    Case(
        "one key part may be empty or like another's text, none may be null (chronon, composite keys)",
        plan_of(Couples),
        {
            "pairs": [
                pair(1, "", 1, 1),
                pair(2, "a", 1, 2),
                pair(3, "a|1", 1, 3),
                pair(4, "a", 11, 4),
                pair(5, None, 1, 5),
                pair(6, "a", None, 6),
                pair(7, "A", 1, 7),
                pair(8, "a ", 1, 8),
            ]
        },
        [
            (("", 1), 9, {"n": 1, "last": 1}),
            (("a", 1), 9, {"n": 1, "last": 2}),
            (("a|1", 1), 9, {"n": 1, "last": 3}),
            (("a", 11), 9, {"n": 1, "last": 4}),
            (("A", 1), 9, {"n": 1, "last": 7}),
            (("a ", 1), 9, {"n": 1, "last": 8}),
            (("null", 1), 9, {"n": 0, "last": None}),
            (("a", 0), 9, {"n": 0, "last": None}),
        ],
    ),
    Case(
        "several rows of one user and time are several rows (feast#5590)",
        plan_of(Couples),
        {"pairs": [pair(1, "a", 1), pair(1, "a", 2), pair(1, "a", 2)]},
        [(("a", 1), 2, {"n": 1}), (("a", 2), 2, {"n": 2})],
    ),
)
