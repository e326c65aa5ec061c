"""The most frequent values of a window: exact counts up to a number of distinct values, bounded errors beyond."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, Literal

from featuredsl.errors import DefinitionError, StateError
from featuredsl.wide.monoid import Monoid, Values
from featuredsl.wide.wire import read_cell, write_cell

MOST_VALUES = 100
KEPT = 1024
EXACT = 2 * KEPT
"""So many distinct values in a window are counted exactly."""

_MISSED = struct.Struct(">Q")
_COUNT = struct.Struct(">Q")


@dataclass(slots=True)
class Counts:
    """A count for each value; every true count is at most `missed` more."""

    counts: dict[Any, int] = field(default_factory=dict)
    missed: int = 0


class TopK(Monoid[Counts]):
    """The k values with the greatest counts; equal counts by the lesser value.

    Exact, in any order and split, while a window holds at most 2,048 distinct values. Beyond, counts are those of
    a Misra-Gries summary: too low by at most n / 1,025, where n is the number of values in the window (Agarwal et
    al., Mergeable Summaries, 2012), so every value more frequent than that is found.
    """

    def __init__(self, k: int, gives: Literal["values", "counts", "value"]) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_VALUES:
            raise DefinitionError(f"top_k() takes an integer k from 1 to {MOST_VALUES}, not {k!r}")
        self.k = k
        self.gives = gives

    def empty(self) -> Counts:
        """No value."""
        return Counts()

    def add(self, state: Counts, time_us: int, values: Values) -> Counts:
        """One more of a value; -0.0 counts as 0.0."""
        value = values[0] + 0.0 if isinstance(values[0], float) else values[0]
        state.counts[value] = state.counts.get(value, 0) + 1
        if len(state.counts) > EXACT:
            _cut(state)
        return state

    def merge(self, left: Counts, right: Counts) -> Counts:
        """Counts add up."""
        if not left.counts and not left.missed:
            return right
        if not right.counts and not right.missed:
            return left
        small, large = sorted((left, right), key=lambda side: len(side.counts))
        merged = Counts(dict(large.counts), left.missed + right.missed)
        for value, count in small.counts.items():
            merged.counts[value] = merged.counts.get(value, 0) + count
        if len(merged.counts) > EXACT:
            _cut(merged)
        return merged

    def finalize(self, state: Counts, at_us: int) -> Any:
        """Null when there is no value."""
        best = nsmallest(self.k, state.counts.items(), key=lambda item: (-item[1], item[0]))
        if not best:
            return None
        if self.gives == "counts":
            return [count for _, count in best]
        values = [value for value, _ in best]
        return values[0] if self.gives == "value" else values

    def body(self, state: Counts) -> bytes:
        """`missed`, then each value with its count, ascending by value."""
        pairs = sorted(state.counts.items())
        return _MISSED.pack(state.missed) + b"".join(write_cell(v) + _COUNT.pack(n) for v, n in pairs)

    def parsed(self, body: bytes) -> Counts:
        """Inverse of `body`."""
        try:
            (missed,) = _MISSED.unpack_from(body)
            counts: dict[Any, int] = {}
            at = _MISSED.size
            while at < len(body):
                value, at = read_cell(body, at)
                (counts[value],) = _COUNT.unpack_from(body, at)
                at += _COUNT.size
        except (struct.error, IndexError, KeyError, ValueError) as error:
            raise StateError(f"stored counts do not decode: {error}") from error
        return Counts(counts, missed)


def _cut(state: Counts) -> None:
    """Take the count of the first value beyond those kept from all: at least KEPT + 1 values lose as much."""
    least = sorted(state.counts.values(), reverse=True)[KEPT]
    state.counts = {value: count - least for value, count in state.counts.items() if count > least}
    state.missed += least
