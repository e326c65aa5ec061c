"""Cases that every engine must answer alike: a group, its events, and the values at given times.

The values are worked out by hand. Times are seconds after `T0`; a read is (key, seconds, {feature: value}).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from featuredsl import EventSource, feature, feature_group, ratio, window
from featuredsl.plan import GroupPlan

T0 = 1_767_225_600  # 2026-01-01T00:00:00Z, on every hop

Row = tuple[float, dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """`events` are (seconds, columns) by source; `reads` are (key parts, seconds, expected values)."""

    name: str
    group: GroupPlan
    events: Mapping[str, Sequence[Row]]
    reads: Sequence[tuple[tuple[Any, ...], float, dict[str, Any]]]


def plan_of(group: type) -> GroupPlan:
    """The plan that the decorator put on the class."""
    plan: GroupPlan = group.plan  # type: ignore[attr-defined]
    return plan


events = EventSource("events", event_time="ts", schema={"u": str, "x": int, "f": float, "s": str}, time_unit="us")
other = EventSource("other", event_time="ts", schema={"u": str, "x": int}, time_unit="us")
pairs = EventSource("pairs", event_time="ts", schema={"u": str, "m": int, "x": int}, time_unit="us")
ordered = EventSource("ordered", event_time="ts", schema={"u": str, "x": int}, sequence="seq", time_unit="us")


@feature_group(name="basic", entity="u", retention="3650d")
class Basic:
    """Ten minutes in hops of one minute."""

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def total(e: events) -> int:
        return e.x.sum()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def low(e: events) -> int:
        return e.x.min()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def high(e: events) -> int:
        return e.x.max()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def average(e: events) -> float:
        return e.x.mean()


@feature_group(name="spread", entity="u", retention="3650d")
class Spread:
    """Variance of integers and floats, in hops that split the events."""

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def var_x(e: events) -> float:
        return e.x.var()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def std_x(e: events) -> float:
        return e.x.std()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def var_f(e: events) -> float:
        return e.f.var()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def pop_f(e: events) -> float:
        return e.f.var_pop()


@feature_group(name="texts", entity="u", retention="3650d")
class Texts:
    """The least and greatest string by UTF-8 bytes; a batch tier, since tiles hold numbers."""

    @feature(freshness="1h", window="6h")
    def first_s(e: events) -> str:
        return e.s.min()

    @feature(freshness="1h", window="6h")
    def last_s(e: events) -> str:
        return e.s.max()


@feature_group(name="edges", entity="u", retention="3650d")
class Edges:
    """The default hop of an hour is five minutes."""

    @feature(freshness="realtime", window=["1h", "6h"])
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("1h", offset="1h"))
    def before(e: events) -> int:
        return e.count()


@feature_group(name="nulls", entity="u", retention="3650d")
class Nulls:
    """Nulls are skipped; nothing is 0 for a count and null otherwise."""

    @feature(freshness="realtime", window="1h")
    def rows(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window="1h")
    def values(e: events) -> int:
        return e.x.count()

    @feature(freshness="realtime", window="1h")
    def total(e: events) -> int:
        return e.x.sum()

    @feature(freshness="realtime", window="1h", default=-1.5)
    def mean_or(e: events) -> float:
        return e.f.mean()

    @feature(freshness="realtime", window="1h")
    def positive(e: events) -> int:
        return e.filter((e.x > 0) & ~e.s.is_in("no", "never")).count()


@feature_group(name="latest", entity="u", retention="3650d")
class Latest:
    """Ties of equal times go to the greatest row, field by field; nulls are lowest."""

    @feature(freshness="realtime", ttl="1h")
    def last_x(e: events) -> int:
        return e.latest().x

    @feature(freshness="realtime")
    def last_s(e: events) -> str:
        return e.s.latest()

    @feature(freshness="realtime")
    def last_seq(o: ordered) -> int:
        return o.latest().x


@feature_group(name="both", entity="u", retention="3650d")
class Both:
    """A ratio of two sources."""

    @feature(freshness="realtime", window="1h")
    def share(e: events, o: other) -> float:
        return ratio(o.count(), e.count())


@feature_group(name="pair", entity=("u", "m"), retention="3650d")
class Pair:
    """A composite entity; a null part never matches."""

    @feature(freshness="realtime", window="1h")
    def total(p: pairs) -> int:
        return p.x.sum()


@feature_group(name="tiers", entity="u", retention="3650d")
class Tiers:
    """Batch tiers answer for the last closed period before t minus the delay."""

    @feature(freshness="1h", window="6h")
    def n_hourly(e: events) -> int:
        return e.count()

    @feature(freshness="1d", window="2d")
    def n_daily(e: events) -> int:
        return e.count()

    @feature(freshness="1h")
    def last_hourly(e: events) -> str:
        return e.latest().s


@feature_group(name="binned", entity="u", retention="3650d")
class Binned:
    """Histograms are sums, so they stand in tiles."""

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def bins(e: events) -> list[int]:
        return e.filter(e.s.is_null()).x.histogram([-1, 0, 10])

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def halves(e: events) -> list[int]:
        return e.f.histogram([0.5])


def row(seconds: float, **columns: Any) -> Row:
    """An event of `events` for user a, other columns null."""
    return seconds, {"u": "a", "x": None, "f": None, "s": None} | columns


H, D = 3600.0, 86400.0
BIG = 2**53 + 1
HALF = 2**62

CASES: tuple[Case, ...] = (
    Case(
        "tiles of max, min and mean (hop does not add up values)",
        plan_of(Basic),
        {"events": [row(60, x=10), row(360, x=2), row(660, x=3), row(960, x=4)]},
        [
            (("a",), 1200, {"n": 2, "total": 7, "low": 3, "high": 4, "average": 3.5}),
            (("a",), 1199, {"n": 3, "total": 9, "low": 2, "high": 4, "average": 3.0}),
            (("zz",), 1200, {"n": 0, "total": None, "low": None, "high": None, "average": None}),
        ],
    ),
    Case(
        "variance of tiles: sample, population, one value, none",
        plan_of(Spread),
        {"events": [row(60, x=10), row(360, x=2), row(661, x=3, f=0.5), row(961, x=4)]},
        [
            (("a",), 1200, {"var_x": 0.5, "std_x": 0.5**0.5, "var_f": None, "pop_f": 0.0}),
            (("zz",), 1200, {"var_x": None, "std_x": None, "var_f": None, "pop_f": None}),
        ],
    ),
    Case(
        "variance far from zero does not cancel, across tiles",
        plan_of(Spread),
        {"events": [row(s, x=10**9 + v, f=1e9 + v) for s, v in ((1, 4), (299, 7), (300, 13), (599, 16))]},
        [(("a",), 600, {"var_x": 30.0, "std_x": 30.0**0.5, "var_f": 30.0, "pop_f": 22.5})],
    ),
    Case(
        "least and greatest string: nulls skipped, empty counts, order of UTF-8 bytes",
        plan_of(Texts),
        {"events": [row(1, s="b"), row(2, s="\u00e4"), row(3), row(4, s=""), row(7200, s="zz")]},
        [(("a",), H + 600, {"first_s": "", "last_s": "\u00e4"}), (("b",), H + 600, {"first_s": None, "last_s": None})],
    ),
    Case(
        "a sum that leaves 64 bits is null, and counts again when it is back",
        plan_of(Basic),
        {"events": [row(1, x=HALF), row(301, x=HALF), row(302, x=-HALF)]},
        [
            (("a",), 301, {"n": 1, "total": HALF, "low": HALF, "high": HALF, "average": float(HALF)}),
            (("a",), 302, {"n": 2, "total": None, "low": HALF, "high": HALF, "average": None}),
            (("a",), 303, {"n": 3, "total": HALF, "low": -HALF, "high": HALF, "average": HALF / 3}),
        ],
    ),
    Case(
        "negative values and int64 survive",
        plan_of(Basic),
        {"events": [row(1, x=-5), row(2, x=BIG), row(3, x=-7)]},
        [(("a",), 10, {"n": 3, "total": BIG - 12, "low": -7, "high": BIG})],
    ),
    Case(
        "an event at t is not seen, the tail is aligned down to the hop",
        plan_of(Edges),
        {"events": [row(0), row(299.999), row(300), row(3600), row(3900)]},
        [
            (("a",), 3600, {"n_1h": 3, "n_6h": 3, "before": 0}),
            (("a",), 3600.001, {"n_1h": 4}),
            (("a",), 3899.999, {"n_1h": 4}),
            (("a",), 3900, {"n_1h": 2, "n_6h": 4}),
            (("a",), 7200, {"n_1h": 2, "before": 3}),
            (("a",), 0, {"n_1h": 0, "n_6h": 0}),
        ],
    ),
    Case(
        "silent for longer than the window",
        plan_of(Edges),
        {"events": [row(9.5 * H)]},
        [
            (("a",), 10 * H, {"n_1h": 1, "n_6h": 1}),
            (("a",), 15 * H, {"n_1h": 0, "n_6h": 1}),
            (("a",), 16 * H, {"n_1h": 0, "n_6h": 0}),
        ],
    ),
    Case(
        "nulls are skipped",
        plan_of(Nulls),
        {"events": [row(1, x=3, s="yes"), row(2), row(3, x=-2, s="yes"), row(4, x=9, s="no"), row(5, x=1)]},
        [
            (("a",), 60, {"rows": 5, "values": 4, "total": 11, "mean_or": -1.5, "positive": 1}),
            (("b",), 60, {"rows": 0, "values": 0, "total": None, "mean_or": -1.5, "positive": 0}),
        ],
    ),
    Case(
        "latest: ties, nulls, expiry",
        plan_of(Latest),
        {
            "events": [
                row(10, x=1, s="ä"),
                row(10, x=2, s="a"),
                row(10, x=2, s="b"),
                row(20, x=None, s=None),
                row(20, x=None, s=""),
            ],
            "ordered": [
                (5, {"u": "a", "x": 9, "seq": 1}),
                (5, {"u": "a", "x": 1, "seq": 2}),
                (5, {"u": "a", "x": 5, "seq": None}),
            ],
        },
        [
            (("a",), 10, {"last_x": None, "last_s": None, "last_seq": 1}),
            (("a",), 10.000001, {"last_x": 2, "last_s": "ä", "last_seq": 1}),
            (("a",), 21, {"last_x": None, "last_s": ""}),
            (("a",), 5, {"last_seq": None}),
        ],
    ),
    Case(
        "latest: ttl bounds are inclusive at t - ttl",
        plan_of(Latest),
        {"events": [row(100, x=7, s="q")], "ordered": []},
        [
            (("a",), 100 + H, {"last_x": 7, "last_s": "q"}),
            (("a",), 100.000001 + H, {"last_x": None, "last_s": "q"}),
        ],
    ),
    Case(
        "ratio of two sources; nothing to divide by is null",
        plan_of(Both),
        {
            "events": [row(1), row(2), row(3), row(4)],
            "other": [(2, {"u": "a", "x": 1}), (3, {"u": "b", "x": 1})],
        },
        [(("a",), 10, {"share": 0.25}), (("b",), 10, {"share": None}), (("c",), 10, {"share": None})],
    ),
    Case(
        "composite keys; a null part never matches",
        plan_of(Pair),
        {
            "pairs": [
                (1, {"u": "a", "m": 1, "x": 5}),
                (2, {"u": "a", "m": 2, "x": 7}),
                (3, {"u": "a", "m": None, "x": 100}),
                (4, {"u": None, "m": 1, "x": 100}),
            ],
        },
        [(("a", 1), 10, {"total": 5}), (("a", 2), 10, {"total": 7}), (("b", 1), 10, {"total": None})],
    ),
    Case(
        "histograms: edges belong to the bin above, filters and nulls",
        plan_of(Binned),
        {
            "events": [
                row(60, x=-2, f=0.5),
                row(360, x=-1, f=0.4999),
                row(370, x=0),
                row(380, x=9, s="left out"),
                row(661, x=BIG, f=7.0),
                row(662, x=10),
            ]
        },
        [
            (("a",), 700, {"bins": [1, 1, 1, 2], "halves": [1, 2]}),
            (("a",), 1199, {"bins": [0, 1, 1, 2], "halves": [1, 1]}),
            (("a",), 1300, {"bins": [0, 0, 0, 2], "halves": [0, 1]}),
            (("a",), 361, {"bins": [1, 1, 0, 0], "halves": [1, 1]}),
        ],
    ),
    Case(
        "batch tiers are asked at the last closed period",
        plan_of(Tiers),
        {"events": [row(0.5 * H, s="p"), row(1.5 * H, s="q"), row(25 * H, s="r")]},
        [
            (("a",), H, {"n_hourly": 0, "n_daily": 0, "last_hourly": None}),
            (("a",), H + 600, {"n_hourly": 1, "n_daily": 0, "last_hourly": "p"}),
            (("a",), 2 * H + 600, {"n_hourly": 2, "last_hourly": "q"}),
            (("a",), D + H, {"n_hourly": 0, "n_daily": 2, "last_hourly": "q"}),
            (("a",), 2 * D + H, {"n_hourly": 0, "n_daily": 3, "last_hourly": "r"}),
        ],
    ),
)


def us(seconds: float) -> int:
    """Microseconds since the epoch of `seconds` after T0."""
    return T0 * 1_000_000 + round(seconds * 1_000_000)
