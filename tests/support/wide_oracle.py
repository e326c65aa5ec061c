"""What wide aggregates mean, by the shortest loop over the events of a window. Knows nothing of the product.

An event is (time in us, sequence or None, value); nulls are filtered out by the caller, as every aggregate skips them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

Event = tuple[int, int | None, Any]


def in_order(events: Sequence[Event]) -> list[Event]:
    """By (time, sequence with null lowest, value)."""
    return sorted(events, key=lambda e: (e[0], e[1] is not None, e[1] or 0, e[2]))


def first(events: Sequence[Event]) -> Any:
    """The earliest value."""
    return in_order(events)[0][2] if events else None


def last_k(events: Sequence[Event], k: int) -> Any:
    """The latest k, newest first."""
    return [value for _, _, value in in_order(events)][::-1][:k] or None


def top_pairs(events: Sequence[Event], k: int) -> list[tuple[Any, int]]:
    """The k most frequent values with counts; ties by the lesser value."""
    return sorted(Counter(value for _, _, value in events).items(), key=lambda pair: (-pair[1], pair[0]))[:k]


def distinct(events: Sequence[Event]) -> int:
    """The exact number."""
    return len({value for _, _, value in events})


def quantile(events: Sequence[Event], q: str) -> float | None:
    """The least value with at least the share q at or below it; q as decimal text."""
    values = sorted(float(value) for _, _, value in events)
    if not values:
        return None
    return next(x for i, x in enumerate(values, 1) if Fraction(i, len(values)) >= Fraction(q))


def decayed(events: Sequence[Event], at_us: int, half_life_us: int) -> float:
    """The sum of x * 2^(-age / half-life)."""
    return math.fsum(x * 2.0 ** (-(at_us - t) / half_life_us) for t, _, x in events)


def histogram(events: Sequence[Event], edges: Sequence[float]) -> list[int]:
    """Counts of x < e0, e0 <= x < e1, …, en <= x."""
    ends = [-math.inf, *edges, math.inf]
    return [sum(low <= x < high for _, _, x in events) for low, high in pairwise(ends)]
