"""Frozen baselines and the table of counts that they give for a current sample.

A numeric baseline keeps its edges for ever; a categorical one keeps its categories, with those rarer than
the clip folded into OTHER and those never seen counted as NEW. Missing values have a bin as soon as a side
has any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitors.bins import PSI_BINS, bin_limits, count_in_bins, quantile_edges
from monitors.psi import CLIP
from monitors.sample import Array, CategorySample, NumericSample

MISSING = "MISSING"
OTHER = "OTHER"
NEW = "NEW"
Limit = float | int | str | None


@dataclass(frozen=True, slots=True)
class Bin:
    """One row of the evidence: a range (low, high], a category, or one of MISSING, OTHER, NEW."""

    low: Limit
    high: Limit
    label: str | None
    baseline: int
    current: int


@dataclass(frozen=True, slots=True, eq=False)
class BinTable:
    """Counts of both sides over the same bins."""

    bins: tuple[Bin, ...]

    @property
    def baseline(self) -> NDArray[np.int64]:
        """Counts of the baseline."""
        return np.array([b.baseline for b in self.bins], dtype=np.int64)

    @property
    def current(self) -> NDArray[np.int64]:
        """Counts of the current sample."""
        return np.array([b.current for b in self.bins], dtype=np.int64)

    @property
    def active(self) -> int:
        """Number of bins that hold a row of either side."""
        return sum(1 for b in self.bins if b.baseline or b.current)


@dataclass(frozen=True, slots=True, eq=False)
class NumericBaseline:
    """Edges frozen from `sample`, which stays for the statistics that need values."""

    sample: NumericSample
    edges: Array

    @classmethod
    def freeze(cls, sample: NumericSample, bins: int = PSI_BINS) -> NumericBaseline:
        """Compute the edges once."""
        return cls(sample, quantile_edges(sample, bins))

    @property
    def filled(self) -> int:
        """Number of bins that hold a row of the baseline."""
        return int(np.count_nonzero(self.table(self.sample).baseline))

    def table(self, current: NumericSample) -> BinTable:
        """Counts per bin of both sides."""
        limits = bin_limits(self.edges)
        before, now = count_in_bins(self.sample, self.edges), count_in_bins(current, self.edges)
        rows = [Bin(low, high, None, int(b), int(c)) for (low, high), b, c in zip(limits, before, now, strict=True)]
        return BinTable((*rows, *_missing(self.sample.missing, current.missing)))


@dataclass(frozen=True, slots=True, eq=False)
class CategoryBaseline:
    """Categories with a bin of their own, most frequent first; the rest of the baseline is OTHER."""

    sample: CategorySample
    kept: tuple[str, ...]

    @classmethod
    def freeze(cls, sample: CategorySample, *, clip: float = CLIP, most: int | None = None) -> CategoryBaseline:
        """Keep the categories with at least `clip` of the rows, and no more than `most` of them."""
        total = sample.present
        ordered = sorted(sample.counts.items(), key=lambda item: (-item[1], item[0]))
        kept = [key for key, count in ordered if count >= clip * total]
        if most is not None and len(sample.counts) > most:
            kept = kept[: most - 1]
        return cls(sample, tuple(kept))

    @property
    def filled(self) -> int:
        """Number of bins that hold a row of the baseline."""
        return int(np.count_nonzero(self.table(self.sample).baseline))

    def table(self, current: CategorySample) -> BinTable:
        """Counts per category of both sides, then OTHER, NEW and MISSING where either side has any."""
        kept = set(self.kept)
        rows = [
            Bin(_shown(key), _shown(key), _shown(key), self.sample.counts[key], current.counts.get(key, 0))
            for key in self.kept
        ]
        rare = sum(count for key, count in self.sample.counts.items() if key not in kept)
        known = sum(c for key, c in current.counts.items() if key in self.sample.counts and key not in kept)
        rows += [Bin(None, None, OTHER, rare, known)] if rare or known else []
        new = self.new_rows(current)
        rows += [Bin(None, None, NEW, 0, new)] if new else []
        return BinTable((*rows, *_missing(self.sample.missing, current.missing)))

    def new_rows(self, current: CategorySample) -> int:
        """Rows of categories that the baseline never had."""
        return sum(count for key, count in current.counts.items() if key not in self.sample.counts)


def _missing(baseline: int, current: int) -> tuple[Bin, ...]:
    return (Bin(None, None, MISSING, baseline, current),) if baseline or current else ()


def _shown(key: str) -> str:
    """A category as people read it: text quoted only where it would look like another type."""
    kind, text = key[:1], key[2:]
    plain = kind != "s" or not _ambiguous(text)
    return text if plain else f'"{text}"'


def _ambiguous(text: str) -> bool:
    if text in {MISSING, OTHER, NEW, "true", "false"}:
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True
