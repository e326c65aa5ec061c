"""The injected shift: from the sixth day on, users look different **and** behave differently.

This is the one thing in the demo that is not in the data set, and it is announced as injected wherever it is
printed. Logged choices and propensities stay as they are; only what a user does with a shown item changes,
so the log stays a valid bandit log: an item is clicked with a probability that depends on context and item.

Every draw depends on (seed, event id) alone: the same seed gives the same shift in any order of processing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from examples.open_bandit.dataset import Dataset, Decision

HOUR_US = 3_600_000_000


@dataclass(frozen=True, slots=True)
class ShiftPlan:
    """What changes, when and how strongly; `start_hours` counts from the first decision."""

    start_hours: int = 120
    user_share: float = 0.8
    affinity_mean: float = 4.0
    affinity_sd: float = 0.5
    feature: str = "item_feature_2"
    category: str = "67503f4a"
    click_probability: float = 0.8
    seed: int = 2026

    def describe(self) -> str:
        """One line for people."""
        return (
            f"INJECTED SHIFT from hour {self.start_hours}: affinity + N({self.affinity_mean:g}, "
            f"{self.affinity_sd:g}) for {self.user_share:.0%} of the decisions, whose users click items of "
            f"{self.feature} {self.category} with p = {self.click_probability:g} (seed {self.seed})"
        )


@dataclass(frozen=True, slots=True)
class ShiftCounts:
    """What the shift did."""

    decisions: int
    moved: int
    clicks_added: int


def apply_shift(dataset: Dataset, plan: ShiftPlan) -> tuple[Dataset, ShiftCounts]:
    """The data set with the shift in it, and how much that changed. Logged clicks stay clicks."""
    start_us = dataset.first_us + plan.start_hours * HOUR_US
    liked = _liked(dataset, plan)
    shifted = tuple(_shift(one, plan, liked) if one.ts_us >= start_us else one for one in dataset.decisions)
    pairs = list(zip(dataset.decisions, shifted, strict=True))
    counts = ShiftCounts(
        decisions=sum(old.ts_us >= start_us for old, _ in pairs),
        moved=sum(new is not old for old, new in pairs),
        clicks_added=sum(new.clicked and not old.clicked for old, new in pairs),
    )
    return replace(dataset, decisions=shifted), counts


def _liked(dataset: Dataset, plan: ShiftPlan) -> Mapping[str, bool]:
    return {item.action_id: item.features[plan.feature] == plan.category for item in dataset.items}


def _shift(decision: Decision, plan: ShiftPlan, liked: Mapping[str, bool]) -> Decision:
    draw = random.Random(f"shift/{plan.seed}/{decision.event_id}")
    if draw.random() >= plan.user_share:
        return decision
    affinity = round(decision.affinity + draw.gauss(plan.affinity_mean, plan.affinity_sd), 3)
    clicks = liked[decision.item_id] and draw.random() < plan.click_probability
    return replace(decision, affinity=affinity, clicked=decision.clicked or clicks)
