"""When clicks happen: the data set says whether, not when.

A click follows its impression after a log-normal delay (median 40 s, sigma 1), cut at 20 minutes, well
inside the attribution window. One click in fifty comes after the window instead: those must end as counted
late clicks and not as labels; none of those is among the last hours, so nothing is dated in the future.
Every draw depends on (seed, event id) alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from examples.open_bandit.dataset import Decision

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class DelayPlan:
    """How long users take; all but `late_share` stay under `cap_s`."""

    window_s: int = 1800
    median_s: float = 40.0
    sigma: float = 1.0
    cap_s: float = 1200.0
    late_share: float = 0.02
    late_extra_s: tuple[float, float] = (60.0, 600.0)
    quiet_tail_s: int = 7200
    seed: int = 2026


@dataclass(frozen=True, slots=True)
class Click:
    """A click on a decision's slot; `late` when it falls outside the attribution window."""

    decision: Decision
    ts_us: int
    late: bool


def clicks_of(decisions: Sequence[Decision], plan: DelayPlan) -> tuple[Click, ...]:
    """All clicks, by their own time. `decisions` are ascending in time."""
    if not decisions:
        return ()
    last_late_us = decisions[-1].ts_us - plan.quiet_tail_s * SECOND_US
    clicks = [_click(one, plan, may_be_late=one.ts_us <= last_late_us) for one in decisions if one.clicked]
    return tuple(sorted(clicks, key=lambda click: (click.ts_us, click.decision.event_id)))


def _click(decision: Decision, plan: DelayPlan, *, may_be_late: bool) -> Click:
    draw = random.Random(f"click/{plan.seed}/{decision.event_id}")
    late = draw.random() < plan.late_share and may_be_late
    if late:
        delay_s = plan.window_s + draw.uniform(*plan.late_extra_s)
    else:
        delay_s = min(draw.lognormvariate(math.log(plan.median_s), plan.sigma), plan.cap_s)
    return Click(decision, decision.ts_us + int(delay_s * SECOND_US), late)
