"""Groups of wide aggregates, for `cases_wide`; imports nothing of the tests, so that a job can apply this file."""

from __future__ import annotations

from featuredsl import EventSource, feature, feature_group, tumbling, window

events = EventSource("events", event_time="ts", schema={"u": str, "x": int, "f": float, "s": str}, time_unit="us")
other = EventSource("other", event_time="ts", schema={"u": str, "x": int}, time_unit="us")
pairs = EventSource("pairs", event_time="ts", schema={"u": str, "m": int, "x": int}, time_unit="us")
ordered = EventSource("ordered", event_time="ts", schema={"u": str, "x": int}, sequence="seq", time_unit="us")
typed = EventSource("typed", event_time="ts", schema={"k": int, "b": bool, "f": float, "s": str}, time_unit="us")


@feature_group(name="firsts", entity="u", retention="3650d")
class Firsts:
    """The window of 10 minutes begins at a multiple of 5."""

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def first_s(e: events) -> str:
        return e.s.first()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def first_row_s(e: events) -> str:
        return e.first().s

    @feature(freshness="realtime", window=window("10m", hop="5m"), default="none")
    def first_large(e: events) -> str:
        return e.filter(e.x > 5).s.first()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def twice(e: events) -> int:
        return (e.x + e.x).first()


@feature_group(name="sequenced", entity="u", retention="3650d")
class Sequenced:
    """Equal times are ordered by the sequence, then by the value."""

    @feature(freshness="realtime", window="1h")
    def first_x(o: ordered) -> int:
        return o.x.first()

    @feature(freshness="realtime", window="1h")
    def last_two(o: ordered) -> list[int]:
        return o.x.last_k(2)


@feature_group(name="lists", entity="u", retention="3650d")
class Lists:
    """Lists of values, in several windows."""

    @feature(freshness="realtime", window=["1h", "6h"])
    def last_three(e: events) -> list[str]:
        return e.s.last_k(3)

    @feature(freshness="realtime", window="6h")
    def top(e: events) -> list[str]:
        return e.s.top_k(2)

    @feature(freshness="realtime", window="6h")
    def top_counts(e: events) -> list[int]:
        return e.s.top_k_counts(2)

    @feature(freshness="realtime", window="6h")
    def favourite(e: events) -> int:
        return e.x.most_frequent()

    @feature(freshness="realtime", window="6h")
    def large(e: events) -> list[int]:
        return e.filter(e.f > 0.5).x.last_k(1000)


@feature_group(name="distribution", entity="u", retention="3650d")
class Spread:
    """Distributions."""

    @feature(freshness="realtime", window="6h")
    def distinct(e: events) -> int:
        return e.s.approx_distinct()

    @feature(freshness="realtime", window="6h")
    def share(e: events) -> float:
        return e.s.approx_distinct() / e.count()

    @feature(freshness="realtime", window="6h")
    def others(e: events, o: other) -> float:
        return e.x.approx_distinct() / o.x.approx_distinct()

    @feature(freshness="realtime", window="6h")
    def median(e: events) -> float:
        return e.x.approx_quantile(0.5)

    @feature(freshness="realtime", window="6h")
    def lowest(e: events) -> float:
        return e.f.approx_quantile(0)

    @feature(freshness="realtime", window="6h")
    def bins(e: events) -> list[int]:
        return e.x.histogram([0, 10])

    @feature(freshness="realtime", window="6h")
    def small_bins(e: events) -> list[int]:
        return e.filter(e.s == "p").f.histogram([0.5])


@feature_group(name="decays", entity="u", retention="3650d")
class Decays:
    """Half-lives of an hour; the window ends sooner than the decay."""

    @feature(freshness="realtime", window="4h")
    def weight(e: events) -> float:
        return e.x.decayed_sum("1h")

    @feature(freshness="realtime", window="4h")
    def number(e: events) -> float:
        return e.decayed_count("1h")

    @feature(freshness="realtime", window="4h")
    def texts(e: events) -> float:
        return e.s.decayed_count("60m")

    @feature(freshness="1h", window="4h")
    def hourly(e: events) -> float:
        return e.x.decayed_sum("1h")


@feature_group(name="layers", entity="u", retention="3650d")
class Layers:
    """Batch tiers and offset windows; ordinary features beside wide ones."""

    @feature(freshness="1h", window="6h")
    def hourly(e: events) -> list[int]:
        return e.x.last_k(5)

    @feature(freshness="1d", window="2d")
    def daily(e: events) -> int:
        return e.x.most_frequent()

    @feature(freshness="1h", window="6h")
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("1h", offset="1h"))
    def before(e: events) -> list[int]:
        return e.x.last_k(5)


@feature_group(name="couples", entity=("u", "m"), retention="3650d")
class Couples:
    """A composite key."""

    @feature(freshness="realtime", window="1h")
    def seen(p: pairs) -> list[int]:
        return p.x.last_k(9)


@feature_group(name="kinds", entity="k", retention="3650d")
class Kinds:
    """An integer key, and values of every type."""

    @feature(freshness="realtime", window="1h")
    def first_b(t: typed) -> bool:
        return t.b.first()

    @feature(freshness="realtime", window="1h")
    def common_b(t: typed) -> bool:
        return t.b.most_frequent()

    @feature(freshness="realtime", window="1h")
    def number_b(t: typed) -> int:
        return t.b.approx_distinct()

    @feature(freshness="realtime", window="1h")
    def top_f(t: typed) -> list[float]:
        return t.f.top_k(2)

    @feature(freshness="realtime", window="1h")
    def last_s(t: typed) -> list[str]:
        return t.s.last_k(2)


@feature_group(name="hours", entity="u", retention="3650d")
class Hours:
    """The last complete hour; the least and greatest string stand in tiles as states."""

    @feature(freshness="realtime", window=tumbling("1h"))
    def least(e: events) -> str:
        return e.s.min()

    @feature(freshness="realtime", window=tumbling("1h"))
    def greatest(e: events) -> str:
        return e.filter(e.x > 0).s.max()

    @feature(freshness="realtime", window=tumbling("1h"))
    def top(e: events) -> list[str]:
        return e.s.top_k(2)

    @feature(freshness="realtime", window=tumbling("1h"))
    def share(e: events) -> float:
        return e.s.approx_distinct() / e.count()
