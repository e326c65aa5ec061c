"""Cases of every kind of window: edges, silence, deferral, times before 1970, several at once.

The values are worked out by hand. Those that name a thread are failures of other systems.
"""

from __future__ import annotations

from dataclasses import replace

from featuredsl import feature, feature_group, lifetime, session, tumbling, window
from featuredsl.plan import WindowFeature
from featuredsl.window_kinds import Lifetime
from tests.conformance.cases import BIG, T0, Case, D, H, events, pairs, plan_of, row
from tests.conformance.session_groups import Visits


def streamed_part(case: Case) -> Case:
    """The case without the features that cannot be kept online."""
    kept = tuple(
        f for f in case.group.features if not (isinstance(f, WindowFeature) and isinstance(f.window, Lifetime))
    )
    names = {feature.name for feature in kept}
    reads = [(key, at, {name: v for name, v in values.items() if name in names}) for key, at, values in case.reads]
    return replace(case, group=replace(case.group, features=kept), reads=reads)


@feature_group(name="kinds", entity="u")
class Kinds:
    """One feature, a window of each kind."""

    @feature(
        freshness="realtime",
        window=["1h", tumbling("1h"), session("30m"), lifetime, window("1d", offset="1d")],
    )
    def n(e: events) -> int:
        return e.count()


@feature_group(name="complete", entity="u")
class Complete:
    """Every aggregator over the last complete hour."""

    @feature(freshness="realtime", window=tumbling("1h"))
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window=tumbling("1h"))
    def total(e: events) -> int:
        return e.x.sum()

    @feature(freshness="realtime", window=tumbling("1h"))
    def low(e: events) -> int:
        return e.x.min()

    @feature(freshness="realtime", window=tumbling("1h"))
    def high(e: events) -> int:
        return e.x.max()

    @feature(freshness="realtime", window=tumbling("1h"), default=-1.0)
    def average(e: events) -> float:
        return e.x.mean()

    @feature(freshness="realtime", window=tumbling("1h"))
    def var_x(e: events) -> float:
        return e.x.var()

    @feature(freshness="realtime", window=tumbling("1h"))
    def positive(e: events) -> int:
        return e.filter(e.x > 0).count()


@feature_group(name="sizes", entity="u")
class Sizes:
    """Tumbling windows beside a sliding one; five minutes are the hop of the hour, so they share its tiles."""

    @feature(freshness="realtime", window=["1h", tumbling("1h"), tumbling("5m"), tumbling("10s")])
    def n(e: events) -> int:
        return e.count()


@feature_group(name="whole", entity="u")
class Whole:
    """Every event before t, beside a lookup and a window with two sides."""

    @feature(freshness="realtime", window=lifetime)
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window="lifetime")
    def total(e: events) -> int:
        return e.x.sum()

    @feature(freshness="realtime", window=lifetime)
    def high(e: events) -> int:
        return e.filter(e.x < 0).x.max()

    @feature(freshness="realtime", window="1h")
    def recent(e: events) -> int:
        return e.count()

    @feature(freshness="realtime")
    def last(e: events) -> int:
        return e.latest().x


@feature_group(name="deferred", entity="u")
class Deferred:
    """Every tier with every kind."""

    @feature(freshness="5m", window=["1h", tumbling("5m"), session("10m"), lifetime])
    def minutely(e: events) -> int:
        return e.count()

    @feature(freshness="1h", window=["6h", tumbling("2h"), session("30m"), lifetime])
    def hourly(e: events) -> int:
        return e.count()

    @feature(freshness="1d", window=["2d", tumbling("1d"), session("30m"), lifetime])
    def daily(e: events) -> int:
        return e.count()


@feature_group(name="offsets", entity="u")
class Offsets:
    """Both ends lie on the hop; `block` is one block of an hour."""

    @feature(freshness="realtime", window=window("1d", offset="1d"))
    def yesterday(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("1h", offset="30m"))
    def half(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("1h", hop="1h", offset="1h"))
    def block(e: events) -> int:
        return e.count()


@feature_group(name="pair_kinds", entity=("u", "m"))
class PairKinds:
    """A composite entity: the sessions of a pair are its own."""

    @feature(freshness="realtime", window=[tumbling("1h"), session("30m"), lifetime])
    def total(p: pairs) -> int:
        return p.x.sum()


@feature_group(name="averages", entity="u")
class Averages:
    """What is wrong when tiles of maxima or means are added up."""

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

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def std_x(e: events) -> float:
        return e.x.std()


@feature_group(name="week", entity="u")
class Week:
    """Seven days, by the stream."""

    @feature(freshness="realtime", window="7d")
    def n(e: events) -> int:
        return e.count()


@feature_group(name="week_daily", entity="u")
class WeekDaily:
    """Seven days, by the daily batch."""

    @feature(freshness="1d", window="7d")
    def n(e: events) -> int:
        return e.count()


@feature_group(name="hours", entity="u")
class Hours:
    """An hour, half a day, a day; the day before."""

    @feature(freshness="realtime", window=["1h", "6h", "12h", "1d"])
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("1d", offset="1d"))
    def before(e: events) -> int:
        return e.count()


@feature_group(name="by_m", entity="m")
class ByM:
    """The second key of `pairs`."""

    @feature(freshness="realtime", window="6h")
    def n(p: pairs) -> int:
        return p.count()


@feature_group(name="by_u", entity="u")
class ByU:
    """The first key of `pairs`."""

    @feature(freshness="realtime", window=["6h", "12h"])
    def n(p: pairs) -> int:
        return p.count()


A = ("a",)
OLD = -T0 - 2 * H  # 1969-12-31T22:00:00Z


def kinds(hour: int, tumbled: int, visit: int, ever: int, day_before: int) -> dict[str, int]:
    """The values of `Kinds` in the order of its windows."""
    return {
        "n_1h": hour,
        "n_tumbling_1h": tumbled,
        "n_session_30m": visit,
        "n_lifetime": ever,
        "n_1d_offset_1d": day_before,
    }


WINDOW_CASES: tuple[Case, ...] = (
    Case(
        # Sessions {-30h}, {-10, 0}, {1800, 3599.999, 3600}, {7200} close at -29.5h, 1800, 5400, 9000.
        "each kind has its own edges",
        plan_of(Kinds),
        {"events": [row(s) for s in (3600, -30 * H, 7200, 0, 3599.999, -10, 1800)]},
        [
            (A, -30 * H, kinds(0, 0, 0, 0, 0)),
            (A, -29.5 * H - 0.001, kinds(1, 0, 0, 1, 0)),
            (A, -29.5 * H, kinds(1, 0, 1, 1, 0)),
            (A, -29 * H, kinds(1, 1, 1, 1, 0)),
            (A, 0, kinds(1, 1, 1, 2, 1)),
            (A, 1799.999, kinds(2, 1, 1, 3, 1)),
            (A, 1800, kinds(2, 1, 2, 3, 1)),
            (A, 3599.999, kinds(3, 1, 2, 4, 1)),
            (A, 3600, kinds(3, 3, 2, 5, 1)),
            (A, 3600.001, kinds(4, 3, 2, 6, 1)),
            (A, 5399.999, kinds(3, 3, 2, 6, 1)),
            (A, 5400, kinds(3, 3, 3, 6, 1)),
            (A, 7200, kinds(1, 1, 3, 6, 1)),
            (A, 8999.999, kinds(1, 1, 3, 7, 1)),
            (A, 9000, kinds(1, 1, 1, 7, 1)),
            (A, 3 * H, kinds(1, 1, 1, 7, 1)),
            (A, D, kinds(0, 0, 1, 7, 1)),
            (A, 2 * D, kinds(0, 0, 1, 7, 5)),
            (A, 1000 * D, kinds(0, 0, 1, 7, 0)),
            (("zz",), 7200, kinds(0, 0, 0, 0, 0)),
        ],
    ),
    Case(
        "each kind before 1970 and across it",
        plan_of(Kinds),
        {"events": [row(OLD + s) for s in (10, 3599, 3600, 7199.999, 7200)]},
        [
            (A, OLD + 10, kinds(0, 0, 0, 0, 0)),
            (A, OLD + 1809.999, kinds(1, 0, 0, 1, 0)),
            (A, OLD + 1810, kinds(1, 0, 1, 1, 0)),
            (A, OLD + 3600, kinds(2, 2, 1, 2, 0)),
            (A, OLD + 5400, kinds(2, 2, 2, 3, 0)),
            (A, OLD + 7200, kinds(2, 2, 2, 4, 0)),
            (A, OLD + 7200.001, kinds(3, 2, 2, 5, 0)),
            (A, OLD + 9000, kinds(2, 2, 2, 5, 0)),
            (A, OLD + 3 * H, kinds(1, 1, 2, 5, 0)),
            (A, OLD + 25 * H, kinds(0, 0, 2, 5, 2)),
        ],
    ),
    Case(
        "the last complete hour: every aggregator, nulls, nothing",
        plan_of(Complete),
        {"events": [row(10, x=4), row(20, x=10), row(30), row(3599.999, x=-2), row(3600, x=100)]},
        [
            (A, 3599.999, {"n": 0, "total": None, "low": None, "high": None, "average": -1.0, "var_x": None}),
            (A, 3600, {"n": 4, "total": 12, "low": -2, "high": 10, "average": 4.0, "var_x": 36.0, "positive": 2}),
            (A, 7199.999, {"n": 4, "total": 12, "low": -2, "high": 10, "average": 4.0, "var_x": 36.0, "positive": 2}),
            (A, 7200, {"n": 1, "total": 100, "low": 100, "high": 100, "average": 100.0, "var_x": None, "positive": 1}),
            (A, 3 * H, {"n": 0, "total": None, "average": -1.0, "positive": 0}),
        ],
    ),
    Case(
        "tumbling windows of several sizes beside a sliding one",
        plan_of(Sizes),
        {"events": [row(s) for s in (0, 9.999, 10, 299, 300, 3599, 3600)]},
        [
            (A, 10, {"n_1h": 2, "n_tumbling_1h": 0, "n_tumbling_5m": 0, "n_tumbling_10s": 2}),
            (A, 20, {"n_1h": 3, "n_tumbling_1h": 0, "n_tumbling_5m": 0, "n_tumbling_10s": 1}),
            (A, 300, {"n_1h": 4, "n_tumbling_1h": 0, "n_tumbling_5m": 4, "n_tumbling_10s": 1}),
            (A, 3600, {"n_1h": 6, "n_tumbling_1h": 6, "n_tumbling_5m": 1, "n_tumbling_10s": 1}),
            (A, 3601, {"n_1h": 7, "n_tumbling_1h": 6, "n_tumbling_5m": 1, "n_tumbling_10s": 1}),
            (A, 3610, {"n_1h": 7, "n_tumbling_1h": 6, "n_tumbling_5m": 1, "n_tumbling_10s": 1}),
            (A, 3620, {"n_1h": 7, "n_tumbling_1h": 6, "n_tumbling_5m": 1, "n_tumbling_10s": 0}),
            (A, 7200, {"n_1h": 1, "n_tumbling_1h": 1, "n_tumbling_5m": 0, "n_tumbling_10s": 0}),
        ],
    ),
    Case(
        # Sessions {0, 600, 1200}, {3000, 3000}, {10000}; of clicks {600}, {3000}.
        "the last closed session: every aggregator, filters, ties at its start, nothing",
        plan_of(Visits),
        {
            "events": [
                row(3000, x=9, s="click"),
                row(0, x=1, s="view"),
                row(1200, s="view"),
                row(3000, x=7, s="view"),
                row(600, x=5, s="click"),
                row(10000, x=2, s="view"),
            ]
        },
        [
            (A, 2399.999, {"n": 0, "total": -1, "low": None, "clicks": 0, "rate": None, "odds": None, "last_s": None}),
            (A, 2999.999, {"n": 0, "total": -1, "average": None, "var_x": None, "clicks": 1, "rate": None}),
            (A, 3000, {"n": 3, "total": 6, "low": 1, "average": 3.0, "var_x": 8.0, "last_s": "view", "odds": 0.5}),
            (A, 3000, {"clicks": 1, "rate": 1 / 3}),
            (A, 4799.999, {"n": 3, "total": 6}),
            (A, 4800, {"n": 2, "total": 16, "low": 7, "average": 8.0, "var_x": 2.0, "clicks": 1, "rate": 0.5}),
            (A, 11799.999, {"n": 2, "total": 16}),
            (A, 11800, {"n": 1, "total": 2, "low": 2, "average": 2.0, "var_x": None, "clicks": 1, "rate": 0.0}),
            (A, 4000 * D, {"n": 1, "total": 2, "clicks": 1, "rate": 0.0, "odds": 0.0}),
            (("b",), 4800, {"n": 0, "total": -1, "clicks": 0, "rate": None}),
        ],
    ),
    Case(
        "lifetime: very old events, int64, filters, beside other kinds",
        plan_of(Whole),
        {"events": [row(-60 * 366 * D, x=BIG), row(0, x=-7), row(5, x=-9), row(D)]},
        [
            (A, -60 * 366 * D, {"n": 0, "total": None, "high": None, "recent": 0, "last": None}),
            (A, 0, {"n": 1, "total": BIG, "high": None, "recent": 0, "last": BIG}),
            (A, 5.000001, {"n": 3, "total": BIG - 16, "high": -7, "recent": 2, "last": -9}),
            (A, 50 * 366 * D, {"n": 4, "total": BIG - 16, "high": -7, "recent": 0, "last": None}),
            (("b",), D, {"n": 0, "total": None, "high": None, "recent": 0}),
        ],
    ),
    Case(
        "composite keys have their own sessions and complete hours; a null part never matches",
        plan_of(PairKinds),
        {
            "pairs": [
                (0, {"u": "a", "m": 1, "x": 5}),
                (1000, {"u": "a", "m": 2, "x": 7}),
                (2000, {"u": "a", "m": 1, "x": 11}),
                (2000, {"u": "a", "m": None, "x": 100}),
                (2000, {"u": None, "m": 1, "x": 100}),
            ]
        },
        [
            (("a", 1), 1800, {"total_tumbling_1h": None, "total_session_30m": 5, "total_lifetime": 5}),
            (("a", 1), 3600, {"total_tumbling_1h": 16, "total_session_30m": 5, "total_lifetime": 16}),
            (("a", 1), 3800, {"total_tumbling_1h": 16, "total_session_30m": 11, "total_lifetime": 16}),
            (("a", 2), 3800, {"total_tumbling_1h": 7, "total_session_30m": 7, "total_lifetime": 7}),
            (("b", 1), 3800, {"total_tumbling_1h": None, "total_session_30m": None, "total_lifetime": None}),
        ],
    ),
    Case(
        # 5m: q = floor(t - 30s, 1m); 1h: q = floor(t - 10m, 1h); 1d: q = floor(t - 1h, 1d).
        "deferred tiers ask every kind at the last closed period",
        plan_of(Deferred),
        {"events": [row(s) for s in (0, 59.9, 60, 600, 3599, 3600, 25 * H)]},
        [
            (A, 89.999, {"minutely_1h": 0, "minutely_tumbling_5m": 0, "minutely_session_10m": 0}),
            (A, 90, {"minutely_1h": 2, "minutely_tumbling_5m": 0, "minutely_session_10m": 0, "minutely_lifetime": 2}),
            (A, 149.999, {"minutely_1h": 2, "minutely_lifetime": 2}),
            (A, 150, {"minutely_1h": 3, "minutely_lifetime": 3}),
            (A, 330, {"minutely_1h": 3, "minutely_tumbling_5m": 3, "minutely_session_10m": 0, "minutely_lifetime": 3}),
            (A, 1229.999, {"minutely_session_10m": 0, "minutely_lifetime": 4}),
            (A, 1230, {"minutely_1h": 4, "minutely_tumbling_5m": 0, "minutely_session_10m": 4}),
            (A, 4199.999, {"hourly_6h": 0, "hourly_tumbling_2h": 0, "hourly_session_30m": 0, "hourly_lifetime": 0}),
            (A, 4200, {"hourly_6h": 5, "hourly_tumbling_2h": 0, "hourly_session_30m": 4, "hourly_lifetime": 5}),
            (A, 7800, {"hourly_6h": 6, "hourly_tumbling_2h": 6, "hourly_session_30m": 2, "hourly_lifetime": 6}),
            (A, D + H - 0.001, {"daily_2d": 0, "daily_tumbling_1d": 0, "daily_session_30m": 0, "daily_lifetime": 0}),
            (A, D + H, {"daily_2d": 6, "daily_tumbling_1d": 6, "daily_session_30m": 2, "daily_lifetime": 6}),
            (A, 2 * D + H, {"daily_2d": 7, "daily_tumbling_1d": 1, "daily_session_30m": 1, "daily_lifetime": 7}),
        ],
    ),
    Case(
        "offsets: both ends move by whole hops",
        plan_of(Offsets),
        {"events": [row(12 * H)]},
        [
            (A, 12.5 * H + 299, {"half": 0}),
            (A, 12.5 * H + 300, {"half": 1}),
            (A, 13.5 * H + 299, {"half": 1, "block": 0}),
            (A, 13.5 * H + 300, {"half": 0, "block": 0}),
            (A, 14 * H, {"block": 1}),
            (A, 15 * H - 0.001, {"block": 1}),
            (A, 15 * H, {"block": 0}),
            (A, 37 * H - 0.001, {"yesterday": 0}),
            (A, 37 * H, {"yesterday": 1}),
            (A, 61 * H - 0.001, {"yesterday": 1}),
            (A, 61 * H, {"yesterday": 0}),
        ],
    ),
    Case(
        "the current row is not in a window of the past (OpenMLDB#2163)",
        plan_of(Offsets),
        {"events": [row(2 * D), row(2 * D - 36 * H)]},
        [(A, 2 * D, {"yesterday": 1})],
    ),
    Case(
        "tiles of maxima, minima and deviations are not added up (Feast's tiling)",
        plan_of(Averages),
        {"events": [row(60, x=10), row(360, x=2), row(660, x=3), row(960, x=4)]},
        [(A, 1200, {"n": 2, "total": 7, "low": 3, "high": 4, "average": 3.5, "std_x": 0.5**0.5})],
    ),
    Case(
        "an event exactly a window ago is in, by the stream (Chronon's tail edge)",
        plan_of(Week),
        {"events": [row(-7 * D), row(-7 * D - 0.000001)]},
        [(A, 0, {"n": 1}), (A, H - 0.000001, {"n": 1}), (A, H, {"n": 0})],
    ),
    Case(
        "an event exactly a window ago is in, by the batch (Chronon's tail edge)",
        plan_of(WeekDaily),
        {"events": [row(-7 * D), row(-7 * D - 0.000001)]},
        [(A, H, {"n": 1}), (A, D + H, {"n": 0})],
    ),
    Case(
        "an event leaves the window though nothing follows it (Chronon's replay without eviction)",
        plan_of(Hours),
        {"events": [row(9.5 * H)]},
        [(A, 10 * H, {"n_1h": 1}), (A, 15 * H, {"n_1h": 0, "n_6h": 1})],
    ),
    Case(
        "windows with the same hop each count an event (chronon#276), first key",
        plan_of(ByU),
        {"pairs": [(-5 * H, {"u": "a", "m": 7, "x": 1})]},
        [(A, 0.001, {"n_6h": 1, "n_12h": 1})],
    ),
    Case(
        "windows with the same hop each count an event (chronon#276), second key",
        plan_of(ByM),
        {"pairs": [(-5 * H, {"u": "a", "m": 7, "x": 1})]},
        [((7,), 0.001, {"n": 1})],
    ),
    Case(
        "the tail moves between events (zipline#1872)",
        plan_of(Hours),
        {"events": [row(10 * H + 33 * 60), row(11 * H + 41 * 60)]},
        [(A, 11 * H + 41 * 60 + 30, {"n_1h": 1, "n_6h": 2})],
    ),
    Case(
        "a late event counts only where it belongs (zipline#1680)",
        plan_of(Hours),
        {"events": [row(11.9 * H), row(10.5 * H), row(-20 * H)]},
        [(A, 12 * H, {"n_1h": 1, "n_1d": 2, "before": 1})],
    ),
    Case(
        "a request before the first row counts nothing (OpenMLDB#3749)",
        plan_of(Kinds),
        {"events": [row(100), row(101)]},
        [(A, 99, kinds(0, 0, 0, 0, 0)), (A, 100.5, kinds(1, 0, 0, 1, 0))],
    ),
)
