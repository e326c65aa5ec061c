"""Policies that answer decision requests. Vowpal Wabbit is never loaded here."""

from __future__ import annotations

import numpy as np

from featuredsl.ccb import decide, explore
from featuredsl.ccb.decide import DecisionResult, Ranked, SlotResult
from featuredsl.ccb.types import DecisionRequest

__all__ = ["DecisionResult", "Ranked", "SlotResult", "UniformPolicy"]


class UniformPolicy:
    """Every permitted candidate with the same probability: what serves while there is no champion yet."""

    model = "uniform"
    version = "0"

    def decide(self, request: DecisionRequest) -> DecisionResult:
        """Fill the slots of `request` uniformly at random; InputError when no decision is possible."""
        decide.check(request)
        costs = np.zeros(len(request.candidates), dtype=np.float32)
        rule = explore.EpsilonGreedy(1.0)
        return decide.decide(request, [costs] * len(request.slots), rule, (self.model, self.version))
