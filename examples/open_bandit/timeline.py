"""The week as it will be replayed: moved to the present with all its gaps, clicks placed in time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from examples.open_bandit.clicks import Click, DelayPlan, clicks_of
from examples.open_bandit.dataset import Dataset, Decision, Item
from examples.open_bandit.shift import HOUR_US, ShiftCounts, ShiftPlan, apply_shift
from featuredsl.errors import InputError

SECOND_US = 1_000_000
CATALOG_LEAD_US = SECOND_US
MARGIN_US = 60 * SECOND_US


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What is replayed. `decisions` limits the log to its first so many (0: all)."""

    shift: ShiftPlan = field(default_factory=ShiftPlan)
    delays: DelayPlan = field(default_factory=DelayPlan)
    watermark_delay_s: int = 10
    decisions: int = 0

    @property
    def tail_us(self) -> int:
        """How long before now the last decision must lie: its window then closes without future records."""
        return (self.delays.window_s + self.watermark_delay_s) * SECOND_US + MARGIN_US


@dataclass(frozen=True, slots=True)
class Timeline:
    """Decisions and clicks by time, the catalog, and what the injected shift did."""

    decisions: tuple[Decision, ...]
    clicks: tuple[Click, ...]
    items: tuple[Item, ...]
    shifted: ShiftCounts
    closing_us: int

    @property
    def first_us(self) -> int:
        """Time of the first decision."""
        return self.decisions[0].ts_us

    @property
    def end_us(self) -> int:
        """Just after the last decision."""
        return self.decisions[-1].ts_us + 1

    def at_hour(self, hour: float) -> int:
        """The time so many hours after the first decision, on a whole millisecond (as events have it)."""
        return (self.first_us + int(hour * HOUR_US)) // 1000 * 1000


def build_timeline(dataset: Dataset, plan: ReplayPlan, now_us: int) -> Timeline:
    """Shift `dataset` so that its last decision lies `plan.tail_us` before `now_us`.

    `closing_us` is the time up to which heartbeats must go to close every window; it is not in the future.
    """
    if plan.decisions:
        dataset = replace(dataset, decisions=dataset.decisions[: plan.decisions])
    if not dataset.decisions:
        msg = "nothing to replay: the data set has no decisions"
        raise InputError(msg)
    injected, counts = apply_shift(dataset, plan.shift)
    offset_us = now_us - plan.tail_us - dataset.last_us
    decisions = tuple(replace(one, ts_us=one.ts_us + offset_us) for one in injected.decisions)
    clicks = clicks_of(decisions, plan.delays)
    closing_us = decisions[-1].ts_us + plan.tail_us - MARGIN_US // 2
    return Timeline(decisions, clicks, dataset.items, counts, closing_us)
