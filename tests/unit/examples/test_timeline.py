"""The moved week: gaps kept, nothing in the future, the same seed gives the same clicks and shift."""

from __future__ import annotations

from dataclasses import replace

import pytest

from examples.open_bandit.clicks import DelayPlan, clicks_of
from examples.open_bandit.dataset import Dataset
from examples.open_bandit.shift import HOUR_US, ShiftPlan, apply_shift
from examples.open_bandit.timeline import ReplayPlan, build_timeline
from featuredsl.errors import InputError

NOW_US = 1_800_000_000_123_456
SECOND_US = 1_000_000
WINDOW_US = 1_800 * SECOND_US


def test_the_last_decision_is_a_window_and_a_margin_ago(dataset: Dataset) -> None:
    timeline = build_timeline(dataset, ReplayPlan(), NOW_US)
    assert NOW_US - timeline.decisions[-1].ts_us == WINDOW_US + 10 * SECOND_US + 60 * SECOND_US


def test_gaps_are_kept_to_the_microsecond(dataset: Dataset) -> None:
    timeline = build_timeline(dataset, ReplayPlan(), NOW_US)
    offsets = {
        moved.ts_us - original.ts_us for moved, original in zip(timeline.decisions, dataset.decisions, strict=True)
    }
    assert len(offsets) == 1


def test_nothing_is_dated_in_the_future(dataset: Dataset) -> None:
    timeline = build_timeline(dataset, ReplayPlan(), NOW_US)
    assert max(click.ts_us for click in timeline.clicks) <= timeline.closing_us <= NOW_US
    assert timeline.closing_us - timeline.decisions[-1].ts_us > WINDOW_US + 10 * SECOND_US


def test_hours_of_the_timeline_are_whole_milliseconds(dataset: Dataset) -> None:
    timeline = build_timeline(dataset, ReplayPlan(), NOW_US)
    assert timeline.at_hour(120) % 1000 == 0
    assert 0 <= timeline.first_us + 120 * HOUR_US - timeline.at_hour(120) < 1000


def test_a_shorter_replay_ends_at_the_same_distance_from_now(dataset: Dataset) -> None:
    timeline = build_timeline(dataset, ReplayPlan(decisions=500), NOW_US)
    assert len(timeline.decisions) == 500
    assert NOW_US - timeline.decisions[-1].ts_us == ReplayPlan().tail_us


def test_an_empty_log_is_refused(dataset: Dataset) -> None:
    with pytest.raises(InputError, match="no decisions"):
        build_timeline(replace(dataset, decisions=()), ReplayPlan(), NOW_US)


def test_clicks_follow_their_decision_inside_the_window_but_for_the_late_ones(dataset: Dataset) -> None:
    clicks = clicks_of(dataset.decisions, DelayPlan(late_share=0.2))
    delays = [(click.late, click.ts_us - click.decision.ts_us) for click in clicks]
    assert len(clicks) == 80
    assert all(0 < delay <= 1_200 * SECOND_US for late, delay in delays if not late)
    late = [delay for was_late, delay in delays if was_late]
    assert late
    assert all(WINDOW_US + 60 * SECOND_US <= delay <= WINDOW_US + 600 * SECOND_US for delay in late)


def test_clicks_are_by_their_own_time_and_do_not_depend_on_the_rest(dataset: Dataset) -> None:
    everything = clicks_of(dataset.decisions, DelayPlan())
    part = clicks_of(dataset.decisions[:10_000], DelayPlan(quiet_tail_s=0))
    assert [click.ts_us for click in everything] == sorted(click.ts_us for click in everything)
    known = {click.decision.event_id: click.ts_us for click in everything}
    assert part
    assert all(known[click.decision.event_id] == click.ts_us for click in part)


def test_another_seed_gives_other_delays(dataset: Dataset) -> None:
    def delays(seed: int) -> list[int]:
        return [click.ts_us for click in clicks_of(dataset.decisions, DelayPlan(seed=seed))]

    assert delays(1) == delays(1)
    assert delays(1) != delays(2)


def test_no_late_click_is_near_the_end(dataset: Dataset) -> None:
    clicks = clicks_of(dataset.decisions, DelayPlan(late_share=1.0))
    last = dataset.decisions[-1].ts_us
    late = [click for click in clicks if click.late]
    assert late
    assert all(click.decision.ts_us <= last - 7_200 * SECOND_US for click in late)


def test_the_shift_begins_on_the_sixth_day_and_changes_only_users_and_clicks(dataset: Dataset) -> None:
    shifted, counts = apply_shift(dataset, ShiftPlan())
    begin = dataset.decisions[0].ts_us + 120 * HOUR_US
    moved = [(old, new) for old, new in zip(dataset.decisions, shifted.decisions, strict=True) if old != new]
    assert all(old.ts_us >= begin for old, _ in moved)
    assert all(
        replace(new, affinity=old.affinity, clicked=old.clicked) == old and new.clicked >= old.clicked
        for old, new in moved
    )
    assert counts.moved == len(moved)
    assert counts.decisions == sum(one.ts_us >= begin for one in dataset.decisions) == 5_592


def test_the_shift_has_the_announced_strength(dataset: Dataset) -> None:
    plan = ShiftPlan()
    shifted, counts = apply_shift(dataset, plan)
    liked = {item.action_id for item in dataset.items if item.features[plan.feature] == plan.category}
    pairs = [
        (old, new)
        for old, new in zip(dataset.decisions, shifted.decisions, strict=True)
        if new.affinity != old.affinity
    ]
    on_liked = [new for _, new in pairs if new.item_id in liked]
    on_others = [(old, new) for old, new in pairs if new.item_id not in liked]
    assert len(liked) == 11
    assert counts.moved / counts.decisions == pytest.approx(plan.user_share, abs=0.03)
    assert sum(one.clicked for one in on_liked) / len(on_liked) == pytest.approx(plan.click_probability, abs=0.05)
    assert all(new.clicked == old.clicked for old, new in on_others)
    lifts = [new.affinity - old.affinity for old, new in pairs]
    assert sum(lifts) / len(lifts) == pytest.approx(plan.affinity_mean, abs=0.05)


def test_the_shift_is_the_same_for_the_same_seed(dataset: Dataset) -> None:
    assert apply_shift(dataset, ShiftPlan(seed=3)) == apply_shift(dataset, ShiftPlan(seed=3))
    assert apply_shift(dataset, ShiftPlan(seed=3))[1] != apply_shift(dataset, ShiftPlan(seed=4))[1]
