"""Groups over sessions, for `cases_windows` and `cases_wide_sessions`; imports nothing of the tests, so that a job can
apply this file."""

from __future__ import annotations

from featuredsl import EventSource, feature, feature_group, ratio, session

events = EventSource("events", event_time="ts", schema={"u": str, "x": int, "f": float, "s": str}, time_unit="us")
pairs = EventSource("pairs", event_time="ts", schema={"u": str, "m": int, "x": int}, time_unit="us")
ordered = EventSource("ordered", event_time="ts", schema={"u": str, "x": int}, sequence="seq", time_unit="us")


@feature_group(name="visits", entity="u", retention="3650d")
class Visits:
    """Every aggregator over the last closed session; a filter decides which events make it."""

    @feature(freshness="realtime", window=session("30m"))
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window=session("30m"), default=-1)
    def total(e: events) -> int:
        return e.x.sum()

    @feature(freshness="realtime", window=session("30m"))
    def low(e: events) -> int:
        return e.x.min()

    @feature(freshness="realtime", window=session("30m"))
    def average(e: events) -> float:
        return e.x.mean()

    @feature(freshness="realtime", window=session("30m"))
    def var_x(e: events) -> float:
        return e.x.var()

    @feature(freshness="realtime", window=session("30m"))
    def last_s(e: events) -> str:
        return e.s.max()

    @feature(freshness="realtime", window=session("30m"))
    def clicks(e: events) -> int:
        return e.filter(e.s == "click").count()

    @feature(freshness="realtime", window=session("30m"))
    def rate(e: events) -> float:
        return ratio(e.filter(e.s == "click").count(), e.count())

    @feature(freshness="realtime", window=session("30m"))
    def odds(e: events) -> float:
        return ratio(e.filter(e.s == "click").count(), e.filter(e.s == "view").count())


@feature_group(name="visits_wide", entity="u", retention="3650d")
class WideVisits:
    """Every kind over sessions of half an hour; filters decide which events make them."""

    @feature(freshness="realtime", window=[session("30m"), "1h"])
    def last(e: events) -> list[int]:
        return e.x.last_k(3)

    @feature(freshness="realtime", window=session("30m"))
    def first(e: events) -> int:
        return e.first().x

    @feature(freshness="realtime", window=session("30m"))
    def top(e: events) -> list[str]:
        return e.s.top_k(2)

    @feature(freshness="realtime", window=session("30m"), default="none")
    def common(e: events) -> str:
        return e.filter(e.x > 0).s.most_frequent()

    @feature(freshness="realtime", window=session("30m"))
    def distinct(e: events) -> int:
        return e.s.approx_distinct()

    @feature(freshness="realtime", window=session("30m"))
    def share(e: events) -> float:
        return ratio(e.s.approx_distinct(), e.filter(e.x > 0).count())

    @feature(freshness="realtime", window=session("30m"))
    def fading(e: events) -> float:
        return e.x.decayed_sum("1h")

    @feature(freshness="1h", window=session("30m"))
    def hourly(e: events) -> list[int]:
        return e.x.last_k(9)

    @feature(freshness="realtime", window=session("30m"))
    def n(e: events) -> int:
        return e.count()


@feature_group(name="runs", entity="u", retention="3650d")
class Runs:
    """A sequence decides between equal times."""

    @feature(freshness="realtime", window=session("1m"))
    def last(e: ordered) -> list[int]:
        return e.x.last_k(2)

    @feature(freshness="realtime", window=session("1m"))
    def first(e: ordered) -> int:
        return e.x.first()


@feature_group(name="couple_visits", entity=("u", "m"), retention="3650d")
class Couples:
    """Two parts of a key."""

    @feature(freshness="realtime", window=session("10m"))
    def seen(p: pairs) -> list[int]:
        return p.x.last_k(9)
