"""Verdicts on one hour of one series: pure functions of the comparison, the policy and the recent past."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import t as student

from monitors.compare import INSUFFICIENT, NO_DATA, Comparison
from monitors.policy import Policy
from monitors.rates import rate_lower_bound
from monitors.sample import NumericSample

BREACH, HOLD, CLEAR, UNKNOWN = "breach", "hold", "clear", "unknown"
WARNING, CRITICAL, PAGE = "warning", "critical", "page"
SEVERITIES = (WARNING, CRITICAL, PAGE)
MIN_HISTORY = 24
MAX_HISTORY = 168


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check says about one hour. UNKNOWN (too few rows) neither counts, nor resets, nor resolves.

    `threshold` is the limit that `value` was held against and `reason` says why it is that one; `sustained`
    marks an hour that counts towards retraining.
    """

    check: str
    outcome: str
    severity: str | None = None
    value: float | None = None
    threshold: float | None = None
    p_value: float | None = None
    lower: float | None = None
    reason: str = ""
    sustained: bool = False


def judge(found: Comparison, policy: Policy, history: Sequence[float], ks_discovered: bool) -> tuple[Verdict, ...]:
    """All verdicts on a comparison of a feature or a prediction series.

    `history` holds earlier values of `transport_score`; `ks_discovered` is the answer of the false discovery
    rate procedure over all series of the hour.
    """
    missing = _missing(found, policy)
    infinite = _infinite(found, policy)
    if not enough(found, policy):
        return (missing, infinite, *(Verdict(name, UNKNOWN) for name in ("psi", "ks", "wasserstein")))
    if policy.calibrated:
        drift = (_psi(found, policy), _ks(found, policy, ks_discovered), _transport(found, policy, history))
    else:
        drift = (_raw_psi(found, policy), _raw_ks(found, policy), _raw_transport(found, history))
    return (missing, infinite, *(one for one in drift if one is not None))


def enough(found: Comparison, policy: Policy) -> bool:
    """Whether the hour has the rows that its statistics need (the thresholds policy asks for none)."""
    if found.status == NO_DATA or found.current.rows < policy.min_rows:
        return False
    return not policy.calibrated or found.status != INSUFFICIENT


def transport_score(found: Comparison, policy: Policy) -> float | None:
    """What the rolling Wasserstein rule remembers: the log of value over noise floor, or the raw value."""
    distance = found.wasserstein
    if distance is None or distance.normalised is None or not distance.floor:
        return None
    if not policy.calibrated:
        return distance.value
    return math.log(max(distance.normalised, 1e-9 * distance.floor) / distance.floor)


def rolling_limit(history: Sequence[float], confidence: float = 0.99) -> float | None:
    """The prediction limit of the next value (Student's t, the tested point excluded); None below 24 values."""
    count = len(history)
    if count < MIN_HISTORY:
        return None
    mean, deviation = _moments(history)
    quantile = float(student.ppf(confidence, count - 1))
    return mean + quantile * deviation * math.sqrt(1 + 1 / count)


def error_rate(errors: int, rows: int, policy: Policy) -> Verdict:
    """Page when the error rate is above its limit (calibrated: with 99 % confidence)."""
    if rows == 0:
        return Verdict("error_rate", UNKNOWN)
    rate, lower = errors / rows, rate_lower_bound(errors, rows)
    judged = lower if policy.calibrated else rate
    outcome = BREACH if judged > policy.error_rate else CLEAR
    reason = "99 % lower bound of the rate" if policy.calibrated else "raw rate"
    severity = PAGE if outcome == BREACH else None
    return Verdict("error_rate", outcome, severity, rate, policy.error_rate, None, lower, reason)


def _psi(found: Comparison, policy: Policy) -> Verdict | None:
    if found.psi is None:
        return None
    lower = found.psi.lower
    outcome = _outcome(lower, policy.psi_warning, policy.clear_share)
    severity = _psi_severity(lower, policy) if outcome == BREACH else None
    return Verdict(
        "psi",
        outcome,
        severity,
        found.psi.value,
        _psi_limit(lower, policy),
        found.psi.p_value,
        lower,
        "99 % lower bound of the population PSI above the threshold",
        lower > policy.sustained_psi,
    )


def _raw_psi(found: Comparison, policy: Policy) -> Verdict | None:
    if found.psi is None:
        return None
    value = found.psi.value
    severity = _psi_severity(value, policy)
    return Verdict(
        "psi",
        BREACH if severity else CLEAR,
        severity,
        value,
        _psi_limit(value, policy),
        found.psi.p_value,
        found.psi.lower,
        "raw PSI above the threshold",
        value > policy.sustained_psi,
    )


def _psi_severity(value: float, policy: Policy) -> str | None:
    limits = (policy.psi_page, PAGE), (policy.psi_critical, CRITICAL), (policy.psi_warning, WARNING)
    return next((name for limit, name in limits if value > limit), None)


def _psi_limit(value: float, policy: Policy) -> float:
    limits = policy.psi_page, policy.psi_critical
    return next((limit for limit in limits if value > limit), policy.psi_warning)


def _ks(found: Comparison, policy: Policy, discovered: bool) -> Verdict | None:
    if found.ks is None:
        return None
    outcome = _outcome(found.ks.robust, policy.ks_effect, policy.clear_share)
    outcome = HOLD if outcome == BREACH and not discovered else outcome
    return Verdict(
        "ks",
        outcome,
        WARNING if outcome == BREACH else None,
        found.ks.statistic,
        policy.ks_effect,
        found.ks.p_value,
        found.ks.robust,
        f"false discovery rate {policy.ks_rate} in the hour, and D less its noise above the threshold",
    )


def _raw_ks(found: Comparison, policy: Policy) -> Verdict | None:
    if found.ks is None:
        return None
    breach = found.ks.p_value < policy.ks_rate
    return Verdict(
        "ks",
        BREACH if breach else CLEAR,
        WARNING if breach else None,
        found.ks.statistic,
        policy.ks_rate,
        found.ks.p_value,
        None,
        "p below the threshold",
    )


def _transport(found: Comparison, policy: Policy, history: Sequence[float]) -> Verdict | None:
    distance, score = found.wasserstein, transport_score(found, policy)
    if distance is None or distance.normalised is None or score is None or not distance.floor:
        return None
    usual = rolling_limit(history)
    ratio = max(policy.wasserstein_ratio, math.exp(usual) if usual is not None else 0.0)
    limit = max(ratio * distance.floor, distance.floor + policy.wasserstein_effect)
    return Verdict(
        "wasserstein",
        outcome := _outcome(distance.normalised, limit, policy.clear_share),
        WARNING if outcome == BREACH else None,
        distance.normalised,
        limit,
        reason="normalised distance above its noise floor, its rolling limit and the least relevant effect",
    )


def _raw_transport(found: Comparison, history: Sequence[float]) -> Verdict | None:
    distance = found.wasserstein
    if distance is None or distance.value is None or len(history) < 2:
        return None
    mean, deviation = _moments(history)
    limit = mean + 2 * deviation
    breach = distance.value > limit
    return Verdict(
        "wasserstein",
        BREACH if breach else CLEAR,
        WARNING if breach else None,
        distance.value,
        limit,
        reason="rolling mean + 2 standard deviations",
    )


def _missing(found: Comparison, policy: Policy) -> Verdict:
    rows, before = found.current.rows, found.baseline
    usual = before.missing / before.rows if before.rows else 0.0
    limit = usual + policy.missing_rate
    if rows == 0:
        return Verdict("missing_rate", UNKNOWN)
    lower = rate_lower_bound(found.current.missing, rows)
    return Verdict(
        "missing_rate",
        BREACH if lower > limit else CLEAR,
        CRITICAL if lower > limit else None,
        found.current.missing / rows,
        limit,
        None,
        lower,
        "99 % lower bound above the baseline's rate plus the allowance",
    )


def _infinite(found: Comparison, policy: Policy) -> Verdict:
    rows = found.current.rows
    infinite = found.current.infinite if isinstance(found.current, NumericSample) else 0
    if rows == 0:
        return Verdict("inf_rate", UNKNOWN)
    lower = rate_lower_bound(infinite, rows)
    breach = lower > policy.error_rate
    return Verdict(
        "inf_rate",
        BREACH if breach else CLEAR,
        PAGE if breach else None,
        infinite / rows,
        policy.error_rate,
        None,
        lower,
        "99 % lower bound of the rate",
    )


def _outcome(value: float, limit: float, clear_share: float) -> str:
    if value > limit:
        return BREACH
    return HOLD if value > clear_share * limit else CLEAR


def _moments(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation, by sums of deviations."""
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
