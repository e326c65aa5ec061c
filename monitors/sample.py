"""Samples as distinct values with counts: the one input of every statistic.

A sample comes from raw values or from counts of buckets, so that a statistic over a file and over a window
of a stream is the same code. Missing values (None and NaN) and infinities are counted apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featuredsl.errors import InputError

Array = NDArray[Any]
EXACT_FLOAT = 2**53
INT64 = 2**63


@dataclass(frozen=True, slots=True, eq=False)
class NumericSample:
    """Finite values, distinct and ascending, with their counts; int64 where a double would lose digits."""

    values: Array
    counts: NDArray[np.int64]
    missing: int = 0
    negative_inf: int = 0
    positive_inf: int = 0

    @property
    def finite(self) -> int:
        """Number of finite rows."""
        return int(self.counts.sum())

    @property
    def infinite(self) -> int:
        """Number of rows that are plus or minus infinity."""
        return self.negative_inf + self.positive_inf

    @property
    def present(self) -> int:
        """Number of rows that hold a value, infinities included."""
        return self.finite + self.infinite

    @property
    def rows(self) -> int:
        """Number of rows, missing ones included."""
        return self.present + self.missing


@dataclass(frozen=True, slots=True)
class CategorySample:
    """Rows per category. Keys carry the type of the value, so that 1, "1" and true stay three categories."""

    counts: Mapping[str, int]
    missing: int = 0

    @property
    def present(self) -> int:
        """Number of rows that hold a value."""
        return sum(self.counts.values())

    @property
    def rows(self) -> int:
        """Number of rows, missing ones included."""
        return self.present + self.missing


def numeric_sample(values: Iterable[object]) -> NumericSample:
    """Count numbers; None and NaN are missing. Raises InputError on a value that is not a number."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return _from_array(values)
    numbers = [math.nan if value is None else _number(value) for value in values]
    return _count(numbers)


def weighted_sample(
    pairs: Mapping[float, int], *, missing: int = 0, negative_inf: int = 0, positive_inf: int = 0
) -> NumericSample:
    """A sample from value -> count, as bucket counters deliver it; counts of zero are left out."""
    kept = sorted((value, count) for value, count in pairs.items() if count)
    values = np.array([value for value, _ in kept], dtype=np.float64)
    counts = np.array([count for _, count in kept], dtype=np.int64)
    return NumericSample(values, counts, missing, negative_inf, positive_inf)


def category_sample(values: Iterable[object]) -> CategorySample:
    """Count categories by value and type; None and NaN are missing."""
    counts: Counter[str] = Counter()
    missing = 0
    for value in values:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            missing += 1
        else:
            counts[category_key(value)] += 1
    return CategorySample(dict(counts), missing)


def category_key(value: object) -> str:
    """The counted name of a category: text as it is behind `s:`, other types behind their own letter."""
    if isinstance(value, str):
        return f"s:{value}"
    if isinstance(value, bool | np.bool_):
        return f"b:{str(bool(value)).lower()}"
    if isinstance(value, int | np.integer):
        return f"i:{int(value)}"
    if isinstance(value, float | np.floating):
        return f"f:{float(value)!r}"
    return f"o:{value}"


def merge(first: NumericSample, second: NumericSample) -> NumericSample:
    """The sample of all rows of both; commutative and associative."""
    left, right = common_type(first, second)
    joined = np.concatenate([left.values, right.values])
    values, inverse = np.unique(joined, return_inverse=True)
    counts = np.zeros(len(values), dtype=np.int64)
    np.add.at(counts, inverse, np.concatenate([left.counts, right.counts]))
    return NumericSample(
        values,
        counts,
        left.missing + right.missing,
        left.negative_inf + right.negative_inf,
        left.positive_inf + right.positive_inf,
    )


def common_type(first: NumericSample, second: NumericSample) -> tuple[NumericSample, NumericSample]:
    """Both samples in one dtype, without losing digits of large integers where the other side allows it."""
    if first.values.dtype == second.values.dtype:
        return first, second
    floats, _ = (first, second) if first.values.dtype.kind == "f" else (second, first)
    target = np.int64 if _integral(floats.values) else np.float64
    return _cast(first, target), _cast(second, target)


def distribution_function(sample: NumericSample, points: Array) -> Array:
    """Share of the finite rows at or below each point."""
    cumulated = np.concatenate([[0], np.cumsum(sample.counts)])
    shares: Array = cumulated[np.searchsorted(sample.values, points, side="right")] / sample.finite
    return shares


def mean_and_deviation(sample: NumericSample) -> tuple[float, float] | None:
    """Mean and sample standard deviation of finite rows, or None without any; scaled, so never overflowing.

    Two passes around the mean (never a sum of squares), n - 1 in the divisor, 0 for a single row.
    """
    n = sample.finite
    if n == 0:
        return None
    values = sample.values.astype(np.float64)
    scale = float(np.max(np.abs(values))) or 1.0
    scale = scale if scale > 1e150 else 1.0
    scaled = values / scale
    weights = sample.counts / n
    centre = float(np.dot(scaled, weights))
    squares = float(np.dot((scaled - centre) ** 2, sample.counts))
    deviation = math.sqrt(squares / (n - 1)) if n > 1 and len(values) > 1 else 0.0
    return centre * scale, deviation * scale


def _from_array(array: Array, missing: int = 0) -> NumericSample:
    if array.dtype.kind in "iu":
        narrow = array.size == 0 or (int(array.min()) > -EXACT_FLOAT and int(array.max()) < EXACT_FLOAT)
        array = array.astype(np.float64) if narrow else array.astype(np.int64)
        values, counts = np.unique(array, return_counts=True)
        return NumericSample(values, counts.astype(np.int64), missing)
    array = array.astype(np.float64)
    finite = np.isfinite(array)
    values, counts = np.unique(array[finite] + 0.0, return_counts=True)
    return NumericSample(
        values,
        counts.astype(np.int64),
        missing=missing + int(np.isnan(array).sum()),
        negative_inf=int(np.isneginf(array).sum()),
        positive_inf=int(np.isposinf(array).sum()),
    )


def _number(value: object) -> float | int:
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    msg = f"{value!r} is not a number; compare the column as categories (--categorical)"
    raise InputError(msg)


def _count(numbers: list[float | int]) -> NumericSample:
    """Count as doubles, or as int64 where a double would lose digits of a whole number."""
    wide = any(isinstance(n, int) and not -EXACT_FLOAT < n < EXACT_FLOAT for n in numbers)
    present = [n for n in numbers if not (isinstance(n, float) and math.isnan(n))] if wide else []
    if wide and all(isinstance(n, int) and -INT64 <= n < INT64 for n in present):
        return _from_array(np.array(present, dtype=np.int64), len(numbers) - len(present))
    return _from_array(np.array(numbers, dtype=np.float64))


def _integral(values: Array) -> bool:
    inside = np.abs(values) < EXACT_FLOAT
    return bool(np.all(inside & (values == np.floor(values))))


def _cast(sample: NumericSample, dtype: type[Any]) -> NumericSample:
    values, inverse = np.unique(sample.values.astype(dtype), return_inverse=True)
    counts = np.zeros(len(values), dtype=np.int64)
    np.add.at(counts, inverse, sample.counts)
    return NumericSample(values, counts, sample.missing, sample.negative_inf, sample.positive_inf)
