"""Groups of the batch test: hourly and daily features, and one of the stream that stays empty."""

from __future__ import annotations

from featuredsl import EventSource, feature, feature_group, on_demand, window

events = EventSource("events", event_time="ts", schema={"u": str, "m": int, "x": int, "f": float, "s": str})


@feature_group(name="pair", entity=("u", "m"), retention="30d")
class Pair:
    """Batch features of a composite key."""

    @feature(freshness="1h", window="6h")
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="1h", window="1d")
    def total(e: events) -> int:
        return e.x.sum()

    @feature(freshness="1h", ttl="2d")
    def last(e: events) -> str:
        return e.latest().s

    @feature(freshness="1d", window="2d", default=-1.0)
    def mean(e: events) -> float:
        return e.f.mean()

    @feature(freshness="1d", window=window("1d", offset="1d"))
    def before(e: events) -> int:
        return e.count()

    @on_demand(inputs=["n"], request={"goal": int})
    def missing(n: int, goal: int) -> int:
        """How many events are missing to a goal."""
        return goal - n
