"""Runs the gate on trained artefacts and held-out examples."""

from __future__ import annotations

from collections.abc import Sequence

from featuredsl.ccb import ope
from featuredsl.ccb.gate import GateConfig, GateResult, Outcome, gate, logged, policy
from featuredsl.ccb.scorer import CcbScorer
from featuredsl.ccb.types import Example

_BATCH = 64


def judge(
    examples: Sequence[Example],
    candidate: CcbScorer,
    champion: CcbScorer | None = None,
    config: GateConfig | None = None,
) -> GateResult:
    """The gate's answer for `candidate` on `examples`, against `champion` or the logging policy."""
    if not examples:
        return GateResult(Outcome.INSUFFICIENT, ("no held-out decision to judge with",), {"decisions": 0})
    other = None if champion is None else _policy(examples, champion)
    return gate(logged(examples), _policy(examples, candidate), other, config)


def _policy(examples: Sequence[Example], scorer: CcbScorer) -> ope.Policy:
    return policy([row for some in _batches(examples) for row in scorer.judge_many(some)])


def _batches(examples: Sequence[Example]) -> list[Sequence[Example]]:
    return [examples[start : start + _BATCH] for start in range(0, len(examples), _BATCH)]
