"""After how long an event of a source is late: hand-computed from what streams look at."""

from __future__ import annotations

import pytest

from featuredsl import EventSource, feature, feature_group, lifetime, session, tumbling, union, window
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.lateness import late_after_us
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout
from featuredsl.times import DAY, HOUR, MINUTE, SECOND

SCHEMA = {"u": str, "x": int}
taps = EventSource("taps", event_time="ts", schema=SCHEMA)
views = EventSource("views", event_time="ts", schema=SCHEMA)
both = union("both", taps, views)


def plan_of(group: type) -> GroupPlan:
    plan: GroupPlan = group.plan  # type: ignore[attr-defined]
    return plan


@feature_group(name="sliding", entity="u")
class Sliding:
    @feature(freshness="realtime", window="1h")
    def n(e: taps) -> int:
        return e.count()

    @feature(freshness="1d", window="90d")
    def long(e: taps) -> int:
        return e.count()


@feature_group(name="moved", entity="u")
class Moved:
    @feature(freshness="5m", window=window("1h", offset="2h"))
    def n(e: taps) -> int:
        return e.count()


@feature_group(name="complete", entity="u")
class Complete:
    @feature(freshness="realtime", window=tumbling("1d"))
    def n(e: taps) -> int:
        return e.count()


@feature_group(name="kept", entity="u")
class Kept:
    @feature(freshness="realtime", ttl="7d 250us")
    def last(e: taps) -> int | None:
        return e.latest().x


@feature_group(name="joined", entity="u")
class Joined:
    @feature(freshness="realtime", window="2h")
    def n(e: both) -> int:
        return e.count()


@feature_group(name="forever", entity="u")
class Forever:
    @feature(freshness="realtime")
    def last(e: taps) -> int | None:
        return e.latest().x


@feature_group(name="visit", entity="u")
class Visit:
    @feature(freshness="realtime", window=session("30m"))
    def n(e: taps) -> int:
        return e.count()


@feature_group(name="life", entity="u")
class Life:
    @feature(freshness="realtime", window=lifetime)
    def n(e: taps) -> int:
        return e.count()


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([Sliding], 65 * MINUTE),
        ([Moved], 3 * HOUR + 5 * MINUTE + 90 * SECOND),
        ([Complete], 2 * DAY),
        ([Kept], 7 * DAY + 250),
        ([Joined], 2 * HOUR + 5 * MINUTE),
        ([Sliding, Complete, Moved], 2 * DAY),
        ([Forever], None),
        ([Visit], None),
        ([Life], None),
        ([Sliding, Forever], None),
    ],
)
def test_the_farthest_look_back_of_all_groups_decides(groups: list[type], expected: int | None) -> None:
    assert late_after_us(taps, [plan_of(group) for group in groups]) == expected


def test_a_source_is_judged_by_its_own_readers() -> None:
    plans = [plan_of(Joined), plan_of(Sliding), plan_of(Kept)]
    assert late_after_us(views, plans) == 2 * HOUR + 5 * MINUTE


@pytest.mark.parametrize(("group", "counts"), [(Sliding, True), (Kept, True), (Forever, False), (Visit, False)])
def test_only_programs_of_bounded_sources_count_late_events(group: type, counts: bool) -> None:
    plan = plan_of(group)
    program = statements([GroupTarget(plan, store_layout(plan, "v"))], StreamConfig("k:1", "redis://r:1", "", "g"))
    (progress,) = [text for text in program if text.startswith("INSERT INTO `taps__progress`")]
    assert ("'late'" in progress) is counts
