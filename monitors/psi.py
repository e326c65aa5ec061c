"""Population stability index of two rows of counts, its null law and its confidence bound.

PSI = sum (q - p) ln(q / p) with proportions clipped from below and not renormalised. Under equal laws
PSI / (1/n + 1/m) follows a chi-square law with B - 1 degrees of freedom (Yurdakul 2018), under a population
value d a noncentral one with noncentrality d / (1/n + 1/m) (arXiv 2307.11878).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

CLIP = 0.001
CONFIDENCE = 0.99
_UPPER = 20.0
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Psi:
    """`value` of the samples, `p_value` under equal laws, `lower` bound (99 %) of the population value."""

    value: float
    p_value: float
    lower: float
    contributions: tuple[float, ...]


def psi(baseline: Counts, current: Counts, *, clip: float = CLIP, dispersion: float = 1.0) -> Psi | None:
    """Compare counts over the same bins; None when a side has no rows.

    `dispersion` (at least 1) multiplies the variance: rows that come in clusters carry less evidence.
    """
    n, m = int(baseline.sum()), int(current.sum())
    if n == 0 or m == 0:
        return None
    p = np.maximum(baseline / n, clip)
    q = np.maximum(current / m, clip)
    parts = (q - p) * np.log(q / p)
    value = math.fsum(parts.tolist())
    active = int(np.count_nonzero((baseline > 0) | (current > 0)))
    noise = dispersion * (1 / n + 1 / m)
    p_value = float(chi2.sf(value / noise, active - 1)) if active > 1 else 1.0
    return Psi(value, p_value, lower_bound(value, active, noise), tuple(parts.tolist()))


def lower_bound(value: float, bins: int, noise: float, confidence: float = CONFIDENCE) -> float:
    """The largest population PSI that this value excludes with `confidence`; 0 when it may be noise."""
    freedom = bins - 1
    scaled = value / noise if freedom > 0 else 0.0
    if freedom < 1 or chi2.cdf(scaled, freedom) <= confidence:
        return 0.0

    def excess(population: float) -> float:
        return float(ncx2.cdf(scaled, freedom, population / noise)) - confidence

    top = min(value, _UPPER)
    if excess(top) >= 0:
        return top
    return float(brentq(excess, 1e-12, top, xtol=1e-6))


def noise_limit(bins: int, noise: float, population: float = 0.0, confidence: float = CONFIDENCE) -> float:
    """The PSI that samples reach with 1 - `confidence` when the population value is `population`."""
    freedom = bins - 1
    if population <= 0:
        return noise * float(chi2.ppf(confidence, freedom))
    return noise * float(ncx2.ppf(confidence, freedom, population / noise))
