"""Rules, incidents and the retrain guard: the stated tables, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from featuredsl.errors import InputError
from monitors.incidents import Change, Incident, Patience, advance
from monitors.policy import HOUR_US, Policy, policy_from
from monitors.psi import lower_bound, noise_limit
from monitors.rates import discoveries, rate_lower_bound
from monitors.retrain import DRIFT, FEATURE_CHANGE, MANUAL, SCHEDULED, Guard, Request, Run, Sustained, admit, extend
from monitors.rules import Verdict, error_rate, rolling_limit

RULE = Sustained()
DAY_US = 24 * HOUR_US


@pytest.mark.parametrize(
    ("rows", "population", "limit"),
    [(100, 0.1, 0.405), (300, 0.1, 0.235), (1000, 0.2, 0.280), (5000, 0.1, 0.124), (20000, 0.2, 0.217)],
)
def test_the_psi_that_proves_a_population_value(rows: int, population: float, limit: float) -> None:
    noise = 1 / 100_000 + 1 / rows
    assert noise_limit(10, noise, population) == pytest.approx(limit, abs=6e-4)
    assert lower_bound(noise_limit(10, noise, population), 10, noise) == pytest.approx(population, abs=1e-4)
    assert lower_bound(noise_limit(10, noise) * 0.999, 10, noise) == 0.0


@pytest.mark.parametrize(
    ("errors", "rows", "pages"),
    [(1, 500, False), (5, 1000, True), (4, 1000, False), (2, 100, True), (12, 5000, True), (11, 5000, False)],
)
def test_error_rate_pages_on_evidence_only(errors: int, rows: int, pages: bool) -> None:
    verdict = error_rate(errors, rows, Policy())
    assert (verdict.severity == "page") is pages
    assert rate_lower_bound(errors, rows) == pytest.approx(
        stats.binomtest(errors, rows, alternative="greater").proportion_ci(0.99, "exact").low
    )


def test_thresholds_page_on_the_raw_rate() -> None:
    assert error_rate(1, 500, Policy(kind="thresholds")).severity == "page"


def test_false_discovery_rate() -> None:
    assert discoveries([0.001, 0.008, 0.039, 0.041, 0.2], 0.05) == (True, True, False, False, False)
    assert discoveries([], 0.05) == ()


def test_rolling_limit_is_a_prediction_limit() -> None:
    values = np.random.default_rng(5).normal(3.0, 0.5, 40)
    mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
    expected = mean + stats.t.ppf(0.99, 39) * deviation * math.sqrt(1 + 1 / 40)
    assert rolling_limit(list(values)) == pytest.approx(expected)
    assert rolling_limit(list(values[:23])) is None


def hours(pattern: str) -> list[int]:
    """Positions (from 1) at which a run asks; B breach, o good, - without enough rows."""
    run, asked = Run(), []
    for number, letter in enumerate(pattern, start=1):
        run, first = extend(run, number * HOUR_US, {"B": True, "o": False, "-": None}[letter], RULE)
        if first is not None:
            asked.append(number)
    return asked


@pytest.mark.parametrize(
    ("pattern", "asks_at"),
    [
        ("BBBBBB", [6]),
        ("BBB-BBB", [7]),
        ("BBBBB", []),
        ("BBBBBo", []),
        ("BBBBBoBBBBBB", [12]),
        ("BB-B-BBB", [8]),
        ("BB-B--BBB", []),
        ("B---BBBBBB", [10]),
        ("BBBBBBBBBBBB", [6]),
        ("BBBBBBoBBBBBB", [6, 13]),
        ("------", []),
    ],
)
def test_six_breached_hours_ask_once(pattern: str, asks_at: list[int]) -> None:
    assert hours(pattern) == asks_at


def request(hour: int, reason: str = DRIFT, first: int | None = None) -> Request:
    return Request("m", reason, hour * HOUR_US, (hour if first is None else first) * HOUR_US)


def decisions(*requests: Request) -> list[str | None]:
    guard, found = Guard(), []
    for one in requests:
        guard, trigger = admit(guard, one, DAY_US)
        found.append(None if trigger is None else trigger["decision"])
    return found


def test_one_automatic_trigger_in_a_rolling_day() -> None:
    assert decisions(request(0), request(5), request(25)) == ["accepted", "suppressed", "accepted"]
    assert decisions(request(0), request(24)) == ["accepted", "accepted"]
    assert decisions(request(0), request(5, FEATURE_CHANGE)) == ["accepted", "suppressed"]


def test_manual_and_scheduled_pass_and_do_not_start_the_clock() -> None:
    manual, scheduled = request(5, MANUAL), request(6, SCHEDULED)
    assert decisions(request(0), manual, scheduled, request(7)) == ["accepted"] * 3 + ["suppressed"]
    assert decisions(manual, request(6)) == ["accepted", "accepted"]


def test_the_same_occasion_is_one_trigger_with_one_id() -> None:
    assert decisions(request(6, first=1), request(7, first=1)) == ["accepted", None]
    _, first = admit(Guard(), request(6, first=1), DAY_US)
    _, again = admit(Guard(), request(6, first=1), DAY_US)
    assert first == again
    assert first is not None
    assert first["cooldown_until"] == first["ts"] + 24 * 3_600_000


def test_a_suppressed_trigger_says_why() -> None:
    guard, _ = admit(Guard(), request(0), DAY_US)
    _, trigger = admit(guard, request(3), DAY_US)
    assert trigger is not None
    assert trigger["detail"]
    assert trigger["cooldown_until"] == 24 * 3_600_000


def story(pattern: str, **patience: int) -> list[tuple[int, str, str | None]]:
    """(hour, kind, severity); letters: w warning, p page, h hold, o clear, - unknown."""
    verdicts: dict[str, Any] = {
        "w": Verdict("psi", "breach", "warning", 0.3),
        "p": Verdict("psi", "breach", "page", 0.9),
        "h": Verdict("psi", "hold", None, 0.09),
        "o": Verdict("psi", "clear", None, 0.01),
        "-": Verdict("psi", "unknown"),
    }
    incident: Incident | None = None
    told = []
    for hour, letter in enumerate(pattern):
        change: Change | None
        incident, change = advance(incident, verdicts[letter], hour, Patience(**patience))
        if change is not None:
            told.append((hour, change.kind, change.incident.severity))
    return told


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("ooow", []),
        ("wow", []),
        ("ww", [(1, "firing", "warning")]),
        ("p", [(0, "firing", "page")]),
        ("w-w", [(2, "firing", "warning")]),
        ("wwp", [(1, "firing", "warning"), (2, "update", "page")]),
        ("ppp", [(0, "firing", "page"), (1, "update", "page"), (2, "update", "page")]),
        ("po", [(0, "firing", "page")]),
        ("poo", [(0, "firing", "page"), (2, "resolved", "page")]),
        ("poho", [(0, "firing", "page")]),
        ("p---", [(0, "firing", "page")]),
        ("p-o-o", [(0, "firing", "page"), (4, "resolved", "page")]),
    ],
)
def test_incidents_wait_repeat_and_resolve(pattern: str, told: list[tuple[int, str, str | None]]) -> None:
    assert story(pattern) == told


def test_one_step_is_one_incident() -> None:
    assert [kind for _, kind, _ in story("o" * 24 + "p" * 12)] == ["firing"] + ["update"] * 11


def test_wrong_policy_options_are_named() -> None:
    with pytest.raises(InputError, match="psi_warnin"):
        policy_from({"psi_warnin": 1})
    with pytest.raises(InputError, match="unknown policy 'strict'"):
        policy_from({"kind": "strict"})
