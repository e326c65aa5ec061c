"""Rows of a report, in the shape of the contract."""

from __future__ import annotations

from typing import Any


def row(
    metric: str,
    unit: str,
    ours: float,
    against: tuple[str, float | None] | None = None,
    target: tuple[str, bool] | None = None,
    *,
    ratio: float | None = None,
) -> dict[str, Any]:
    """One measurement; `ratio` is ours / theirs unless given. A peer without a figure has the value None."""
    name, value = against or (None, None)
    text, met = target or (None, None)
    if ratio is None and value:
        ratio = ours / value
    return {
        "metric": metric,
        "unit": unit,
        "ours": round(ours, 4),
        "against": name,
        "against_value": None if value is None else round(value, 4),
        "ratio": None if ratio is None else round(ratio, 3),
        "target": text,
        "met": met,
    }
