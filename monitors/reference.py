"""The frozen reference of one series: counts of the baseline by hour of the day, and how much its hours vary."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from scipy.stats import chi2

from monitors.baseline import CategoryBaseline, NumericBaseline
from monitors.buckets import category_counts, is_numeric, merge_counts, numeric_counts
from monitors.compare import Baseline, Sample, rows_needed
from monitors.policy import HOUR_US
from monitors.psi import psi
from monitors.sample import NumericSample

HOURS_PER_DAY = 24
MOST_CATEGORIES = 10
Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Reference:
    """Counts per hour of the day (UTC) in [from_us, to_us); `dispersion` is the variance factor between hours."""

    numeric: bool
    seasons: Mapping[int, Counts]
    from_us: int
    to_us: int
    dispersion: float = 1.0

    def sample(self, counts: Counts) -> Sample:
        """Counts as the kind of sample that this series has."""
        return numeric_counts(counts) if self.numeric else category_counts(counts)

    def baseline(self, hour_us: int, *, seasonal: bool = True) -> Baseline:
        """The baseline for one hour: that hour of the day and its neighbours; all hours when they are too few."""
        if seasonal:
            near = season(hour_us)
            hours = [self.seasons.get((near + step) % HOURS_PER_DAY, {}) for step in (-1, 0, 1)]
            found = freeze_counts(self.numeric, merge_counts(*hours))
            if found.sample.rows >= rows_needed(found) and found.sample.present:
                return found
        return freeze_counts(self.numeric, merge_counts(*self.seasons.values()))


def season(hour_us: int) -> int:
    """The hour of the day, UTC."""
    return hour_us // HOUR_US % HOURS_PER_DAY


def freeze_counts(numeric: bool, counts: Counts) -> Baseline:
    """Freeze bins on counts; at most ten categories have a bin of their own, so that an hour can fill them."""
    if numeric:
        return NumericBaseline.freeze(numeric_counts(counts))
    return CategoryBaseline.freeze(category_counts(counts), most=MOST_CATEGORIES)


def freeze(hours: Mapping[int, Counts], from_us: int, to_us: int) -> Reference:
    """The reference of the hours (start in us -> counts) of a baseline."""
    total = merge_counts(*hours.values())
    seasons: dict[int, dict[str, int]] = {}
    for start, counts in sorted(hours.items()):
        seasons[season(start)] = merge_counts(seasons.get(season(start), {}), counts)
    plain = Reference(is_numeric(total), seasons, from_us, to_us)
    ratios = [ratio for start, counts in hours.items() for ratio in _ratio(plain, start, counts)]
    return Reference(plain.numeric, seasons, from_us, to_us, _dispersion(ratios))


def _ratio(reference: Reference, start: int, counts: Counts) -> list[tuple[float, int]]:
    """(PSI in units of its noise, degrees of freedom) of one hour against the other days, if it has the rows."""
    here = season(start)
    without = {hour: _subtract(kept, counts) if hour == here else kept for hour, kept in reference.seasons.items()}
    others = Reference(reference.numeric, without, reference.from_us, reference.to_us)
    near = merge_counts(*(without.get((here + step) % HOURS_PER_DAY, {}) for step in (-1, 0, 1)))
    if not sum(near.values()):
        return []
    baseline, current = others.baseline(start), reference.sample(counts)
    if isinstance(baseline, NumericBaseline):
        table = baseline.table(current if isinstance(current, NumericSample) else numeric_counts({}))
    else:
        table = baseline.table(category_counts(counts))
    found = psi(table.baseline, table.current)
    if found is None or table.active < 2 or current.rows < rows_needed(baseline):
        return []
    noise = 1 / int(table.baseline.sum()) + 1 / int(table.current.sum())
    return [(found.value / noise, table.active - 1)]


def _dispersion(ratios: list[tuple[float, int]]) -> float:
    """How many times the variance of independent rows the hours of the baseline show; 1 at least."""
    if not ratios:
        return 1.0
    typical = median(value / float(chi2.ppf(0.5, freedom)) for value, freedom in ratios)
    return max(1.0, typical) if math.isfinite(typical) else 1.0


def _subtract(counts: Counts, part: Counts) -> dict[str, int]:
    return {name: left for name, count in counts.items() if (left := count - part.get(name, 0)) > 0}
