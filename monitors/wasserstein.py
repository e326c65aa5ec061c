"""Wasserstein-1 distance of two counted samples: the area between their distribution functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from monitors.sample import Array, NumericSample, common_type, distribution_function, mean_and_deviation

_SCALE_FROM = 1e150


@dataclass(frozen=True, slots=True)
class Wasserstein:
    """`value` in the unit of the data (None beyond the range of a double), `normalised` by the baseline's
    standard deviation (None when that is 0), `floor`: the normalised value expected of equal laws."""

    value: float | None
    normalised: float | None
    floor: float | None


def wasserstein(baseline: NumericSample, current: NumericSample, *, dispersion: float = 1.0) -> Wasserstein | None:
    """Compare finite rows; None when a side has none.

    The floor is sqrt(2 / pi) * J * sqrt(1/n + 1/m) with J the integral of sqrt(F (1 - F)) of the baseline.
    """
    n, m = baseline.finite, current.finite
    if n == 0 or m == 0:
        return None
    left, right = common_type(baseline, current)
    scale = _scale(left.values, right.values)
    pool = np.unique(np.concatenate([left.values, right.values]))
    width = _widths(pool, scale)
    first, second = distribution_function(left, pool)[:-1], distribution_function(right, pool)[:-1]
    area = math.fsum((np.abs(first - second) * width).tolist())
    spread = math.fsum((np.sqrt(first * (1 - first)) * width).tolist())
    moments = mean_and_deviation(left)
    deviation = moments[1] / scale if moments else 0.0
    value = area * scale
    if deviation <= 0:
        return Wasserstein(value if math.isfinite(value) else None, None, None)
    noise = math.sqrt(2 / math.pi * dispersion * (1 / n + 1 / m)) * spread
    return Wasserstein(value if math.isfinite(value) else None, area / deviation, noise / deviation)


def _scale(left: Array, right: Array) -> float:
    largest = float(max(abs(float(side[i])) for side in (left, right) for i in (0, -1)))
    return largest if largest > _SCALE_FROM else 1.0


def _widths(pool: Array, scale: float) -> Array:
    if pool.dtype.kind == "f":
        return np.diff(pool / scale)
    return np.array([float(int(b) - int(a)) for a, b in pairwise(pool)])
