"""Quantiles from counts in logarithmic buckets that are cut from the bits of a double, so no logarithm is taken.

A bucket holds the doubles that share sign, exponent and the first 7 bits of the mantissa: its ends are 1/128 of a
power of two apart, and its middle is within 1/256 (0.4 %) of each of its values. Counts add up, so any order and
split gives the same state.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from featuredsl.errors import DefinitionError, StateError
from featuredsl.wide.monoid import Monoid, Values

RELATIVE_ERROR = 1 / 256
_SHIFT = 52 - 7
_FLOAT, _BITS = struct.Struct(">d"), struct.Struct(">Q")
_ENDS = struct.Struct(">dd")
_BUCKET = struct.Struct(">iQ")


@dataclass(slots=True)
class Buckets:
    """Counts by bucket, ascending keys for ascending values, and the exact least and greatest value."""

    counts: dict[int, int] = field(default_factory=dict)
    low: float = float("inf")
    high: float = float("-inf")


class Quantile(Monoid[Buckets]):
    """The least value with at least the share q of all values at or below it, to a relative error of 1/256.

    The least and the greatest value are exact, so q = 0 and q = 1 are. Below 2.3e-308 the error is absolute.
    """

    def __init__(self, q: float) -> None:
        if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
            raise DefinitionError(f"approx_quantile() takes a share q from 0 to 1, not {q!r}")
        self.share = _decimal(q)

    def empty(self) -> Buckets:
        """No value."""
        return Buckets()

    def add(self, state: Buckets, time_us: int, values: Values) -> Buckets:
        """One more value; it is finite."""
        value = values[0]
        key = bucket(value)
        state.counts[key] = state.counts.get(key, 0) + 1
        if value < state.low:
            state.low = value
        if value > state.high:
            state.high = value
        return state

    def merge(self, left: Buckets, right: Buckets) -> Buckets:
        """Counts add up."""
        if not left.counts or not right.counts:
            return left if left.counts else right
        small, large = sorted((left, right), key=lambda side: len(side.counts))
        counts = dict(large.counts)
        for key, count in small.counts.items():
            counts[key] = counts.get(key, 0) + count
        return Buckets(counts, min(left.low, right.low), max(left.high, right.high))

    def finalize(self, state: Buckets, at_us: int) -> Any:
        """Null when there is no value."""
        n = sum(state.counts.values())
        if not n:
            return None
        part, whole = self.share
        rank = max(1, -(-part * n // whole))
        if rank in (1, n):
            return (state.low if rank == 1 else state.high) + 0.0
        below = 0
        for key in sorted(state.counts):
            below += state.counts[key]
            if below >= rank:
                return min(max(middle(key), state.low), state.high) + 0.0
        raise AssertionError(f"rank {rank} of {n}")

    def body(self, state: Buckets) -> bytes:
        """The ends, then the buckets in ascending order; nothing for no value."""
        if not state.counts:
            return b""
        ends = _ENDS.pack(state.low + 0.0, state.high + 0.0)
        return ends + b"".join(_BUCKET.pack(*item) for item in sorted(state.counts.items()))

    def parsed(self, body: bytes) -> Buckets:
        """Inverse of `body`."""
        if not body:
            return Buckets()
        try:
            low, high = _ENDS.unpack_from(body)
            counts = {key: count for key, count in _BUCKET.iter_unpack(body[_ENDS.size :])}
            return Buckets(counts, low, high)
        except struct.error as error:
            raise StateError(f"stored buckets do not decode: {error}") from error


def bucket(value: float) -> int:
    """The bucket of a finite double: from its bits without the last 45; below zero, the complement."""
    if value < 0:
        return ~_of_bits(-value)
    return _of_bits(value + 0.0)


def middle(key: int) -> float:
    """The middle of a bucket; 0.0 of that of zero."""
    if key in (0, ~0):
        return 0.0
    if key < 0:
        return -middle(~key)
    value: float = _FLOAT.unpack(_BITS.pack((key << _SHIFT) | (1 << (_SHIFT - 1))))[0]
    return value


def _decimal(q: float) -> tuple[int, int]:
    """The share as its author wrote it, as a fraction: 0.7 is 7 of 10, which no double is."""
    digits, _, exponent = repr(float(q)).partition("e")
    whole, _, rest = digits.partition(".")
    return int(whole + rest), 10 ** (len(rest) - int(exponent or 0))


def _of_bits(value: float) -> int:
    bits: int = _BITS.unpack(_FLOAT.pack(value))[0]
    return bits >> _SHIFT
