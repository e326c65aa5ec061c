"""Definitions over sources whose duplicates are dropped: those of the cases, closed minutes, and both from one source.

A definition file is loaded alone: what the cases have too stands here again.
"""

from __future__ import annotations

from featuredsl import EventSource, feature, feature_group, session, window

SCHEMA = {"u": str, "id": str, "x": int}

once_a_day = EventSource(
    "once_a_day", event_time="ts", schema=SCHEMA, time_unit="us", unique="id", sequence="n", within="1d"
)
copies = EventSource("copies", event_time="ts", schema=SCHEMA, time_unit="us", unique="id", sequence="n", within="2m")
resends = EventSource(
    "resends", event_time="ts", schema=SCHEMA, time_unit="us", unique=("id", "u"), arrival_time="at", within="2m"
)
exact = EventSource("exact", event_time="ts", schema={"u": str, "x": int}, time_unit="us", unique=("u", "ts"))
within = EventSource("within", event_time="ts", schema=SCHEMA, time_unit="us", unique=("id", "u"), within="10m")
resent = EventSource(
    "resent", event_time="ts", schema=SCHEMA, time_unit="us", unique="id", arrival_time="at", within="1h"
)
pages = EventSource("pages", event_time="ts", schema=SCHEMA, time_unit="us", unique="id", sequence="n", within="10m")


@feature_group(name="daily_unique", entity="u", owner="tests", retention="3650d")
class DailyUnique:
    """A key is one event for a day."""

    @feature(freshness="realtime", window="1h")
    def n(e: once_a_day) -> int:
        return e.count()

    @feature(freshness="realtime", window="1h")
    def total(e: once_a_day) -> int:
        return e.x.sum()

    @feature(freshness="realtime")
    def last(e: once_a_day) -> int:
        return e.latest().x


@feature_group(name="copied", entity="u", owner="tests", retention="3650d")
class Copied:
    """The first by time in closed minutes, the first to arrive beside it."""

    @feature(freshness="realtime", window="1h")
    def live(e: copies) -> int:
        return e.count()

    @feature(freshness="5m", window="1h")
    def n(e: copies) -> int:
        return e.count()

    @feature(freshness="5m", window="1h")
    def total(e: copies) -> int:
        return e.x.sum()

    @feature(freshness="5m", ttl="1h")
    def last(e: copies) -> int:
        return e.latest().x


@feature_group(name="sent_again", entity="u", owner="tests", retention="3650d")
class SentAgain:
    """The first to arrive, in closed minutes only."""

    @feature(freshness="5m", window="1h")
    def arrived(e: resends) -> int:
        return e.count()

    @feature(freshness="5m", window="1h")
    def arrived_total(e: resends) -> int:
        return e.x.sum()


@feature_group(name="exact_times", entity="u", owner="tests", retention="3650d")
class ExactTimes:
    """The event time is part of what makes records one event."""

    @feature(freshness="realtime", window="1h")
    def total(e: exact) -> int:
        return e.x.sum()


@feature_group(name="spaced", entity="u", owner="tests", retention="3650d")
class Spaced:
    """Records of one key are one event for ten minutes."""

    @feature(freshness="realtime", window=window("6h", hop="1h"))
    def n(e: within) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("6h", hop="1h"))
    def total(e: within) -> int:
        return e.x.sum()


@feature_group(name="resend", entity="u", owner="tests", retention="3650d")
class Resend:
    """The record that arrives first is the event."""

    @feature(freshness="realtime", window=window("6h", hop="1h"))
    def n(e: resent) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("6h", hop="1h"))
    def total(e: resent) -> int:
        return e.x.sum()


@feature_group(name="visited", entity="u", owner="tests", retention="3650d")
class Visited:
    """Sessions of the first to arrive, which wait for no watermark, and of the first by time."""

    @feature(freshness="realtime", window=session("1m"))
    def n(e: pages) -> int:
        return e.count()

    @feature(freshness="realtime", window=session("1m"))
    def total(e: pages) -> int:
        return e.x.sum()

    @feature(freshness="5m", window=session("1m"))
    def closed_total(e: pages) -> int:
        return e.x.sum()
