"""Variance from summed partials, against exact fractions, in Python and on DuckDB, in any split."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import numpy as np
import pytest

from featuredsl.aggregators import AGGREGATORS, Aggregate, merge_values
from featuredsl.compilers.scalar import DUCKDB, render
from featuredsl.evaluate import evaluate
from featuredsl.nodes import Column

VAR = AGGREGATORS["var"].build("s", Column("x", "float"), None)
rng = np.random.default_rng(7)
SAMPLES = {
    "far from zero": [1e9 + k for k in (4, 7, 13, 16)],
    "mean^2 / variance = 2^55": list(1e9 + 5 * rng.normal(size=4000)),
    "negative, far": list(-1e9 + 5 * rng.normal(size=1000)),
    "small": list(1e-8 * rng.normal(size=1000)),
    "a rate with small noise": list(0.1 + 1e-9 * rng.normal(size=999)),
    "many magnitudes": list(rng.lognormal(sigma=5, size=1000)),
    "both sides of a power of two": [2.0**30 - 1, 2.0**30 + 1, 2.0**30],
    "large": [1e99, -1e99],
    "constant": [0.1] * 7,
}


def exact(values: list[float]) -> float:
    numbers = [Fraction(float(value)) for value in values]
    mean = sum(numbers) / len(numbers)
    return float(sum((x - mean) ** 2 for x in numbers) / (len(numbers) - 1))


def in_python(aggregate: Aggregate, values: list[float], pieces: int) -> object:
    parts = [values[i::pieces] for i in range(pieces)]
    row = {
        f"p{i}": merge_values(
            p.merge, [merge_values(p.merge, [evaluate(p.lift, {"x": float(x)}) for x in part]) for part in parts]
        )
        for i, p in enumerate(aggregate.partials)
    }
    return evaluate(aggregate.finalize, row)


def on_duckdb(aggregate: Aggregate, values: list[float]) -> object:
    sums = ", ".join(f"SUM({render(p.lift, DUCKDB)}) AS p{i}" for i, p in enumerate(aggregate.partials))
    text = f"SELECT {render(aggregate.finalize, DUCKDB)} FROM (SELECT {sums} FROM (SELECT unnest(?::DOUBLE[]) AS x))"
    found = duckdb.connect().execute(text, [[float(v) for v in values]]).fetchone()
    return found[0] if found else None


@pytest.mark.parametrize("values", SAMPLES.values(), ids=SAMPLES)
def test_variance_is_the_exact_one(values: list[float]) -> None:
    wanted = pytest.approx(exact(values), rel=1e-9, abs=0)
    assert in_python(VAR, values, 1) == wanted
    assert in_python(VAR, values, 3) == wanted
    assert on_duckdb(VAR, values) == wanted


@pytest.mark.parametrize("bad", [1e101, float("inf"), float("nan")])
def test_a_value_out_of_range_gives_null(bad: float) -> None:
    assert in_python(VAR, [1.0, 2.0, bad], 2) is None
    assert on_duckdb(VAR, [1.0, 2.0, bad]) is None
