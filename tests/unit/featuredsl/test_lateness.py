"""After how long an event of a source is late: hand-computed from what streams look at."""

from __future__ import annotations

import random

import pytest

from featuredsl import EventSource, feature, feature_group, lifetime, session, tumbling, union, window
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.lateness import late_after_us
from featuredsl.plan import GroupPlan
from featuredsl.testing import table
from featuredsl.tiles import store_layout
from featuredsl.times import DAY, HOUR, MINUTE, SECOND

MIDNIGHT = 1_767_225_600_000_000  # 2026-01-01
SCHEMA = {"u": str, "x": int}
taps = EventSource("taps", event_time="ts", schema=SCHEMA, time_unit="us")
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


@pytest.mark.parametrize(
    ("group", "seen_for"),
    [
        (Sliding, 65 * MINUTE - 1),
        (Moved, 3 * HOUR + 5 * MINUTE + 30 * SECOND - 1),
        (Complete, 2 * DAY - 1),
        (Kept, 7 * DAY + 250),
    ],
)
def test_no_feature_sees_an_event_when_its_record_makes_it_late(group: type, seen_for: int) -> None:
    """`seen_for`: how long after it an event at midnight is seen at most, by the definitions of windows and tiers."""
    rng, name = random.Random(3), next(iter(plan_of(group).features)).name
    late_after = late_after_us(taps, [plan_of(group)])
    assert late_after is not None
    assert seen_for <= late_after
    for event_us in (MIDNIGHT, MIDNIGHT - 1, *(MIDNIGHT + rng.randrange(DAY) for _ in range(20))):
        asked = [event_us + late_after + later for later in (1, 2, rng.randrange(1, DAY))]
        at = [{"u": "a", "ts": t} for t in (*asked, MIDNIGHT + seen_for, MIDNIGHT + seen_for + 1)]
        found = [row[name] for row in table(group, events={"taps": [{"ts": event_us, "u": "a", "x": 1}]}, at=at)]
        assert set(found[:3]) <= {0, None}
        if event_us == MIDNIGHT:
            assert (found[3], bool(found[4])) == (1, False)


def test_a_source_is_judged_by_its_own_readers() -> None:
    plans = [plan_of(Joined), plan_of(Sliding), plan_of(Kept)]
    assert late_after_us(views, plans) == 2 * HOUR + 5 * MINUTE


@pytest.mark.parametrize(("group", "counts"), [(Sliding, True), (Kept, True), (Forever, False), (Visit, False)])
def test_only_programs_of_bounded_sources_count_late_events(group: type, counts: bool) -> None:
    plan = plan_of(group)
    program = statements([GroupTarget(plan, store_layout(plan, "v"))], StreamConfig("k:1", "redis://r:1", "", "g"))
    (progress,) = [text for text in program if text.startswith("INSERT INTO `taps__progress`")]
    assert ("'late'" in progress) is counts
