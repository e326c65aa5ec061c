"""Exploration of Vowpal Wabbit's contextual bandits: from costs to probabilities, and the seeded draw.

All arithmetic is IEEE single precision in Vowpal Wabbit's own order of operations, so that a probability computed here
equals the one that `vw` would log. Sources: epsilon-greedy and softmax as in Vowpal Wabbit 9.11 (`--epsilon`,
`--softmax --lambda`), SquareCB of Foster and Rakhlin (arXiv 2002.04926), Section 3, the floor on probabilities as a
projection on the simplex.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import mmh3
import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.intp]

_TIE_TOLERANCE = np.float32(1e-4)
_ONE = np.float32(1)
_MASK64 = (1 << 64) - 1
_MULTIPLIER = 0xEECE66D5DEECE66D
_INCREMENT = 2147483647


@dataclass(frozen=True, slots=True)
class EpsilonGreedy:
    """The cheapest action with 1 - epsilon (shared by ties), every action with at least epsilon / n."""

    epsilon: float
    first_only: bool = False


@dataclass(frozen=True, slots=True)
class Softmax:
    """Probabilities proportional to exp(-temperature * cost), floored at epsilon / n."""

    temperature: float
    epsilon: float = 0.0


@dataclass(frozen=True, slots=True)
class SquareCB:
    """1 / (n + gamma * gap) for every action but the cheapest, floored at epsilon / n."""

    gamma: float
    epsilon: float = 0.0


Exploration: TypeAlias = EpsilonGreedy | Softmax | SquareCB


def ranked(costs: Floats) -> Indices:
    """Positions by ascending cost, ties by position: the order in which Vowpal Wabbit lists actions."""
    return np.argsort(costs, kind="stable")


def probabilities(exploration: Exploration, costs: Floats) -> Floats:
    """The probability of each action; `costs` ascending, at least one."""
    match exploration:
        case EpsilonGreedy():
            return _epsilon_greedy(exploration, costs)
        case Softmax():
            weights = np.exp(-np.float32(exploration.temperature) * (costs - costs[0]), dtype=np.float32)
            return _floored(weights / _running(weights)[-1], exploration.epsilon)
        case SquareCB():
            return _floored(_square_cb(np.float32(exploration.gamma), costs), exploration.epsilon)


def seed_of(tag: str) -> int:
    """The seed that a Vowpal Wabbit tag `seed=<tag>` stands for."""
    return mmh3.hash(tag.encode(), 0, signed=False)


def uniform(seed: int) -> np.float32:
    """One draw from [0, 1) of the linear congruential generator that Vowpal Wabbit uses (merand48)."""
    state = (_MULTIPLIER * seed + _INCREMENT) & _MASK64
    bits = ((state >> 25) & 0x7FFFFF) | (127 << 23)
    return np.uint32(bits).view(np.float32) - _ONE


def draw(pmf: Floats, seed: int) -> int:
    """The position drawn from `pmf` (it need not sum to 1 exactly)."""
    cumulative = _running(pmf)
    point = np.float32(cumulative[-1] * uniform(seed))
    position = int(np.searchsorted(cumulative, point, side="right"))
    return min(position, len(pmf) - 1)


def normalised(pmf: Floats) -> Floats:
    """`pmf` divided by its single precision sum: what Vowpal Wabbit reports after it has sampled."""
    scaled: Floats = pmf / _running(pmf)[-1]
    return scaled


def _running(values: Floats) -> Floats:
    """Running sum, strictly left to right (numpy's `sum` adds pairwise)."""
    return np.add.accumulate(values, dtype=np.float32)


def _epsilon_greedy(rule: EpsilonGreedy, costs: Floats) -> Floats:
    count = len(costs)
    epsilon = np.float32(rule.epsilon)
    pmf = np.full(count, epsilon / np.float32(count), dtype=np.float32)
    tied = 1 if rule.first_only else _leading_ties(costs)
    pmf[:tied] += (_ONE - epsilon) / np.float32(tied)
    return pmf


def _leading_ties(costs: Floats) -> int:
    best = costs[0]
    same = np.abs(costs - best) <= _TIE_TOLERANCE * (np.abs(costs) + np.abs(best))
    return len(costs) if same.all() else int(np.argmin(same))


def _square_cb(gamma: np.float32, costs: Floats) -> Floats:
    pmf: Floats = _ONE / (np.float32(len(costs)) + gamma * (costs - costs[0]))
    rest = _running(pmf[1:])
    pmf[0] = _ONE - (rest[-1] if len(rest) else np.float32(0))
    return pmf


def _floored(pmf: Floats, epsilon: float) -> Floats:
    """Euclidean projection on the simplex in which every action has at least epsilon / n."""
    count = len(pmf)
    if epsilon == 0:
        return pmf
    if epsilon > 0.999:
        return np.full(count, _ONE / np.float32(count), dtype=np.float32)
    floor = np.float32(epsilon) / np.float32(count)
    descending = np.sort(pmf)[::-1]
    running = _running(descending)
    rank = np.arange(1, count + 1, dtype=np.float64)
    rest = (count - rank).astype(np.float32) * floor + running
    above = descending > (rest - 1.0) / rank + floor
    last = int(np.nonzero(above)[0][-1]) if above.any() else 0
    shift = np.float32((float(rest[last]) - 1.0) / (last + 1.0))
    return np.maximum(pmf - shift, floor)
