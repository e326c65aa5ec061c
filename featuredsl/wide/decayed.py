"""Sums in which an event weighs half as much after each half-life."""

from __future__ import annotations

import math
import struct
from typing import Any

from featuredsl.errors import DefinitionError, StateError
from featuredsl.wide.monoid import Monoid, Values

State = tuple[int, float] | None
"""The time of the newest event, and the sum as of that time: so no weight is above 1 and nothing overflows."""

_STATE = struct.Struct(">qd")


class Decayed(Monoid[State]):
    """The sum of x * 2^(-(t - event time) / half-life) over the events of a window, asked at t."""

    def __init__(self, half_life_us: int, nothing: float | None) -> None:
        if isinstance(half_life_us, bool) or half_life_us <= 0:
            raise DefinitionError(f"half-life {half_life_us!r} must be positive; write it like '30m' or '7d'")
        self.half_life_us = half_life_us
        self.nothing = nothing

    def empty(self) -> State:
        """No event."""
        return None

    def add(self, state: State, time_us: int, values: Values) -> State:
        """One more event."""
        return self.merge(state, (time_us, float(values[0])))

    def merge(self, left: State, right: State) -> State:
        """Both as of the later time."""
        if left is None or right is None:
            return left or right
        older, newer = (left, right) if left[0] <= right[0] else (right, left)
        return newer[0], newer[1] + self._aged(older, newer[0])

    def finalize(self, state: State, at_us: int) -> Any:
        """As of the asked time; null when the sum is not finite."""
        if state is None:
            return self.nothing
        value = self._aged(state, at_us)
        return value if math.isfinite(value) else None

    def body(self, state: State) -> bytes:
        """Time and sum; nothing for no event."""
        return b"" if state is None else _STATE.pack(*state)

    def parsed(self, body: bytes) -> State:
        """Inverse of `body`."""
        if not body:
            return None
        try:
            time_us, value = _STATE.unpack(body)
        except struct.error as error:
            raise StateError(f"a stored decayed sum does not decode: {error}") from error
        return time_us, value

    def _aged(self, state: tuple[int, float], at_us: int) -> float:
        return state[1] * math.exp2((state[0] - at_us) / self.half_life_us)
