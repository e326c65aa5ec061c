"""Laws of the counts and samples that drift statistics stand on; oracle: numpy and the definition."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from monitors.bins import count_in_bins, quantile_edges, quantiles
from monitors.buckets import ACCURACY, INFINITY, bucket, label, label_sql, merge_counts, numeric_counts, representative
from monitors.sample import NumericSample, merge, numeric_sample

finite = st.floats(allow_nan=False, allow_infinity=False)
normal = finite.filter(lambda x: x == 0 or abs(x) > 1e-300)
anything = st.floats()
small = st.one_of(st.integers(-50, 50).map(float), st.floats(-1e6, 1e6))
samples = st.lists(small, max_size=60)


@given(normal)
def test_a_representative_is_within_one_percent(value: float) -> None:
    index = bucket(value)
    assert index is not None
    shown = representative(index)
    assert math.isclose(shown, value, rel_tol=ACCURACY * 1.01) or abs(value) > 1.7e308


@given(finite, finite)
def test_buckets_keep_the_order_of_values(first: float, second: float) -> None:
    low, high = bucket(min(first, second)), bucket(max(first, second))
    assert low is not None
    assert high is not None
    assert low <= high
    assert low > -INFINITY
    assert high < INFINITY


@given(st.lists(anything, max_size=40), st.lists(anything, max_size=40), st.lists(anything, max_size=40))
def test_counts_merge_in_any_order_and_lose_no_row(a: list[float], b: list[float], c: list[float]) -> None:
    counted = [merge_counts(*({label(x): 1} for x in part)) for part in (a, b, c)]
    one = merge_counts(merge_counts(counted[0], counted[1]), counted[2])
    other = merge_counts(counted[2], merge_counts(counted[1], counted[0]))
    assert one == other
    assert numeric_counts(one).rows == len(a) + len(b) + len(c)


def rows(sample: NumericSample) -> tuple[list[Any], list[int], int, int, int]:
    return (
        sample.values.tolist(),
        sample.counts.tolist(),
        sample.missing,
        sample.negative_inf,
        sample.positive_inf,
    )


@given(st.lists(anything, max_size=30), st.lists(anything, max_size=30))
def test_merging_samples_is_sampling_the_concatenation(a: list[float], b: list[float]) -> None:
    assert rows(merge(numeric_sample(a), numeric_sample(b))) == rows(numeric_sample(a + b))
    assert rows(merge(numeric_sample(b), numeric_sample(a))) == rows(numeric_sample(a + b))


@given(samples.filter(bool), st.lists(anything, max_size=60))
def test_every_present_row_falls_in_exactly_one_bin(baseline: list[float], current: list[float]) -> None:
    edges = quantile_edges(numeric_sample(baseline))
    sample = numeric_sample(current)
    assert np.all(np.diff(edges) > 0)
    assert int(count_in_bins(sample, edges).sum()) == sample.present


@given(st.lists(small, min_size=20, max_size=80, unique=True))
def test_bins_of_distinct_values_hold_a_tenth_each(baseline: list[float]) -> None:
    sample = numeric_sample(baseline)
    counts = count_in_bins(sample, quantile_edges(sample))
    assert len(counts) == 10
    assert max(counts) - min(counts) <= 1


@given(samples.filter(bool))
def test_an_atom_has_a_bin_of_its_own(values: list[float]) -> None:
    sample = numeric_sample([*values, *[7.25] * len(values)])
    edges = quantile_edges(sample)
    index = int(np.searchsorted(edges, 7.25, side="left"))
    assert count_in_bins(sample, edges)[index] == int(sample.counts[sample.values == 7.25][0])


@given(samples.filter(bool), st.integers(1, 99))
def test_quantiles_are_inverted_cdf(values: list[float], percent: int) -> None:
    found = quantiles(numeric_sample(values), (percent / 100,))[0]
    assert found == np.quantile(np.array(values), percent / 100, method="inverted_cdf")


json_values = st.one_of(st.none(), st.floats(allow_nan=False), st.booleans(), st.text(max_size=140))


@given(st.lists(json_values, max_size=30))
def test_labels_in_sql_are_those_of_python(values: list[Any]) -> None:
    def parts(value: Any) -> tuple[float | None, str | None, bool | None]:
        truth = value if isinstance(value, bool) else None
        return (value if isinstance(value, float) else None, value if isinstance(value, str) else None, truth)

    with duckdb.connect() as connection:
        columns = "SELECT ?::DOUBLE num, ?::VARCHAR txt, ?::BOOLEAN truth"
        query = f"SELECT {label_sql('num', 'txt', 'truth')} FROM ({columns})"
        rows = [connection.execute(query, parts(value)).fetchone() for value in values if value != "\x00"]
    assert [row[0] for row in rows if row] == [label(value) for value in values if value != "\x00"]
