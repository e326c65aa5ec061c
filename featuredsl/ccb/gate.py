"""The promotion gate: may a candidate replace what serves now?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from featuredsl.ccb import ope
from featuredsl.ccb.decide import Judged
from featuredsl.ccb.types import Example
from featuredsl.errors import InputError

MIN_EFFECTIVE_SAMPLE = 30.0


class Outcome(StrEnum):
    """What the gate says; only IMPROVED promotes over a champion."""

    IMPROVED = "improved"
    EQUIVALENT = "equivalent"
    REGRESSED = "regressed"
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True, slots=True)
class GateConfig:
    """Limits of the gate. `alpha` is the level of the two-sided interval of the paired difference."""

    alpha: float = 0.05
    min_decisions: int = 200
    min_effective_sample: float = MIN_EFFECTIVE_SAMPLE
    mean_weight_errors: float = 4.0
    mean_weight_slack: float = 0.1
    mean_weight_limit: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            msg = f"alpha is {self.alpha}: it is the level of an interval; give a number above 0 and below 1"
            raise InputError(msg)
        if not self.min_effective_sample >= 0.0:
            msg = f"min_effective_sample is {self.min_effective_sample}: give a number of at least 0"
            raise InputError(msg)


@dataclass(frozen=True, slots=True)
class GateResult:
    """The outcome with its reasons (sentences) and metrics (strict JSON values)."""

    outcome: Outcome
    reasons: tuple[str, ...]
    metrics: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The JSON object of the result."""
        return {"outcome": self.outcome.value, "reasons": list(self.reasons), "metrics": self.metrics}


def logged(examples: Sequence[Example]) -> ope.Logged:
    """Logged probabilities and rewards (negative costs times the example's weight)."""
    slots = max(len(example.labels) for example in examples)
    probability, reward = np.ones((len(examples), slots)), np.zeros((len(examples), slots))
    for row, example in enumerate(examples):
        for column, label in enumerate(example.labels):
            probability[row, column] = label.probability
            reward[row, column] = -label.cost * example.weight
    return ope.Logged(probability, reward)


def policy(judged: Sequence[Sequence[Judged]]) -> ope.Policy:
    """A policy from what it thinks of each logged decision."""
    slots = max(len(row) for row in judged)
    chance = np.ones((len(judged), slots))
    expected, predicted = np.zeros_like(chance), np.zeros_like(chance)
    for at, row in enumerate(judged):
        for column, slot in enumerate(row):
            chance[at, column] = slot.chance
            expected[at, column], predicted[at, column] = -slot.expected_cost, -slot.predicted_cost
    return ope.Policy(chance, expected, predicted)


def gate(
    log: ope.Logged, candidate: ope.Policy, champion: ope.Policy | None = None, config: GateConfig | None = None
) -> GateResult:
    """Judge `candidate` against `champion`, or against the logging policy where there is none.

    Blocked by its weights: *regressed* when they do not average to 1 (the logged probabilities are not those of the
    log), *insufficient* when too few decisions carry the estimate. Otherwise *improved* when the interval of the
    paired difference lies above 0, *regressed* when it lies below, else *equivalent*.
    """
    limits = config or GateConfig()
    estimates = {"candidate": _estimate(log, candidate, limits)}
    if champion is not None:
        estimates["champion"] = _estimate(log, champion, limits)
    sides = [(one, _bounds(log, one)) for one in (candidate, champion) if one is not None]
    mean, low, high = ope.difference(log, sides[0], sides[1] if champion is not None else None, limits.alpha)
    metrics = {
        "against": "logging policy" if champion is None else "champion",
        "decisions": len(log.reward),
        "logged_reward": float(log.reward.sum(axis=1).mean()),
        "difference": {"mean": mean, "low": low, "high": high},
        **{name: asdict(one) for name, one in estimates.items()},
    }
    wrong = [text for name, one in estimates.items() if (text := _bad_weights(name, one, limits))]
    if wrong:
        return GateResult(Outcome.REGRESSED, tuple(wrong), metrics)
    thin = [text for name, one in estimates.items() if (text := _too_thin(name, one, limits))]
    if thin:
        return GateResult(Outcome.INSUFFICIENT, tuple(thin), metrics)
    return GateResult(*_verdict(low, high, limits), metrics)


def _estimate(log: ope.Logged, one: ope.Policy, limits: GateConfig) -> ope.Estimate:
    return ope.estimate(log, one, _bounds(log, one), limits.alpha)


def _bounds(log: ope.Logged, one: ope.Policy) -> ope.Bounds:
    low, high = min(0.0, float(log.reward.min())), max(1.0, float(log.reward.max()))
    return ope.Bounds(ope.weight_bound(log, one), low, high)


def _bad_weights(name: str, one: ope.Estimate, limits: GateConfig) -> str | None:
    allowed = min(limits.mean_weight_errors * one.mean_weight_error, limits.mean_weight_limit)
    off = abs(one.mean_weight - 1.0)
    if off <= max(limits.mean_weight_slack, allowed) or one.effective_sample < limits.min_effective_sample:
        return None
    return f"{name}: importance weights average {one.mean_weight:.3f}, not 1: the logged probabilities are wrong"


def _too_thin(name: str, one: ope.Estimate, limits: GateConfig) -> str | None:
    if one.decisions < limits.min_decisions:
        return f"{name}: {one.decisions} decisions, at least {limits.min_decisions} are needed"
    if one.effective_sample < limits.min_effective_sample:
        least = f"at least {limits.min_effective_sample:g} are needed"
        return f"{name}: effective sample of {one.effective_sample:.1f} decisions, {least}"
    return None


def _verdict(low: float, high: float, limits: GateConfig) -> tuple[Outcome, tuple[str, ...]]:
    share = f"{100 * (1 - limits.alpha):g} % interval of the difference in reward per decision"
    text = f"{share}: [{low:.6g}, {high:.6g}]"
    if low > 0:
        return Outcome.IMPROVED, (f"{text}, above 0",)
    if high < 0:
        return Outcome.REGRESSED, (f"{text}, below 0",)
    return Outcome.EQUIVALENT, (f"{text}, includes 0",)
