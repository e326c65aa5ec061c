"""Groups over arrays, for `cases_arrays`; imports nothing of the tests, so that a job can apply this file."""

from __future__ import annotations

from featuredsl import EventSource, feature, feature_group, window

vectors = EventSource(
    "vectors",
    event_time="ts",
    schema={"u": str, "i": list[int], "d": list[float], "w": list[str], "x": int},
    sequence="seq",
    time_unit="us",
)
bare = EventSource(
    "bare",
    event_time="ts",
    schema={"u": str, "i": list[int], "d": list[float], "w": list[str]},
    time_unit="us",
)


@feature_group(name="latest_arrays", entity="u", retention="3650d")
class LatestArrays:
    """Ties without a sequence are decided by the arrays."""

    @feature(freshness="realtime")
    def i(e: bare) -> list[int]:
        return e.i.latest()

    @feature(freshness="realtime")
    def d(e: bare) -> list[float]:
        return e.d.latest()

    @feature(freshness="realtime")
    def w(e: bare) -> list[str]:
        return e.w.latest()

    @feature(freshness="realtime")
    def row_d(e: bare) -> list[float]:
        return e.latest().d

    @feature(freshness="realtime", ttl="1h", default=[0.5, 1])
    def recent(e: bare) -> list[float]:
        return e.d.latest()

    @feature(freshness="realtime", default=[])
    def tagged(e: bare) -> list[str]:
        return e.filter(e.w.contains("a")).latest().w


@feature_group(name="array_windows", entity="u", retention="3650d")
class ArrayWindows:
    """Aggregates over what an array gives."""

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def n(e: vectors) -> int:
        return e.d.count()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def items(e: vectors) -> int:
        return e.i.length().sum()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def first(e: vectors) -> float:
        return e.d.at(0).mean()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def chosen(e: vectors) -> int:
        return e.i.at(e.x).max()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def tagged(e: vectors) -> int:
        return e.filter(e.w.contains("a") & ~e.i.contains(e.x)).count()

    @feature(freshness="realtime", window=window("10m", hop="5m"))
    def lowest(e: vectors) -> float:
        return e.d.fill_null([-1]).min_element().min()

    @feature(freshness="realtime")
    def by_sequence(e: vectors) -> list[int]:
        return e.latest().i


@feature_group(name="array_tiers", entity="u", retention="3650d")
class ArrayTiers:
    """Arrays of the batch tiers."""

    @feature(freshness="1h")
    def hourly(e: bare) -> list[int]:
        return e.i.latest()

    @feature(freshness="1d", ttl="1d", default=["none"])
    def daily(e: bare) -> list[str]:
        return e.latest().w
