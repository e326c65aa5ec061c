"""What the fault tests stream: whole numbers and maxima only, so that equal events give equal bytes in any order."""

from featuredsl import EventSource, feature, feature_group

taps = EventSource(
    "taps",
    event_time="ts",
    schema={"u": str, "q": int, "x": float, "s": str},
    sequence="q",
    time_range=("1990", "2100"),
)


@feature_group(name="faulty", entity="u", owner="tests")
class Faulty:
    """Counts, sums, maxima and the latest row of a user."""

    @feature(freshness="realtime", window="10m")
    def n(e: taps) -> int:
        return e.count()

    @feature(freshness="realtime", window="10m")
    def total(e: taps) -> int:
        return e.q.sum()

    @feature(freshness="realtime", window="10m")
    def top(e: taps) -> float:
        return e.x.max()

    @feature(freshness="realtime", ttl="1h")
    def last(e: taps) -> str:
        return e.latest().s
