"""Compare two samples of one column: every statistic, with a status; the data of `drift compare --json`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from monitors.baseline import BinTable, CategoryBaseline, NumericBaseline
from monitors.chi2 import Chi2, chi2
from monitors.ks import Ks, ks
from monitors.psi import Psi, psi
from monitors.rates import rate_lower_bound
from monitors.sample import CategorySample, NumericSample, category_sample, numeric_sample
from monitors.wasserstein import Wasserstein, wasserstein

OK, INSUFFICIENT, NO_DATA, DEGENERATE = "ok", "insufficient", "no_data", "degenerate"
ROWS_PER_BIN = 10
PSI_DRIFT = 0.1
KS_DRIFT = 0.05
INF_RATE = 0.001
Sample = NumericSample | CategorySample
Baseline = NumericBaseline | CategoryBaseline


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """What is known about one column. Statistics that do not apply, or have no rows to stand on, are None."""

    status: str
    baseline: Sample
    current: Sample
    table: BinTable
    new_rows: int
    psi: Psi | None
    ks: Ks | None
    wasserstein: Wasserstein | None
    chi2: Chi2 | None

    @property
    def inf_rate(self) -> float | None:
        """Share of infinities among the current rows."""
        infinite = self.current.infinite if isinstance(self.current, NumericSample) else 0
        return _rate(infinite, self.current.rows)

    def drifted(self) -> bool:
        """True when the sample proves a change of relevant size, whatever its number of rows.

        PSI above 0.1 with 99 % confidence, KS beyond its noise by 0.05, infinities above 0.1 % with 99 %
        confidence, or nothing but missing values where the baseline had some.
        """
        if self.status == NO_DATA:
            return self.baseline.present > 0 and self.current.rows > 0
        infinite = self.current.infinite if isinstance(self.current, NumericSample) else 0
        if rate_lower_bound(infinite, self.current.rows) > INF_RATE:
            return True
        if self.status == INSUFFICIENT:
            return False
        psi_drift = self.psi is not None and self.psi.lower > PSI_DRIFT
        return psi_drift or (self.ks is not None and self.ks.robust > KS_DRIFT)

    def as_dict(self) -> dict[str, Any]:
        """The JSON of contract `drift compare`; finite numbers, strings and null only."""
        none = self.status == NO_DATA
        return {
            "status": self.status,
            "n_baseline": self.baseline.rows,
            "n_current": self.current.rows,
            "missing_rate": {
                "baseline": _rate(self.baseline.missing, self.baseline.rows),
                "current": _rate(self.current.missing, self.current.rows),
            },
            "inf_rate": self.inf_rate,
            "new_category_rate": _rate(self.new_rows, self.current.rows) if self._categorical else None,
            "psi": _part(None if none else self.psi, "value", "p_value", "lower"),
            "ks": _part(self.ks, "statistic", "p_value", "robust"),
            "wasserstein": _part(self.wasserstein, "value", "normalised"),
            "chi2": _part(None if none else self.chi2, "statistic", "p_value"),
            "bins": bin_rows(self.table),
        }

    @property
    def _categorical(self) -> bool:
        return isinstance(self.current, CategorySample)


def compare_values(baseline: Sequence[object], current: Sequence[object], *, categorical: bool = False) -> Comparison:
    """Compare raw values. Raises InputError when a value is not a number and `categorical` is false."""
    if categorical:
        return compare(CategoryBaseline.freeze(category_sample(baseline)), category_sample(current))
    return compare(NumericBaseline.freeze(numeric_sample(baseline)), numeric_sample(current))


def compare(baseline: Baseline, current: Sample, *, dispersion: float = 1.0) -> Comparison:
    """Compare a sample with a frozen baseline; `dispersion` as in `monitors.psi`."""
    if isinstance(baseline, NumericBaseline) and isinstance(current, NumericSample):
        table, new = baseline.table(current), 0
        distance = ks(baseline.sample, current, dispersion=dispersion)
        transport = wasserstein(baseline.sample, current, dispersion=dispersion)
    elif isinstance(baseline, CategoryBaseline) and isinstance(current, CategorySample):
        table, new = baseline.table(current), baseline.new_rows(current)
        distance, transport = None, None
    else:
        msg = f"a {type(baseline).__name__} cannot be compared with a {type(current).__name__}"
        raise TypeError(msg)
    before, now = table.baseline, table.current
    return Comparison(
        status=_status(baseline, current, table),
        baseline=baseline.sample,
        current=current,
        table=table,
        new_rows=new,
        psi=psi(before, now, dispersion=dispersion),
        ks=distance,
        wasserstein=transport,
        chi2=chi2(before, now, dispersion=dispersion),
    )


def bin_rows(table: BinTable) -> list[dict[str, Any]]:
    """The bins as JSON objects; an open end is null, MISSING, OTHER and NEW are labels."""
    return [
        {
            "from": _finite(b.low),
            "to": _finite(b.high),
            "label": b.label,
            "baseline": b.baseline,
            "current": b.current,
        }
        for b in table.bins
    ]


def rows_needed(baseline: Baseline) -> int:
    """Rows below which a comparison is insufficient: ten for every bin that the baseline fills."""
    return ROWS_PER_BIN * max(1, baseline.filled)


def _status(baseline: Baseline, current: Sample, table: BinTable) -> str:
    if baseline.sample.present == 0 or current.present == 0:
        return NO_DATA
    if min(baseline.sample.rows, current.rows) < ROWS_PER_BIN * table.active:
        return INSUFFICIENT
    if isinstance(baseline, NumericBaseline) and len(baseline.sample.values) < 2:
        return DEGENERATE
    return OK


def _rate(part: int, total: int) -> float | None:
    return part / total if total else None


def _finite(value: float | int | str | None) -> float | int | str | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _part(statistic: object, *names: str) -> dict[str, Any]:
    return {name: None if statistic is None else getattr(statistic, name) for name in names}
