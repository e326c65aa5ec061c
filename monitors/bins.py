"""Frozen bins of numbers: inverted-CDF quantiles between distinct values, atoms apart, open ends.

Source: research on drift rules; quantile edges keep outliers of the baseline from stretching the bins, and
midpoints keep rounding noise of a value from moving it into another bin.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitors.sample import Array, NumericSample, common_type

PSI_BINS = 10
NEIGHBOUR_MARGIN = 1e-6


def quantile_edges(sample: NumericSample, bins: int = PSI_BINS) -> Array:
    """Upper edges of right-closed bins, ascending and unique; the first and the last bin are open.

    An edge lies at the midpoint between the inverted-CDF quantile i / bins and the next distinct value. A
    value with at least 1 / bins of the finite rows gets a bin of its own, also at either end of the range.
    """
    values, n = sample.values, sample.finite
    if n == 0:
        return values[:0]
    cumulated = np.cumsum(sample.counts) * bins
    positions = np.searchsorted(cumulated, np.arange(1, bins) * n, side="left")
    atoms = np.flatnonzero(sample.counts * bins >= n)
    above = {int(i) for i in positions if i < len(values) - 1} | {int(i) for i in atoms}
    below = {int(i) - 1 for i in atoms}
    edges = [_edge_after(values, index) for index in sorted(above | below)]
    frozen: Array = np.unique(np.array(edges, dtype=values.dtype))
    return frozen


def quantiles(sample: NumericSample, levels: tuple[float, ...]) -> tuple[float | int | None, ...]:
    """Inverted-CDF quantiles: the smallest value with at least that share of finite rows at or below it."""
    n = sample.finite
    if n == 0:
        return tuple(None for _ in levels)
    cumulated = np.cumsum(sample.counts)
    wanted = np.ceil(np.array(levels) * n - 1e-9)
    return tuple(sample.values[int(i)].item() for i in np.searchsorted(cumulated, wanted, side="left"))


def count_in_bins(sample: NumericSample, edges: Array) -> NDArray[np.int64]:
    """Rows per bin; every row that is present falls in exactly one, infinities in the outer ones."""
    holder = NumericSample(edges, np.zeros(len(edges), dtype=np.int64))
    aligned, limits = common_type(sample, holder)
    counts = np.zeros(len(edges) + 1, dtype=np.int64)
    np.add.at(counts, np.searchsorted(limits.values, aligned.values, side="left"), aligned.counts)
    counts[0] += sample.negative_inf
    counts[-1] += sample.positive_inf
    return counts


def bin_limits(edges: Array) -> list[tuple[float | int | None, float | int | None]]:
    """(from, to] of every bin; None is an open end."""
    ends: list[Any] = [None, *(edge.item() for edge in edges), None]
    return list(pairwise(ends))


def _edge_after(values: Array, index: int) -> Any:
    """The edge between the values at `index` and `index + 1`; beyond an end, just outside of that end."""
    last = len(values) - 1
    if 0 <= index < last:
        return _midpoint(values[index], values[index + 1])
    if values.dtype.kind != "f":
        return values[0] - 1 if index < 0 else values[last]
    if last == 0:
        return np.nextafter(values[0], -np.inf) if index < 0 else values[0]
    if index < 0:
        margin = (values[1] / 2 - values[0] / 2) * NEIGHBOUR_MARGIN
        return min(values[0] - margin, np.nextafter(values[0], -np.inf))
    margin = (values[last] / 2 - values[last - 1] / 2) * NEIGHBOUR_MARGIN
    return values[last] + margin


def _midpoint(low: Any, high: Any) -> Any:
    """A value in [low, high): halfway where the type can hold it."""
    if low.dtype.kind != "f":
        return low.dtype.type((int(low) + int(high)) // 2)
    middle = low / 2 + high / 2 if abs(low) > 1e300 or abs(high) > 1e300 else (low + high) / 2
    return middle if low <= middle < high else low
