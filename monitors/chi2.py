"""Pearson's chi-square test of homogeneity of two rows of counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2 as chi2_law


@dataclass(frozen=True, slots=True)
class Chi2:
    """`statistic` without continuity correction and its asymptotic `p_value`."""

    statistic: float
    p_value: float


def chi2(baseline: NDArray[np.int64], current: NDArray[np.int64], *, dispersion: float = 1.0) -> Chi2 | None:
    """Compare counts over the same cells; None when a side has no rows; one cell in use gives 0 and p = 1."""
    if baseline.sum() == 0 or current.sum() == 0:
        return None
    used = (baseline + current) > 0
    table = np.stack([baseline[used], current[used]]).astype(np.float64)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum()) / dispersion
    freedom = table.shape[1] - 1
    return Chi2(statistic, float(chi2_law.sf(statistic, freedom)) if freedom else 1.0)
