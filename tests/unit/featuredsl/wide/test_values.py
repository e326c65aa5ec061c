"""States of single aggregates: values worked out by hand, stated error bounds, refusals."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from featuredsl.errors import DefinitionError
from featuredsl.wide.decayed import Decayed
from featuredsl.wide.distinct import MOST_COUPONS, Distinct
from featuredsl.wide.frequent import EXACT, KEPT, TopK
from featuredsl.wide.monoid import Monoid
from featuredsl.wide.ordered import First, LastK
from featuredsl.wide.plain import Plain
from featuredsl.wide.quantile import Quantile
from tests.support import wide_oracle as oracle

NAN = float("nan")


def value_of(monoid: Monoid[Any], events: list[tuple[Any, ...]], at_us: int = 0) -> Any:
    state = monoid.empty()
    for time_us, *values in events:
        state = monoid.add(state, time_us, tuple(values))
    return monoid.finalize(state, at_us)


# An event is (time, value, sequence, ties by value).
@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], None),
        ([(5, "b", 1, "b"), (4, "c", 9, "c")], "c"),
        ([(4, "c", 9, "c"), (5, "b", 1, "b")], "c"),
        ([(4, "b", 2, "b"), (4, "c", 1, "c")], "c"),
        ([(4, "b", 1, "b"), (4, "a", 1, "a")], "a"),
        ([(4, "b", 1, "b"), (4, "z", None, "z")], "z"),
        ([(4, "é", 1, "é"), (4, "z", 1, "z")], "z"),
        ([(4, 10, 1, 10), (4, 9, 1, 9)], 9),
        ([(4, None, 1, None), (4, 9, 1, 9)], None),
        ([(4, NAN, 1, NAN), (4, 9.0, 1, 9.0)], 9.0),
        ([(-7, False, 1, False), (4, True, 1, True)], False),
    ],
)
def test_first(events: list[tuple[Any, ...]], expected: Any) -> None:
    assert value_of(First(), events) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], None),
        ([(5, 1, 1, 1)], [1]),
        ([(5, 1, 1, 1), (7, 2, 1, 2), (6, 3, 1, 3)], [2, 3]),
        ([(5, 1, 2, 1), (5, 2, 1, 2), (5, 3, None, 3)], [1, 2]),
        ([(5, 1, 1, 1), (5, 3, 1, 3), (5, 2, 1, 2)], [3, 2]),
        ([(5, 4, 1, 4), (5, 4, 1, 4), (4, 9, 1, 9)], [4, 4]),
    ],
)
def test_last_two(events: list[tuple[Any, ...]], expected: Any) -> None:
    assert value_of(LastK(2), events) == expected


def test_top_k_breaks_ties_by_value_as_numbers_and_as_bytes() -> None:
    numbers = [(i, x) for i, x in enumerate([10, 9, 10, 9, 7])]
    assert value_of(TopK(2, "values"), numbers) == [9, 10]
    assert value_of(TopK(3, "counts"), numbers) == [2, 2, 1]
    assert value_of(TopK(1, "value"), numbers) == 9
    assert value_of(TopK(3, "values"), [(0, "é"), (1, "z"), (2, "Z")]) == ["Z", "z", "é"]
    assert value_of(TopK(3, "values"), []) is None
    zeros = value_of(TopK(1, "values"), [(0, -0.0), (1, 0.0), (2, 1.0)])
    assert zeros == [0.0]
    assert math.copysign(1, zeros[0]) == 1


def test_top_k_beyond_its_limit_is_too_low_by_at_most_the_stated_share() -> None:
    rng = random.Random(7)
    values = [rng.randrange(6000) if rng.random() < 0.7 else rng.randrange(5) for _ in range(60_000)]
    monoid = TopK(5, "values")
    parts = [monoid.empty() for _ in range(7)]
    for i, value in enumerate(values):
        parts[i % 7] = monoid.add(parts[i % 7], i, (value,))
    state = monoid.empty()
    for part in parts:
        state = monoid.merge(state, part)
    true = {value: 0 for value in values}
    for value in values:
        true[value] += 1
    bound = len(values) / (KEPT + 1)
    assert len(true) > EXACT
    assert 0 < state.missed <= bound
    assert all(0 <= count - state.counts.get(value, 0) <= state.missed for value, count in true.items())
    assert sorted(monoid.finalize(state, 0)) == [0, 1, 2, 3, 4]


def test_top_k_is_exact_up_to_its_limit() -> None:
    events = [(i, i % EXACT) for i in range(3 * EXACT - 5)]
    assert value_of(TopK(2, "counts"), events) == [3, 3]
    state = TopK(1, "value").empty()
    for time_us, value in events:
        state = TopK(1, "value").add(state, time_us, (value,))
    assert (len(state.counts), state.missed) == (EXACT, 0)


@pytest.mark.parametrize("n", [0, 1, 2, 100, MOST_COUPONS])
def test_few_distinct_values_are_exact(n: int) -> None:
    assert value_of(Distinct(), [(i, i % n) for i in range(3 * n)] if n else []) == n


@pytest.mark.parametrize("n", [385, 500, 1000, 3000, 10_000, 40_000])
def test_many_distinct_values_are_within_the_bound(n: int) -> None:
    errors = []
    for salt in range(5):
        found = value_of(Distinct(), [(i, f"user-{salt}-{i}") for i in range(n)])
        errors.append(found / n - 1)
    assert max(map(abs, errors)) < 3.1 * 1.04 / 64
    assert abs(sum(errors) / 5) < 0.025


def test_distinct_tells_types_apart_and_zeros_not() -> None:
    assert value_of(Distinct(), [(0, 0.0), (1, -0.0), (2, 1.0)]) == 2
    assert value_of(Distinct(), [(0, 2**53), (1, 2**53 + 1)]) == 2
    assert value_of(Distinct(), [(0, ""), (1, "a"), (2, "")]) == 2
    assert value_of(Distinct(), [(0, True), (1, False), (2, True)]) == 2


@pytest.mark.parametrize("q", ["0", "0.1", "0.25", "0.5", "0.7", "0.99", "1"])
@pytest.mark.parametrize("kind", ["around zero", "wide", "small integers"])
def test_quantiles_are_within_the_bound(kind: str, q: str) -> None:
    rng = random.Random(kind)
    draw = {
        "around zero": lambda: rng.gauss(0, 1),
        "wide": lambda: math.exp(rng.uniform(-300, 300)) * rng.choice((1, -1)),
        "small integers": lambda: float(rng.randrange(-3, 4)),
    }[kind]
    values = [draw() for _ in range(rng.choice((10, 100, 1001)))]
    exact = oracle.quantile([(0, None, x) for x in values], q)
    found = value_of(Quantile(float(q)), [(0, x) for x in values])
    assert exact is not None
    assert abs(found - exact) <= abs(exact) / 256
    if q in ("0", "1"):
        assert found == exact


def test_quantile_ranks_are_those_of_the_decimal_share() -> None:
    # 0.7 * 10 is 7.000000000000001 in doubles; the share is 7 of 10 exactly.
    values = [(i, float(2**i)) for i in range(10)]
    found = value_of(Quantile(0.7), values)
    assert abs(found - 64) <= 64 / 256
    assert value_of(Quantile(0.5), [(0, 3.0)]) == 3.0
    assert value_of(Quantile(0.5), []) is None
    assert value_of(Quantile(0.5), [(0, 0.0), (0, -0.0), (0, 0.0)]) == 0.0
    huge = 1.7976931348623157e308
    assert value_of(Quantile(0.5), [(0, huge), (0, huge), (0, huge)]) == huge


def test_decayed_sums() -> None:
    hour = 3_600_000_000
    monoid = Decayed(hour, None)
    assert value_of(monoid, [], 0) is None
    assert value_of(Decayed(hour, 0.0), [], 0) == 0.0
    assert value_of(monoid, [(0, 8.0)], 3 * hour) == 1.0
    assert value_of(monoid, [(0, 8.0), (2 * hour, 3)], 3 * hour) == 2.5
    assert value_of(monoid, [(2 * hour, 3), (0, 8.0)], 3 * hour) == 2.5
    assert value_of(monoid, [(-5 * hour, 4.0), (0, -4.0)], hour) == 4 / 64 - 2
    assert value_of(monoid, [(0, 1e308), (0, 1e308)], 1) is None
    assert value_of(monoid, [(0, 1.0), (10_000 * hour, 1.0)], 10_000 * hour) == 1.0


def test_ordinary_partials() -> None:
    assert value_of(Plain("sum"), [(0, 2), (1, None), (2, 3)]) == 5
    assert value_of(Plain("min"), [(0, "b"), (1, "a")]) == "a"
    assert value_of(Plain("max"), []) is None


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: LastK(0), "last_k() takes an integer k from 1 to 1000, not 0"),
        (lambda: LastK(True), "not True"),
        (lambda: TopK(101, "values"), "top_k() takes an integer k from 1 to 100, not 101"),
        (lambda: Quantile(1.5), "approx_quantile() takes a share q from 0 to 1, not 1.5"),
        (lambda: Quantile(NAN), "not nan"),
        (lambda: Decayed(0, None), "half-life 0 must be positive"),
    ],
)
def test_bad_parameters(make: Any, text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        make()
    assert text in str(caught.value)
