"""Off-policy estimates against hand values, on-policy truth of real logs, and an independent optimiser."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from scipy import optimize, stats

from featuredsl.ccb import likelihood, ope
from featuredsl.ccb.gate import GateConfig, Outcome, gate
from featuredsl.errors import InputError
from tests.support import open_bandit

PRIOR = open_bandit.DATA.parents[1] / "policy" / "conf" / "prior_bts.yaml"
CAMPAIGNS = ("all", "men", "women")


def _column(*values: float) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)[:, None]


def test_hand_values_of_one_slot() -> None:
    log = ope.Logged(_column(0.5, 0.25, 0.5, 1.0), _column(1, 0, 1, 0))
    policy = ope.Policy(_column(0.5, 0.5, 0.25, 0.25), _column(0.5, 0.5, 0.5, 0.5), _column(1, 0, 0.5, 0))
    found = ope.estimate(log, policy, ope.Bounds(4.0))
    assert found.ips == pytest.approx((1 + 0 + 0.5 + 0) / 4)
    assert found.snips == pytest.approx(1.5 / (1 + 2 + 0.5 + 0.25))
    assert found.dm == pytest.approx(0.5)
    assert found.dr == pytest.approx(0.5 + (1 * 0 + 2 * 0 + 0.5 * 0.5 + 0.25 * 0) / 4)
    assert found.effective_sample == pytest.approx(3.75**2 / (1 + 4 + 0.25 + 0.0625))
    assert (found.max_weight, found.mean_weight) == (2.0, 3.75 / 4)


def test_hand_values_of_two_slots() -> None:
    log = ope.Logged(np.array([[0.5, 0.5], [0.5, 0.25]]), np.array([[1.0, 1.0], [0.0, 1.0]]))
    policy = ope.Policy(np.array([[1.0, 0.25], [0.5, 0.5]]))
    assert ope.prefix_weights(log, policy).tolist() == [[2.0, 1.0], [1.0, 2.0]]
    assert ope.estimate(log, policy, ope.Bounds(8.0)).ips == pytest.approx((2 + 1 + 0 + 2) / 2)


def test_the_logging_policy_differs_from_itself_by_nothing() -> None:
    log = _random_log(np.random.default_rng(1), 300)
    mean, low, high = ope.difference(log, (ope.Policy(log.probability), ope.Bounds(1.0)), None)
    assert (mean, low, high) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_impossible_logs_are_refused() -> None:
    for probability, reward in ((0.0, 1.0), (1.5, 1.0), (0.5, float("nan"))):
        with pytest.raises(InputError, match="logged probabilities"):
            ope.Logged(_column(probability), _column(reward))


def test_interval_without_extremes_is_owens() -> None:
    """A mean of plain numbers: the profile likelihood solved by a general optimiser gives the same ends."""
    values = np.random.default_rng(3).exponential(1.0, 30)
    none = likelihood.Problem(values, np.zeros((30, 0)), np.zeros((1, 1)))
    low, high = likelihood.interval(none, 0.05)
    for end in (low, high):
        assert _owen_ratio(values, end) == pytest.approx(float(stats.chi2.ppf(0.95, 1)), rel=1e-3)


def _owen_ratio(values: NDArray[np.float64], mean: float) -> float:
    centred = values - mean
    edges = (-1 / centred.max() + 1e-9, -1 / centred.min() - 1e-9)
    found = optimize.minimize_scalar(
        lambda dual: -np.log1p(dual * centred).sum(), bounds=edges, method="bounded", options={"xatol": 1e-12}
    )
    return float(-2 * found.fun)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(60):
        log = _random_log(rng, 400)
        found = ope.estimate(log, ope.Policy(np.full_like(log.probability, 0.5)), ope.Bounds(2.5))
        hits += found.low <= 0.2 <= found.high
    assert 50 <= hits <= 60


def _random_log(rng: np.random.Generator, count: int) -> ope.Logged:
    """Two actions logged with 0.2 / 0.8 that pay 0.3 / 0.1; the uniform policy earns 0.2."""
    first = rng.random(count) < 0.2
    reward = rng.random(count) < np.where(first, 0.3, 0.1)
    return ope.Logged(np.where(first, 0.2, 0.8)[:, None], reward.astype(float)[:, None])


@cache
def _thompson(campaign: str) -> NDArray[np.float64]:
    """Chance of each item at each position under Bernoulli Thompson sampling with the shipped prior."""
    prior = yaml.safe_load(PRIOR.read_text(encoding="utf-8"))[campaign]
    rng = np.random.default_rng(0)
    size = 40_000
    drawn = rng.beta(np.array(prior["alpha"]), np.array(prior["beta"]), (size, len(prior["alpha"])))
    best = np.argsort(-drawn, axis=1)[:, :3]
    return np.stack([np.bincount(best[:, at], minlength=drawn.shape[1]) / size for at in range(3)], axis=1)


def _case(source: str, campaign: str) -> tuple[ope.Logged, ope.Policy, float]:
    """A real log, the other log's policy on it, and what that policy really earned."""
    examples = open_bandit.examples(source, campaign)
    label = [example.labels[0] for example in examples]
    log = ope.Logged(_column(*(one.probability for one in label)), _column(*(-one.cost for one in label)))
    other = "bts" if source == "random" else "random"
    truth = -np.mean([example.labels[0].cost for example in open_bandit.examples(other, campaign)])
    if other == "random":
        items = len(open_bandit.items(campaign))
        return log, ope.Policy(np.full_like(log.probability, 1 / items)), float(truth)
    chances = _thompson(campaign)
    places = [int(example.request.slots[0].slot_id) - 1 for example in examples]
    return (
        log,
        ope.Policy(_column(*(chances[int(o.chosen), p] for o, p in zip(label, places, strict=True)))),
        float(truth),
    )


@pytest.mark.parametrize("campaign", CAMPAIGNS)
@pytest.mark.parametrize("source", ["random", "bts"])
def test_real_logs_cover_the_truth(source: str, campaign: str) -> None:
    log, policy, truth = _case(source, campaign)
    found = ope.estimate(log, policy, ope.Bounds(ope.weight_bound(log, policy)))
    assert found.low <= truth <= found.high
    if source == "random":
        assert 0.9 < found.mean_weight < 1.1
        assert found.effective_sample > 1500
        assert found.ips == pytest.approx(truth, rel=0.6)


def test_one_tiny_propensity_blocks_the_gate() -> None:
    """women/bts holds one propensity of 1e-6, which is 69 % of all importance weight."""
    log, policy, _ = _case("bts", "women")
    result = gate(log, policy)
    assert result.outcome is Outcome.INSUFFICIENT
    assert result.metrics["candidate"]["effective_sample"] == pytest.approx(2, abs=0.5)
    assert result.metrics["candidate"]["max_weight"] == pytest.approx(21_739, rel=1e-3)


def test_wrong_propensities_block_the_gate() -> None:
    log, policy, _ = _case("random", "men")
    constant = ope.Logged(np.full_like(log.probability, 0.5), log.reward)
    result = gate(constant, policy)
    assert result.outcome is Outcome.REGRESSED
    assert "importance weights average" in result.reasons[0]


@pytest.mark.parametrize(
    ("chance", "outcome"), [(0.9, Outcome.IMPROVED), (0.2, Outcome.EQUIVALENT), (0.0, Outcome.REGRESSED)]
)
def test_outcomes_against_the_logging_policy(chance: float, outcome: Outcome) -> None:
    log = _random_log(np.random.default_rng(7), 4000)
    first = log.probability == 0.2
    result = gate(log, ope.Policy(np.where(first, chance, 1 - chance)))
    assert result.outcome is outcome
    assert result.metrics["against"] == "logging policy"


def test_outcomes_against_a_champion() -> None:
    log = _random_log(np.random.default_rng(8), 4000)
    first = log.probability == 0.2
    good, bad = (ope.Policy(np.where(first, chance, 1 - chance)) for chance in (0.9, 0.1))
    assert gate(log, good, bad).outcome is Outcome.IMPROVED
    assert gate(log, bad, good).outcome is Outcome.REGRESSED
    assert gate(log, good, good).outcome is Outcome.EQUIVALENT
    few = ope.Logged(log.probability[:50], log.reward[:50])
    short: Any = ope.Policy(good.chance[:50])
    assert gate(few, short, None, GateConfig(min_decisions=100)).outcome is Outcome.INSUFFICIENT
