"""Exploration by hand values; equality with Vowpal Wabbit itself is tested with the exporter."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from featuredsl.ccb.explore import (
    EpsilonGreedy,
    Exploration,
    Softmax,
    SquareCB,
    draw,
    probabilities,
    ranked,
    seed_of,
    uniform,
)
from featuredsl.ccb.scorer import UniformPolicy
from featuredsl.ccb.types import Action, DecisionRequest, Slot
from featuredsl.errors import InputError


def _costs(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, dtype=np.float32)


@pytest.mark.parametrize(
    ("rule", "costs", "expected"),
    [
        (EpsilonGreedy(0.3), (-1.0, 0.0, 0.5), (0.8, 0.1, 0.1)),
        (EpsilonGreedy(0.3), (-1.0, -1.0, 0.5), (0.45, 0.45, 0.1)),
        (EpsilonGreedy(0.3, first_only=True), (-1.0, -1.0, 0.5), (0.8, 0.1, 0.1)),
        (EpsilonGreedy(0.2), (3.0,), (1.0,)),
        (Softmax(1.0), (0.0, float(np.log(2)), float(np.log(4))), (4 / 7, 2 / 7, 1 / 7)),
        (Softmax(1000.0, 0.3), (0.0, 1.0, 2.0), (0.8, 0.1, 0.1)),
        (Softmax(1.0, 1.0), (0.0, 1.0), (0.5, 0.5)),
        (SquareCB(10.0), (-0.3, -0.2, 0.7), (1 - 1 / 4 - 1 / 13, 1 / 4, 1 / 13)),
        (SquareCB(1e9, 0.3), (0.0, 1.0, 2.0), (0.8, 0.1, 0.1)),
    ],
)
def test_hand_values(rule: Exploration, costs: tuple[float, ...], expected: tuple[float, ...]) -> None:
    assert probabilities(rule, _costs(*costs)).tolist() == pytest.approx(expected, abs=3e-7)


def test_order_is_by_cost_then_position() -> None:
    assert ranked(_costs(2, -1, 2, -1, 0)).tolist() == [1, 3, 4, 0, 2]


def test_draws_follow_the_probabilities() -> None:
    pmf = _costs(0.5, 0.3, 0.2)
    counts = Counter(draw(pmf, seed_of(f"request-{number}")) for number in range(20_000))
    assert [counts[at] / 20_000 for at in range(3)] == pytest.approx([0.5, 0.3, 0.2], abs=0.015)
    assert all(0 <= uniform(seed) < 1 for seed in range(2000))


def test_uniform_policy_fills_slots_without_repeats() -> None:
    names = tuple("abcd")
    slots = (Slot("1", include=("a",)), Slot("2", include=("a",)), Slot("3", exclude=("b", "c")))
    request = DecisionRequest({}, tuple(Action(name) for name in names), slots, "seed")
    first, second, third = UniformPolicy().decide(request).slots
    assert (first.chosen, first.probability) == ("a", 1.0)
    assert (second.chosen, second.ranking, second.probability) == (None, (), 0.0)
    assert third.chosen == "d"


@pytest.mark.parametrize(
    "request_",
    [
        DecisionRequest({}, (), (Slot("1"),)),
        DecisionRequest({}, (Action("a"),), ()),
        DecisionRequest({}, (Action("a"),), (Slot("1"), Slot("2"))),
        DecisionRequest({}, (Action("a"), Action("a")), (Slot("1"),)),
        DecisionRequest({}, (Action("a"),), (Slot("1", include=("x",)),)),
    ],
)
def test_impossible_requests_are_refused(request_: DecisionRequest) -> None:
    with pytest.raises(InputError):
        UniformPolicy().decide(request_)
