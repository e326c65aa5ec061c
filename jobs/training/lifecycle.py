"""States of a model version and the rules of promotion: pure, and the only place that decides."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from featuredsl.ccb.gate import Outcome
from featuredsl.errors import CheckFailed, StateError


class Status(StrEnum):
    """Where a version is between training and retirement."""

    REGISTERED = "REGISTERED"
    VALIDATING = "VALIDATING"
    VALIDATED = "VALIDATED"
    DEPLOYING = "DEPLOYING"
    SERVING = "SERVING"
    DEPRECATED = "DEPRECATED"
    FAILED = "FAILED"


TRANSITIONS: Mapping[Status, frozenset[Status]] = {
    Status.REGISTERED: frozenset({Status.VALIDATING, Status.FAILED}),
    Status.VALIDATING: frozenset({Status.VALIDATED, Status.FAILED}),
    Status.VALIDATED: frozenset({Status.DEPLOYING, Status.DEPRECATED, Status.FAILED}),
    Status.DEPLOYING: frozenset({Status.SERVING, Status.FAILED}),
    Status.SERVING: frozenset({Status.DEPRECATED, Status.FAILED}),
    Status.DEPRECATED: frozenset({Status.DEPLOYING}),
    Status.FAILED: frozenset(),
}
PROMOTABLE = frozenset({Status.VALIDATED, Status.DEPRECATED})


def check_transition(version: str, current: Status, new: Status) -> None:
    """Raise StateError unless a version may go from `current` to `new`."""
    if new not in TRANSITIONS[current]:
        allowed = ", ".join(sorted(TRANSITIONS[current])) or "nothing"
        msg = f"version {version} is {current}; it cannot become {new}, only {allowed}"
        raise StateError(msg)


def after_gate(outcome: Outcome) -> Status:
    """The status of a version once the gate has spoken."""
    return Status.VALIDATED if outcome in (Outcome.IMPROVED, Outcome.EQUIVALENT) else Status.FAILED


def refusal(outcome: Outcome, has_champion: bool, frozen: bool) -> str | None:
    """Why a version may not be promoted automatically; None when it may.

    A first champion need not be better than the logging policy, only not worse; every other one must be improved.
    """
    if frozen:
        return "automatic promotion is frozen"
    if outcome is Outcome.IMPROVED or (outcome is Outcome.EQUIVALENT and not has_champion):
        return None
    return f"the gate said {outcome}"


def check_manual(version: str, status: Status) -> None:
    """Raise CheckFailed unless a person may promote the version: it must have passed the gate."""
    if status not in PROMOTABLE:
        msg = f"version {version} is {status}; only {' or '.join(sorted(PROMOTABLE))} versions can be promoted"
        raise CheckFailed(msg)
