"""A group of the service tests: a daily value and a request-time feature."""

from __future__ import annotations

from featuredsl import EventSource, feature, feature_group, on_demand


class Shown:
    """What was shown to a user."""

    user_id: str
    item_id: str


shown = EventSource("shown", event_time="ts", schema=Shown)


@feature_group(name="visitor", entity="user_id")
class Visitor:
    """What a user has seen."""

    @feature(freshness="1d", window="2d")
    def views(e: shown) -> int:
        return e.count()

    @on_demand(inputs=["views"], request={"price": float})
    def price_per_view(views: int, price: float) -> float:
        return price / (views + 1)
