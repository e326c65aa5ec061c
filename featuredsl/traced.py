"""What a traced feature method returns for a window: an aggregate that still needs it."""

from __future__ import annotations

from dataclasses import dataclass

from featuredsl.aggregators import Aggregate, ratio_of
from featuredsl.dtypes import NUMERIC
from featuredsl.errors import DefinitionError
from featuredsl.protocols import AGGREGATE, refusing


@refusing(AGGREGATE)
@dataclass(frozen=True, slots=True)
class TracedAggregate:
    """An aggregate that still needs its window. `a / b` is the ratio of two, null when b is 0."""

    aggregate: Aggregate

    def __truediv__(self, other: TracedAggregate) -> TracedAggregate:
        if not isinstance(other, TracedAggregate):
            raise DefinitionError(
                "an aggregate can only be divided by an aggregate; other arithmetic of features belongs into @on_demand"
            )
        for side in (self, other):
            if side.aggregate.dtype not in NUMERIC:
                raise DefinitionError(f"a ratio is of two numbers; one side is {side.aggregate.dtype}")
        return TracedAggregate(ratio_of(self.aggregate, other.aggregate))


def ratio(numerator: TracedAggregate, denominator: TracedAggregate) -> TracedAggregate:
    """numerator / denominator over the same window, null when the denominator is 0."""
    return numerator / denominator
