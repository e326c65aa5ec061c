"""The feature groups of the demo: how segments of users and items are shown and clicked.

The same definitions run as a Flink job (realtime), as a Spark job (hourly and daily) and in training sets.
Try `featuredsl explain examples/open_bandit/definitions.py`.
"""

from __future__ import annotations

from featuredsl import EventSource, feature, feature_group, on_demand, ratio


class Exposure:
    """Columns of an exposure; a click repeats those of the exposure that it belongs to."""

    event_id: str
    slot_id: str
    segment: str
    item_id: str
    policy: str
    position: str
    affinity: float


shown = EventSource("exposures", event_time="ts", schema=Exposure, topic="exposures", table="exposures")
clicked = EventSource("clicks", event_time="ts", schema=Exposure, topic="clicks", table="clicks")


@feature_group(name="segment", entity="segment", retention="8d", owner="demo", bundle="open_bandit")
class Segment:
    """What a segment of users has seen and clicked lately."""

    @feature(freshness="realtime", window=["1h", "24h"])
    def views(e: shown) -> int:
        return e.count()

    @feature(freshness="realtime", window=["1h", "24h"])
    def clicks(c: clicked) -> int:
        return c.count()

    @feature(freshness="realtime", window="24h", default=0.0)
    def ctr(c: clicked, e: shown) -> float:
        return ratio(c.count(), e.count())

    @feature(freshness="realtime", window="24h")
    def affinity_mean(e: shown) -> float:
        return e.affinity.mean()

    @feature(freshness="realtime", ttl="7d")
    def last_item(e: shown) -> str:
        return e.latest().item_id

    @feature(freshness="1h", window="6h")
    def views_6h(e: shown) -> int:
        return e.count()

    @feature(freshness="1d", window="2d")
    def views_2d(e: shown) -> int:
        return e.count()

    @on_demand(inputs=["affinity_mean"], request={"affinity": float})
    def affinity_lift(affinity_mean: float | None, affinity: float | None) -> float | None:
        """How far this user's affinity is above the segment's mean."""
        return None if affinity is None or affinity_mean is None else affinity - affinity_mean


@feature_group(name="item", entity="item_id", retention="8d", owner="demo", bundle="open_bandit")
class Item:
    """How an item has done lately."""

    @feature(freshness="realtime", window=["1h", "24h"])
    def views(e: shown) -> int:
        return e.count()

    @feature(freshness="realtime", window=["1h", "24h"])
    def clicks(c: clicked) -> int:
        return c.count()

    @feature(freshness="realtime", window="24h", default=0.0)
    def ctr(c: clicked, e: shown) -> float:
        return ratio(c.count(), e.count())

    @feature(freshness="realtime", ttl="7d")
    def last_segment(e: shown) -> str:
        return e.latest().segment

    @feature(freshness="1h", window="6h")
    def views_6h(e: shown) -> int:
        return e.count()

    @feature(freshness="1d", window="2d")
    def views_2d(e: shown) -> int:
        return e.count()

    @on_demand(inputs=["views_1h", "views_24h"])
    def momentum(views_1h: int, views_24h: int) -> float:
        """Views of the last hour against the average hour of the day before."""
        return 24.0 * views_1h / views_24h if views_24h else 0.0
