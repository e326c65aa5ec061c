"""The aggregates of a column that are more than one number: first and last values, frequent ones, distributions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from featuredsl.aggregators import Aggregator
from featuredsl.histogram import histogram_of
from featuredsl.times import parse_duration
from featuredsl.traced import TracedAggregate


class Summaries:
    """Methods of a column expression; nulls are skipped."""

    __slots__ = ()

    @abstractmethod
    def _built(self, aggregator: Aggregator) -> TracedAggregate:
        """The aggregator over this expression."""

    @abstractmethod
    def _wide(self, kind: str, **params: Any) -> TracedAggregate:
        """The wide aggregate of that kind over this expression."""

    def first(self) -> TracedAggregate:
        """The value of the earliest event in the window, by (event time, sequence, value); null when there is none."""
        return self._wide("first")

    def last_k(self, k: int) -> TracedAggregate:
        """A list of the values of the latest k events, the newest first; null when there is none."""
        return self._wide("last_k", k=k)

    def top_k(self, k: int) -> TracedAggregate:
        """A list of the k most frequent values, the most frequent first, equal counts by the lesser value; null when
        there is none. Exact up to 2,048 distinct values in a window (see docs/aggregators.md)."""
        return self._wide("top_k", k=k)

    def top_k_counts(self, k: int) -> TracedAggregate:
        """The counts of the values of `top_k(k)`, in its order."""
        return self._wide("top_k_counts", k=k)

    def most_frequent(self) -> TracedAggregate:
        """The most frequent value, equal counts by the lesser value; null when there is none."""
        return self._wide("most_frequent")

    def approx_distinct(self) -> TracedAggregate:
        """About how many distinct values: exact to 384 but for collisions, then within 5 % in 99.8 of 100 windows."""
        return self._wide("approx_distinct")

    def approx_quantile(self, q: float) -> TracedAggregate:
        """About the least value with at least the share q (0 to 1) at or below it: within 0.4 % of it; null when
        there is none."""
        return self._wide("approx_quantile", q=q)

    def histogram(self, edges: Sequence[float]) -> TracedAggregate:
        """A list of counts between ascending edges: x < e0, e0 <= x < e1, …, en <= x; zeros when there is none."""
        return self._built(histogram_of(edges))

    def decayed_sum(self, half_life: str | int) -> TracedAggregate:
        """The sum in which a value of age a weighs 2^(-a / half_life); null when there is none."""
        return self._wide("decayed_sum", half_life_us=parse_duration(half_life))

    def decayed_count(self, half_life: str | int) -> TracedAggregate:
        """How many values are not null, one of age a weighing 2^(-a / half_life); 0.0 when there is none."""
        return self._wide("decayed_count", half_life_us=parse_duration(half_life))
