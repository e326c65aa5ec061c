"""Promotion rules: nothing gets past a failed gate by itself, and states change only along the graph."""

from __future__ import annotations

import itertools

import pytest

from featuredsl.ccb.gate import Outcome
from featuredsl.errors import CheckFailed, StateError
from jobs.training.lifecycle import (
    PROMOTABLE,
    TRANSITIONS,
    Status,
    after_gate,
    check_manual,
    check_transition,
    refusal,
)


def test_a_failed_gate_is_never_passed_automatically() -> None:
    for outcome, has_champion, frozen in itertools.product(Outcome, (True, False), (True, False)):
        promoted = refusal(outcome, has_champion, frozen) is None
        passed = outcome is Outcome.IMPROVED or (outcome is Outcome.EQUIVALENT and not has_champion)
        assert promoted == (passed and not frozen)


def test_every_way_to_serving_goes_through_validated() -> None:
    reached: set[Status] = set()
    frontier = {Status.REGISTERED}
    while frontier:
        reached |= frontier
        frontier = {new for old in frontier if old is not Status.VALIDATED for new in TRANSITIONS[old]} - reached
    assert Status.SERVING not in reached
    assert Status.DEPLOYING not in reached
    assert TRANSITIONS[Status.FAILED] == frozenset()


def test_a_refused_outcome_ends_in_failed() -> None:
    assert {outcome: after_gate(outcome) for outcome in Outcome} == {
        Outcome.IMPROVED: Status.VALIDATED,
        Outcome.EQUIVALENT: Status.VALIDATED,
        Outcome.REGRESSED: Status.FAILED,
        Outcome.INSUFFICIENT: Status.FAILED,
    }


def test_illegal_changes_are_named() -> None:
    check_transition("3", Status.VALIDATED, Status.DEPLOYING)
    with pytest.raises(StateError, match="version 3 is FAILED; it cannot become DEPLOYING, only nothing"):
        check_transition("3", Status.FAILED, Status.DEPLOYING)


@pytest.mark.parametrize("status", list(Status))
def test_people_promote_only_what_passed(status: Status) -> None:
    if status in PROMOTABLE:
        assert check_manual("1", status) is None
    else:
        with pytest.raises(CheckFailed, match=f"version 1 is {status}"):
            check_manual("1", status)
