"""What counts as drift: the settings of the monitor rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from featuredsl.errors import InputError

CALIBRATED = "calibrated"
THRESHOLDS = "thresholds"
HOUR_US = 3_600_000_000


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits of the checks.

    `calibrated` judges PSI by its lower confidence bound, KS by false discovery rate and effect, Wasserstein by
    its noise floor, all against the hours of the baseline around the same hour of the day, with the variance
    that the baseline's own hours showed. `thresholds` compares raw values with the same limits, hour by hour.
    """

    kind: str = CALIBRATED
    psi_warning: float = 0.1
    psi_critical: float = 0.2
    psi_page: float = 0.25
    ks_rate: float = 0.01
    ks_effect: float = 0.1
    wasserstein_ratio: float = 3.0
    wasserstein_effect: float = 0.25
    error_rate: float = 0.001
    missing_rate: float = 0.1
    clear_share: float = 0.75
    fire_after: int = 2
    clear_after: int = 2
    nodata_hours: int = 3
    sustained_psi: float = 0.2
    sustained_hours: int = 6
    sustained_span_hours: int = 8
    cooldown_hours: int = 24
    min_rows: int = 0

    @property
    def calibrated(self) -> bool:
        """True for the policy that weighs evidence, False for raw thresholds."""
        return self.kind == CALIBRATED


@dataclass(frozen=True, slots=True)
class BaselinePlan:
    """When the baseline is collected: [from_us, to_us) of event time, the same length for later series."""

    from_us: int
    to_us: int

    def __post_init__(self) -> None:
        if self.to_us - self.from_us < HOUR_US or self.from_us % HOUR_US or self.to_us % HOUR_US:
            msg = f"the baseline [{self.from_us}, {self.to_us}) us is not made of whole hours, one at least"
            raise InputError(msg)

    @classmethod
    def covering(cls, from_us: int, to_us: int) -> BaselinePlan:
        """The whole hours that [from_us, to_us) touches, without the last one where it is cut."""
        return cls(from_us // HOUR_US * HOUR_US, to_us // HOUR_US * HOUR_US)


@dataclass(frozen=True, slots=True)
class MonitorConfig:
    """Everything that the monitor step needs. `links` go into every event as they are (runbook_url, …)."""

    baseline: BaselinePlan | None = None
    baseline_hours: int = 168
    policy: Policy = field(default_factory=Policy)
    source: str = "featuredsl/drift"
    tenant: str = ""
    links: Mapping[str, str] = field(default_factory=dict)


def policy_from(options: Mapping[str, Any]) -> Policy:
    """A policy from JSON options. Raises InputError that names an unknown option or kind."""
    known = {one.name for one in fields(Policy)}
    if unknown := sorted(set(options) - known):
        msg = f"unknown policy option {unknown[0]!r}; options are {', '.join(sorted(known))}"
        raise InputError(msg)
    policy = Policy(**options)
    if policy.kind not in (CALIBRATED, THRESHOLDS):
        msg = f"unknown policy {policy.kind!r}; policies are {CALIBRATED} and {THRESHOLDS}"
        raise InputError(msg)
    return policy
