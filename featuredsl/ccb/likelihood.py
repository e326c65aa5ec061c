"""Empirical likelihood for a mean under moment conditions (Owen 2001; Karampatziakis, Langford and Mineiro 2020).

Unseen but possible outcomes ("extremes") may carry probability without entering the likelihood; in the dual this
keeps 1 + lambda * g >= 0 there, which widens intervals where a rare large weight has not been seen yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

Array = NDArray[np.float64]

_GHOST = 1e-6
"""Weight of an extreme in the objective: a logarithmic barrier that stands for the constraint."""
_STEPS = 100
_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True)
class Problem:
    """`gains` [n] has the mean in question; columns of `centred` [n, m] have mean 0 by knowledge.

    `extremes` [k, m + 1] are possible values of (centred…, gain).
    """

    gains: Array
    centred: Array
    extremes: Array


def interval(problem: Problem, alpha: float) -> tuple[float, float]:
    """Values of the mean that a likelihood ratio test of level `alpha` does not reject (chi-squared, 1 degree)."""
    lowest = float(min(problem.extremes[:, -1].min(), problem.gains.min()))
    highest = float(max(problem.extremes[:, -1].max(), problem.gains.max()))
    if lowest == highest:
        return lowest, highest
    scaled = _Scaled(problem)
    free, centre = scaled.unrestricted()
    centre = min(max(centre, lowest), highest)
    limit = free + float(stats.chi2.ppf(1.0 - alpha, 1)) / 2.0

    def excess(value: float) -> float:
        return scaled.profile(value) - limit

    return _crossing(excess, centre, lowest), _crossing(excess, centre, highest)


class _Scaled:
    """The problem with columns of comparable size."""

    def __init__(self, problem: Problem) -> None:
        rows = np.column_stack([problem.centred, problem.gains])
        rows, counts = np.unique(rows, axis=0, return_counts=True)
        points = np.concatenate([rows, problem.extremes])
        size = np.abs(points).max(axis=0)
        size[size == 0] = 1.0
        self._known = points[:, :-1] / size[:-1]
        self._gains = points[:, -1] / size[-1]
        self._unit = float(size[-1])
        self._mass = np.concatenate([counts, np.full(len(problem.extremes), _GHOST)])

    def unrestricted(self) -> tuple[float, float]:
        """Log-likelihood loss with the known moments only, and the mean of the gains under it."""
        loss, dual = _maximise(self._known, self._mass)
        chance = self._mass / (1.0 + self._known @ dual)
        return loss, float(chance @ self._gains / chance.sum()) * self._unit

    def profile(self, value: float) -> float:
        """Log-likelihood loss when the mean of the gains is `value`."""
        moments = np.column_stack([self._known, self._gains - value / self._unit])
        return _maximise(moments, self._mass)[0]


def _maximise(moments: Array, mass: Array) -> tuple[float, Array]:
    """Maximum over the dual of sum mass * log(1 + moments @ dual), by damped Newton steps."""
    dual = np.zeros(moments.shape[1])
    if not len(dual):
        return 0.0, dual
    inside = np.ones(len(moments))
    value = 0.0
    for _ in range(_STEPS):
        ratio = moments / inside[:, None]
        gradient = mass @ ratio
        curvature = ratio.T @ (ratio * mass[:, None])
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        decrement = float(gradient @ step)
        if decrement < _TOLERANCE:
            break
        dual, inside, value, moved = _line_search(moments, mass, (dual, value), (step, decrement))
        if not moved:
            break
    return value, dual


def _line_search(
    moments: Array, mass: Array, at: tuple[Array, float], towards: tuple[Array, float]
) -> tuple[Array, Array, float, bool]:
    (dual, value), (step, decrement) = at, towards
    size = 1.0
    while size > 1e-12:
        trial = dual + size * step
        inside = 1.0 + moments @ trial
        if inside.min() > 0:
            reached = float(mass @ np.log(inside))
            if reached >= value + 0.1 * size * decrement:
                return trial, inside, reached, True
        size /= 2.0
    return dual, 1.0 + moments @ dual, value, False


def _crossing(excess: Callable[[float], float], centre: float, end: float) -> float:
    """Where the loss passes its limit between `centre` and `end`; `end` when it never does."""
    edge = end + (centre - end) * 1e-9
    if excess(centre) >= 0.0:
        return centre
    if excess(edge) <= 0.0:
        return end
    return float(optimize.brentq(excess, centre, edge, xtol=1e-9 * max(1.0, abs(end - centre)), rtol=1e-8))
