"""Which events come too late for every streamed feature of their source, by the time of their Kafka record."""

from __future__ import annotations

from collections.abc import Iterable

from featuredsl.horizon import needs_history
from featuredsl.plan import GroupPlan
from featuredsl.sources import EventSource
from featuredsl.tiles import kept_us, streamed_readers


def late_after_us(source: EventSource, plans: Iterable[GroupPlan]) -> int | None:
    """The farthest that a stream of these groups looks back at a source, in microseconds: an event whose time lies
    before its record's by more than that is late. None where some feature looks back without limit, so that none is
    late: a lookup without ttl, a session, a lifetime (its batch history takes what its tiles do not)."""
    farthest = 0
    for _, feature in streamed_readers(source, plans):
        reach_us = None if needs_history(feature) else kept_us(feature)
        if reach_us is None:
            return None
        farthest = max(farthest, reach_us)
    return farthest
