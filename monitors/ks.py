"""Two-sample Kolmogorov-Smirnov statistic on counted values, with CDFs taken at distinct values only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import ks_2samp, kstwo

from monitors.sample import NumericSample, common_type, distribution_function

EXACT_LIMIT = 10_000
ROBUST_ALPHA = 0.01


@dataclass(frozen=True, slots=True)
class Ks:
    """`statistic` D, its `p_value`, and `robust`: D less the noise that 1 % of equal laws exceed, or 0."""

    statistic: float
    p_value: float
    robust: float


def ks(baseline: NumericSample, current: NumericSample, *, dispersion: float = 1.0) -> Ks | None:
    """Compare finite rows; None when a side has none.

    The p-value is exact when both sides have at most 10,000 rows and no value occurs twice in the pool, else
    the asymptotic one of scipy (kstwo). With ties it is conservative. `dispersion` as in `monitors.psi`.
    """
    n, m = baseline.finite, current.finite
    if n == 0 or m == 0:
        return None
    left, right = common_type(baseline, current)
    pool = np.unique(np.concatenate([left.values, right.values]))
    statistic = float(np.max(np.abs(distribution_function(left, pool) - distribution_function(right, pool))))
    limit = math.sqrt(-math.log(ROBUST_ALPHA / 2) / 2 * dispersion * (1 / n + 1 / m))
    ties = len(pool) < n + m
    if not ties and max(n, m) <= EXACT_LIMIT and dispersion == 1.0:
        p_value = float(ks_2samp(left.values, right.values, method="exact").pvalue)
    else:
        p_value = float(kstwo.sf(statistic, max(1, round(n * m / ((n + m) * dispersion)))))
    return Ks(statistic, min(1.0, max(0.0, p_value)), max(0.0, statistic - limit))
