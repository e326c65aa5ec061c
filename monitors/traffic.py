"""The series that the monitor adds to the features: predictions, latency, errors, fallbacks; their summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitors.bins import quantiles
from monitors.buckets import merge_counts, numeric_counts

PREDICTION = "$prediction"
LATENCY = "$latency_ms"
ERROR = "$error"
FALLBACK = "$fallback"
TRAFFIC = "$traffic"
NONE_LABEL = "snone"
Counts = Mapping[str, int]


def is_context(series: str) -> bool:
    """True for a series that is shown beside incidents, but has no drift check of its own."""
    return series in (LATENCY, FALLBACK)


def summary(counts: Mapping[tuple[str, str], Counts]) -> dict[str, Any]:
    """Predictions, error and fallback rates, and latency percentiles (within 1 %) of one hour."""
    errors, fallbacks = _total(counts, ERROR), _total(counts, FALLBACK)
    latency = numeric_counts(_total(counts, LATENCY))
    p50, p95, p99 = quantiles(latency, (0.5, 0.95, 0.99))
    return {
        "predictions": sum(errors.values()),
        "error_rate": _rate(errors),
        "fallback_rate": _rate(fallbacks),
        "latency_ms": {"p50": p50, "p95": p95, "p99": p99},
    }


def _total(counts: Mapping[tuple[str, str], Counts], series: str) -> dict[str, int]:
    return merge_counts(*(one for (name, _), one in counts.items() if name == series))


def _rate(counts: Counts) -> float | None:
    rows = sum(counts.values())
    return (rows - counts.get(NONE_LABEL, 0)) / rows if rows else None
