"""Distinct values by HyperLogLog, in the hash and the bytes of Apache DataSketches (lgK 12, HLL_8).

States of the same values are equal, whatever the order and split, and so are their estimates: the estimate is
computed from the registers (Ertl, New cardinality estimation algorithms for HyperLogLog sketches, 2017), never
from the order of arrival. Java, C++ and Spark read the bytes behind the format byte as an HLL sketch.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any

import mmh3

from featuredsl.errors import StateError
from featuredsl.wide.monoid import Monoid, Values

LG_K = 12
REGISTERS = 1 << LG_K
RELATIVE_STANDARD_ERROR = 1.04 / math.sqrt(REGISTERS)
MOST_COUPONS = 384
"""So many distinct coupons (26 bits of hash and a register's value) are kept as they are."""

State = set[int] | bytearray

_SEED = 9001
_ADDRESS = (1 << 26) - 1
_INT, _FLOAT = struct.Struct("<q"), struct.Struct("<d")
_HLL_8 = 2 << 2
_EMPTY, _COMPACT, _OUT_OF_ORDER = 4, 8, 16
_HEAD = struct.Struct("<BBBBBBBB")
_DENSE = struct.Struct("<dddII")
_TOP = int.from_bytes(b"\x80" * REGISTERS, "little")


class Distinct(Monoid[State]):
    """How many distinct values: exact but for collisions of 26-bit hashes up to 384, then an estimate with a
    relative standard error of 1.63 %: within 5 % for 99.8 of 100 windows."""

    def empty(self) -> State:
        """No coupon."""
        return set()

    def add(self, state: State, time_us: int, values: Values) -> State:
        """One more value."""
        found = coupon(values[0])
        if isinstance(state, bytearray):
            _raise(state, found)
            return state
        state.add(found)
        return state if len(state) <= MOST_COUPONS else _dense(state)

    def merge(self, left: State, right: State) -> State:
        """The coupons of both, or the greater register of each pair."""
        if isinstance(left, bytearray) and isinstance(right, bytearray):
            return _greater(left, right)
        if isinstance(left, set) and isinstance(right, set):
            if not left or not right:
                return left or right
            both = left | right
            return both if len(both) <= MOST_COUPONS else _dense(both)
        dense, coupons = (left, right) if isinstance(left, bytearray) else (right, left)
        merged = bytearray(dense)
        for found in coupons:
            _raise(merged, found)
        return merged

    def finalize(self, state: State, at_us: int) -> Any:
        """A whole number, 0 when there is no value."""
        return len(state) if isinstance(state, set) else round(estimate(state))

    def body(self, state: State) -> bytes:
        """The compact image of a DataSketches HLL sketch."""
        if isinstance(state, bytearray):
            return _dense_image(state)
        words = struct.pack(f"<{len(state)}I", *sorted(state))
        if len(state) < 8:
            flags = _COMPACT | (0 if state else _EMPTY)
            return _HEAD.pack(2, 1, 7, LG_K, 3, flags, len(state), _HLL_8) + words
        lg_size = next(lg for lg in range(5, LG_K - 2) if 4 * len(state) <= 3 << lg)
        return _HEAD.pack(3, 1, 7, LG_K, lg_size, _COMPACT, 0, _HLL_8 | 1) + struct.pack("<I", len(state)) + words

    def parsed(self, body: bytes) -> State:
        """Inverse of `body`; also reads what DataSketches writes for this type, compact."""
        try:
            head = _HEAD.unpack_from(body)
            if head[1:4] != (1, 7, LG_K) or head[7] & 12 != _HLL_8:
                raise ValueError(f"no HLL_8 sketch of lgK {LG_K}")
            if head[7] & 3 == 2:
                return bytearray(_registers(body))
            start, count = (8, head[6]) if head[7] & 3 == 0 else (12, struct.unpack_from("<I", body, 8)[0])
            return set(struct.unpack_from(f"<{count}I", body, start))
        except (struct.error, ValueError) as error:
            raise StateError(f"a stored HLL sketch does not decode: {error}") from error


def coupon(value: int | float | str | bool) -> int:
    """What DataSketches keeps of a value: a register's new value (6 bits) and an address (26 bits)."""
    if isinstance(value, str):
        data = value.encode()
    elif isinstance(value, float):
        data = _FLOAT.pack(value + 0.0)
    else:
        data = _INT.pack(value)
    low: int
    high: int
    low, high = mmh3.hash64(data, _SEED, signed=False)
    return (min(64 - high.bit_length(), 62) + 1) << 26 | low & _ADDRESS


def estimate(registers: bytes | bytearray) -> float:
    """Ertl's improved raw estimate from the registers alone."""
    counts = [registers.count(value) for value in range(64)]
    total = REGISTERS * _tau(1 - counts[63] / REGISTERS)
    for value in range(62, 0, -1):
        total = 0.5 * (total + counts[value])
    total += REGISTERS * _sigma(counts[0] / REGISTERS)
    return REGISTERS * REGISTERS / (2 * math.log(2) * total)


def _sigma(x: float) -> float:
    if x == 1:
        return math.inf
    weight, total, before = 1.0, x, -1.0
    while total != before:
        x, before = x * x, total
        total, weight = total + x * weight, 2 * weight
    return total


def _tau(x: float) -> float:
    if x in (0, 1):
        return 0.0
    weight, total, before = 1.0, 1 - x, -1.0
    while total != before:
        x, before, weight = math.sqrt(x), total, 0.5 * weight
        total -= (1 - x) ** 2 * weight
    return total / 3


def _raise(registers: bytearray, found: int) -> None:
    address, value = found & (REGISTERS - 1), found >> 26
    if value > registers[address]:
        registers[address] = value


def _dense(coupons: Iterable[int]) -> bytearray:
    registers = bytearray(REGISTERS)
    for found in coupons:
        _raise(registers, found)
    return registers


def _greater(left: bytearray, right: bytearray) -> bytearray:
    """The greater of each pair of bytes below 128, all at once in one large integer."""
    a, b = int.from_bytes(left, "little"), int.from_bytes(right, "little")
    at_least = ((a | _TOP) - b) & _TOP
    mask = (at_least >> 7) * 255
    return bytearray((b ^ ((a ^ b) & mask)).to_bytes(REGISTERS, "little"))


def _dense_image(registers: bytearray) -> bytes:
    """Preamble of 40 bytes: sums of 2^-register for readers that keep them, and the mark that order is unknown."""
    counts = [registers.count(value) for value in range(64)]
    small = math.fsum(counts[value] * 2.0**-value for value in range(32))
    large = math.fsum(counts[value] * 2.0**-value for value in range(32, 64))
    head = _HEAD.pack(10, 1, 7, LG_K, 0, _COMPACT | _OUT_OF_ORDER, 0, _HLL_8 | 2)
    return head + _DENSE.pack(0.0, small, large, counts[0], 0) + bytes(registers)


def _registers(body: bytes) -> bytes:
    if len(body) != 40 + REGISTERS:
        raise ValueError(f"{len(body)} bytes instead of {40 + REGISTERS}")
    return body[40:]
