"""The published cases of research on drift tools, each with the right value; oracles: scipy, numpy, by hand.

The values were published for edges on baseline values; midpoints move them in the fourth digit at most.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from monitors.compare import Comparison, compare_values

NAN = math.nan


def gauss(n: int) -> np.ndarray[Any, Any]:
    return stats.norm.ppf((np.arange(n) + 0.5) / n)


def ints(start: int, stop: int) -> list[int]:
    return list(range(start, stop))


def compared(baseline: Sequence[object], current: Sequence[object], categorical: bool = False) -> Comparison:
    return compare_values(baseline, current, categorical=categorical)


PSI_CASES: dict[str, tuple[Any, Any, float]] = {
    "shift above the range": (ints(0, 1000), ints(1000, 2000), 6.17553),
    "8 rows in one decile": (ints(0, 1000), [450] * 8, 6.1755),
    "tiny shift": (gauss(10000), gauss(1000) + 0.01, 0.00012),
    "baseline outlier": ([*gauss(20000), 1e9], gauss(5000) + 3, 5.25896),
    "one row per decile": (gauss(1000), gauss(10), 0.0),
    "equal share of NaN": ([1.0, NAN] * 500, [1.0, NAN] * 500, 0.0),
    "half NaN": (ints(0, 1000), [*ints(0, 1000), *[None] * 1000], 3.4477),
    "zeros 90 to 10 percent": ([0] * 900 + ints(1, 101), [0] * 100 + ints(1, 101) * 9, 3.51556),
    "constant moves up": ([3] * 1000, [4] * 500, 13.8017),
    "constant moves down": ([3] * 1000, [2] * 500, 13.8017),
    "constant stays": ([3] * 1000, [3] * 500, 0.0),
    "empty lowest bin": (ints(0, 1000), ints(100, 1100), 0.52523),
    "far apart": (ints(0, 1000), [-1.0] * 500 + [1e9] * 500, 4.93485),
    "half sigma": (gauss(10000), gauss(10000) + 0.5, 0.23791),
    "wider": (gauss(10000), gauss(10000) * 1.5, 0.19353),
    "infinity in the outer bin": (ints(0, 1000), [*ints(0, 900), *[math.inf] * 100], 0.0),
    "int64 beyond doubles": ([2**53, 2**53 + 1] * 500, [2**53 + 1] * 1000, 3.4477),
    "jitter up": ([0.1, 0.2, 0.3] * 100, [x + 1e-9 for x in [0.1, 0.2, 0.3] * 100], 0.0),
    "jitter down": ([0.1, 0.2, 0.3] * 100, [x - 1e-9 for x in [0.1, 0.2, 0.3] * 100], 0.0),
}


@pytest.mark.parametrize("case", PSI_CASES)
def test_psi_of_numbers(case: str) -> None:
    baseline, current, expected = PSI_CASES[case]
    found = compared(baseline, current).psi
    assert found is not None
    assert found.value == pytest.approx(expected, abs=2e-4)


CATEGORY_CASES: dict[str, tuple[Any, Any, float]] = {
    "mixed types": (["a", "b", "c", 123], [123], 5.16425),
    "one category": (["a"] * 50, ["a"] * 50, 0.0),
    "all replaced": ([f"z{i}" for i in range(5000)], [f"y{i}" for i in range(5000)], 13.8017),
    "booleans": ([True] * 500 + [False] * 500, [True] * 800 + [False] * 200, 0.415888),
    "text is not a number": (["1"] * 100, [1] * 100, 13.8017),
    "one is not true": ([1] * 100, [True] * 100, 13.8017),
}


@pytest.mark.parametrize("case", CATEGORY_CASES)
def test_psi_of_categories(case: str) -> None:
    baseline, current, expected = CATEGORY_CASES[case]
    found = compared(baseline, current, categorical=True).psi
    assert found is not None
    assert found.value == pytest.approx(expected, abs=6e-5)


KS_CASES: dict[str, tuple[Any, Any, float, float]] = {
    "single rows": ([0], [1], 1.0, 1.0),
    "two against four": ([1, 2], [3, 4, 5, 6], 1.0, 0.133333),
    "disjoint": (ints(0, 1000), ints(1000, 2000), 1.0, 0.0),
    "shift by a tenth": (ints(0, 1000), ints(100, 1100), 0.1, 8.342e-5),
    "one row per decile": (gauss(1000), gauss(10), 0.05, 1.0),
    "signed zero": ([-0.0] * 10, [0.0] * 10, 0.0, 1.0),
    "constant": ([3] * 1000, [3] * 10, 0.0, 1.0),
    "baseline outlier": ([*gauss(20000), 1e9], gauss(5000) + 3, 0.86645, 0.0),
    "int64 beyond doubles": ([2**53, 2**53 + 1] * 500, [2**53 + 1] * 1000, 0.5, 0.0),
    "zeros": ([0] * 900 + ints(1, 101), [0] * 100 + ints(1, 101) * 9, 0.8, 0.0),
}


@pytest.mark.parametrize("case", KS_CASES)
def test_ks(case: str) -> None:
    baseline, current, statistic, p_value = KS_CASES[case]
    found = compared(baseline, current).ks
    assert found is not None
    assert found.statistic == pytest.approx(statistic, abs=5e-6)
    assert found.p_value == pytest.approx(p_value, rel=1e-3, abs=1e-6)


def test_ks_p_value_is_exact_without_ties_and_asymptotic_with_them() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=300), rng.normal(0.1, 1, size=180)
    free = compared(a, b).ks
    tied = compared(ints(0, 1000), ints(25, 1025)).ks
    assert free is not None
    assert free.p_value == pytest.approx(stats.ks_2samp(a, b, method="exact").pvalue, rel=1e-9)
    assert tied is not None
    assert tied.p_value == pytest.approx(0.90558, abs=1e-5)


W1_CASES: dict[str, tuple[Any, Any, float]] = {
    "shift": (ints(0, 1000), ints(100, 1100), 100.0),
    "half sigma": (gauss(10000), gauss(10000) + 0.5, 0.5),
    "wider": (gauss(10000), gauss(10000) * 1.5, 0.39893),
    "denormal": ([5e-324] * 10, [1e-323] * 10, 5e-324),
    "five percent far out": ([0.0] * 1000, [0.0] * 950 + [1e6] * 50, 50000.0),
}


@pytest.mark.parametrize("case", W1_CASES)
def test_wasserstein(case: str) -> None:
    baseline, current, expected = W1_CASES[case]
    found = compared(baseline, current).wasserstein
    assert found is not None
    assert found.value == pytest.approx(expected, rel=2e-5)


def test_wasserstein_beyond_the_range_of_a_double_is_given_normalised_only() -> None:
    found = compared([-1.7e308] * 500 + [1.7e308] * 500, [1.7e308] * 1000).wasserstein
    assert found is not None
    assert found.value == pytest.approx(1.7e308)
    far = compared([-1.7e308] * 999 + [-1.6e308], [1.7e308] * 1000).wasserstein
    assert far is not None
    assert far.value is None
    assert far.normalised is not None
    assert math.isfinite(far.normalised)


def test_statistics_agree_with_scipy_on_random_samples() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.lognormal(0, 2, 4000), rng.lognormal(0.2, 2, 700)
    found = compared(a, b)
    assert found.ks is not None
    assert found.wasserstein is not None
    assert found.ks.statistic == pytest.approx(stats.ks_2samp(a, b).statistic, abs=1e-12)
    assert found.wasserstein.value == pytest.approx(stats.wasserstein_distance(a, b), rel=1e-9)
    assert found.wasserstein.normalised == pytest.approx(stats.wasserstein_distance(a, b) / np.std(a, ddof=1), rel=1e-9)


def test_chi_square_of_booleans() -> None:
    found = compared([True] * 500 + [False] * 500, [True] * 800 + [False] * 200, categorical=True).chi2
    oracle = stats.chi2_contingency([[500, 500], [800, 200]], correction=False)
    assert found is not None
    assert found.statistic == pytest.approx(oracle.statistic)
    assert found.p_value == pytest.approx(3.9e-47, rel=0.02)


STATUS_CASES: dict[str, tuple[Any, Any, bool, str]] = {
    "nothing but missing": ([1, 2, 3, 4, 5] * 1000, [None, NAN], False, "no_data"),
    "empty": ([1, 2, 3], [], False, "no_data"),
    "few rows": (ints(0, 1000), [450] * 8, False, "insufficient"),
    "ten rows for ten bins": (gauss(1000), gauss(10), False, "insufficient"),
    "constant baseline": ([3] * 1000, [4] * 500, False, "degenerate"),
    "enough": (ints(0, 1000), ints(0, 100), False, "ok"),
    "one category": (["a"] * 50, ["a"] * 50, True, "ok"),
}


@pytest.mark.parametrize("case", STATUS_CASES)
def test_status(case: str) -> None:
    baseline, current, categorical, expected = STATUS_CASES[case]
    assert compared(baseline, current, categorical).status == expected


def test_no_data_gives_nulls_and_a_missing_rate() -> None:
    found = compared([1, 2, 3, 4, 5] * 1000, [None, None]).as_dict()
    assert found["psi"]["value"] is None
    assert found["ks"]["p_value"] is None
    assert found["missing_rate"]["current"] == 1.0


@pytest.mark.parametrize(
    ("baseline", "current", "categorical", "expected"),
    [
        (ints(0, 1000), [*ints(0, 900), *[math.inf] * 100], False, True),
        (gauss(10000), gauss(1000) + 0.01, False, False),
        (ints(0, 1000), [*ints(0, 500), *[NAN] * 500], False, True),
        (gauss(1000), gauss(1000) + 10, False, True),
        (ints(0, 1000), [450] * 8, False, False),
        ([f"z{i}" for i in range(5000)], [f"y{i}" for i in range(5000)], True, True),
        ([1, 2], [None] * 5, False, True),
    ],
)
def test_drift_needs_size_and_evidence(baseline: Any, current: Any, categorical: bool, expected: bool) -> None:
    assert compared(baseline, current, categorical).drifted() is expected


def test_output_is_strict_json_with_all_rows_in_the_bins() -> None:
    rng = np.random.default_rng(1)
    current = [*rng.normal(size=90), math.inf, -math.inf, None, NAN]
    found = compared(gauss(1000), current).as_dict()
    json.dumps(found, allow_nan=False)
    assert found["inf_rate"] == pytest.approx(2 / 94)
    assert sum(row["current"] for row in found["bins"]) == 94
    assert found["bins"][0]["from"] is None
    assert found["bins"][-1]["label"] == "MISSING"


def test_every_category_rate_is_reported() -> None:
    found = compared(["a"] * 90 + ["b"] * 10, ["a"] * 50 + ["x"] * 50, categorical=True).as_dict()
    assert found["new_category_rate"] == 0.5
    assert found["bins"][-1] == {"from": None, "to": None, "label": "NEW", "baseline": 0, "current": 50}
