"""Definitions over sources whose duplicates are dropped: realtime, of closed minutes, and both from one source."""

from __future__ import annotations

from featuredsl import EventSource, feature, feature_group

SCHEMA = {"u": str, "id": str, "x": int}

once_a_day = EventSource(
    "once_a_day", event_time="ts", schema=SCHEMA, time_unit="us", unique="id", sequence="n", within="1d"
)
copies = EventSource("copies", event_time="ts", schema=SCHEMA, time_unit="us", unique="id", sequence="n", within="2m")
resends = EventSource(
    "resends", event_time="ts", schema=SCHEMA, time_unit="us", unique=("id", "u"), arrival_time="at", within="2m"
)


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
