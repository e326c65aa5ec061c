"""Off-policy evaluation: what another policy would have earned on logged decisions, and the gate that uses it.

Rewards are negative costs. For a decision with slots k the estimators are per-decision importance sampling
(Precup, Sutton and Singh 2000), which for one slot is plain inverse propensity scoring (IPS), its self-normalised form
(Swaminathan and Joachims 2015) and the doubly robust form (Dudik, Langford and Li 2011; sequential: Jiang and Li 2016).
Intervals are empirical likelihood with known bounds on weights and rewards (Karampatziakis, Langford and Mineiro 2020):
the likelihood may put mass on weights that were possible but not seen, and knows that weights average to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featuredsl.ccb import likelihood
from featuredsl.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Logged:
    """What was logged, as arrays of shape [decisions, slots]; absent slots have probability 1 and reward 0."""

    probability: Array
    reward: Array

    def __post_init__(self) -> None:
        if self.probability.shape != self.reward.shape or self.probability.ndim != 2:
            msg = f"shapes differ: probabilities {self.probability.shape}, rewards {self.reward.shape}"
            raise InputError(msg)
        if not (np.isfinite(self.reward).all() and ((self.probability > 0) & (self.probability <= 1)).all()):
            msg = "logged probabilities must be in (0, 1] and rewards finite"
            raise InputError(msg)


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy on the same decisions: `chance` is its probability of the logged action given the logged slots before.

    `expected` and `predicted` are optional, from a reward model: the policy's mean predicted reward of the slot, and
    the prediction for the logged action. Absent slots have chance 1 and predictions 0.
    """

    chance: Array
    expected: Array | None = None
    predicted: Array | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Known limits: the largest possible importance weight of a decision, and the reward of one slot."""

    weight: float
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Value of a policy per decision, with the health of its weights (those up to the last slot)."""

    decisions: int
    ips: float
    snips: float
    dm: float | None
    dr: float | None
    effective_sample: float
    max_weight: float
    mean_weight: float
    mean_weight_error: float
    low: float
    high: float


def prefix_weights(logged: Logged, policy: Policy) -> Array:
    """Importance weight of each slot: the product of ratios of the slots up to it."""
    return np.cumprod(policy.chance / logged.probability, axis=1)


def effective_sample_size(weights: Array) -> float:
    """Kish's effective sample size, (sum w)^2 / sum w^2; 0 when all weights are 0."""
    squares = float(np.square(weights).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def weight_bound(logged: Logged, policy: Policy) -> float:
    """The largest weight that the two policies can give, from the extreme probabilities that the log shows."""
    ratio = policy.chance.max(axis=0) / logged.probability.min(axis=0)
    seen = float(prefix_weights(logged, policy).max())
    return max(float(np.prod(np.maximum(ratio, 1.0))), seen, 1.0)


def estimate(logged: Logged, policy: Policy, bounds: Bounds, alpha: float = 0.05) -> Estimate:
    """All estimators of a policy's value, with a 1 - alpha interval."""
    weights = prefix_weights(logged, policy)
    last = weights[:, -1]
    gains = (weights * logged.reward).sum(axis=1)
    problem = _problem(gains, [(weights, bounds)], bounds, logged.reward.shape[1])
    low, high = likelihood.interval(problem, alpha)
    totals = weights.sum(axis=0)
    snips = float(((weights * logged.reward).sum(axis=0)[totals > 0] / totals[totals > 0]).sum())
    return Estimate(
        decisions=len(last),
        ips=float(gains.mean()),
        snips=snips,
        dm=None if policy.expected is None else float(policy.expected.sum(axis=1).mean()),
        dr=_doubly_robust(logged, policy, weights),
        effective_sample=effective_sample_size(last),
        max_weight=float(last.max()),
        mean_weight=float(last.mean()),
        mean_weight_error=float(last.std() / np.sqrt(len(last))),
        low=low,
        high=high,
    )


def difference(
    logged: Logged, candidate: tuple[Policy, Bounds], baseline: tuple[Policy, Bounds] | None, alpha: float = 0.05
) -> tuple[float, float, float]:
    """Mean paired difference candidate - baseline and its interval; baseline None is the logging policy."""
    policy, bounds = candidate
    weights = prefix_weights(logged, policy)
    sides = [(weights, bounds)]
    other = np.ones_like(weights)
    if baseline is not None:
        other = prefix_weights(logged, baseline[0])
        sides.append((other, baseline[1]))
    gains = ((weights - other) * logged.reward).sum(axis=1)
    problem = _problem(gains, sides, bounds, logged.reward.shape[1], paired=True)
    low, high = likelihood.interval(problem, alpha)
    return float(gains.mean()), low, high


def _doubly_robust(logged: Logged, policy: Policy, weights: Array) -> float | None:
    if policy.expected is None or policy.predicted is None:
        return None
    before = np.concatenate([np.ones((len(weights), 1)), weights[:, :-1]], axis=1)
    value = before * policy.expected + weights * (logged.reward - policy.predicted)
    return float(value.sum(axis=1).mean())


def _problem(
    gains: Array, sides: Sequence[tuple[Array, Bounds]], rewards: Bounds, slots: int, paired: bool = False
) -> likelihood.Problem:
    """Mean of `gains` where the weights of every side average to 1.

    With several slots the constraint is on the mean of the slots' weights, whose extremes are 0 and the bound.
    """
    centred = np.stack([weights.mean(axis=1) - 1.0 for weights, _ in sides], axis=1)
    corners = np.array(np.meshgrid(*([0.0, bounds.weight] for _, bounds in sides))).reshape(len(sides), -1).T
    signs = np.array([1.0, -1.0])[: len(sides)]
    net = corners @ signs - (1.0 if paired and len(sides) == 1 else 0.0)
    extremes = [np.column_stack([corners - 1.0, net * slots * reward]) for reward in (rewards.low, rewards.high)]
    return likelihood.Problem(gains, centred, np.concatenate(extremes))
