"""Definitions of the near-real-time tier, by what a stream job does with them: windows of minutes that grow to a tile,
tiles within a minute, whole windows, states of variable width, latest values, sessions; and realtime features beside
them."""

from __future__ import annotations

from featuredsl import EventSource, feature, feature_group, session, tumbling, window


class Visit:
    """A visit of a page."""

    u: str
    x: int
    page: str


visits = EventSource("visits", event_time="ts", time_unit="us", schema=Visit, topic="visits", table="visits")


@feature_group(name="minutes", entity="u", owner="tests", retention="3650d")
class Minutes:
    """What the last closed minutes say."""

    @feature(freshness="realtime", window="1h")
    def live(e: visits) -> int:
        return e.count()

    @feature(freshness="5m", window="1h")
    def n(e: visits) -> int:
        return e.count()

    @feature(freshness="5m", window=window("10m", hop="30s", offset="2m"))
    def before(e: visits) -> int | None:
        return e.x.sum()

    @feature(freshness="5m", window=window("10m", hop="1m"))
    def most(e: visits) -> int | None:
        return e.filter(e.x > 0).x.max()

    @feature(freshness="5m", window=tumbling("5m"))
    def complete(e: visits) -> int:
        return e.count()

    @feature(freshness="5m", window="1h")
    def pages(e: visits) -> list[str]:
        return e.page.last_k(3)

    @feature(freshness="5m", window="10m")
    def least(e: visits) -> str | None:
        return e.page.min()

    @feature(freshness="5m", ttl="5m")
    def last(e: visits) -> str | None:
        return e.latest().page

    @feature(freshness="realtime")
    def newest(e: visits) -> str | None:
        return e.latest().page

    @feature(freshness="5m", window=session("20s"))
    def visit(e: visits) -> int:
        return e.count()

    @feature(freshness="5m", window=session("20s"))
    def visit_pages(e: visits) -> list[str]:
        return e.page.last_k(3)

    @feature(freshness="5m", window=session("20s"))
    def visit_sum(e: visits) -> int | None:
        return e.filter(e.x > 0).x.sum()

    @feature(freshness="realtime", window=session("20s"))
    def live_visit(e: visits) -> int:
        return e.count()

    @feature(freshness="realtime", window=session("20s"))
    def live_least(e: visits) -> str | None:
        return e.page.min()
