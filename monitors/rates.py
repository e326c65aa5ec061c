"""Confidence bounds of rates and the false discovery rate of many tests."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.stats import beta


def rate_lower_bound(hits: int, rows: int, confidence: float = 0.99) -> float:
    """One-sided Clopper-Pearson lower bound of a rate; 0 without hits or rows."""
    if hits <= 0 or rows <= 0:
        return 0.0
    return float(beta.ppf(1 - confidence, hits, rows - hits + 1))


def discoveries(p_values: Sequence[float], rate: float) -> tuple[bool, ...]:
    """Which hypotheses Benjamini-Hochberg rejects at the false discovery rate `rate`; order as given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    last = 0
    for rank, index in enumerate(order, start=1):
        if p_values[index] <= rate * rank / len(p_values):
            last = rank
    rejected = set(order[:last])
    return tuple(index in rejected for index in range(len(p_values)))
