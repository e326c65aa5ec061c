"""Sessions over ordered events without engine: one state that is open, one that was closed last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from featuredsl.wide.monoid import Monoid, Values

S = TypeVar("S")


class LastClosed(Generic[S]):
    """The values of one monoid over the last session that has closed by each time, from events in ascending time.

    A session ends where no event comes for `gap_us`, and is closed from its last event + `gap_us` on. Times ascend.
    """

    def __init__(self, monoid: Monoid[S], times_us: Sequence[int], gap_us: int) -> None:
        self.values: list[Any] = []
        self._monoid = monoid
        self._times = times_us
        self._gap = gap_us
        self._open = monoid.empty()
        self._closed = monoid.empty()
        self._last: int | None = None

    def push(self, time_us: int, values: Values | None) -> None:
        """Take the next event; None for one that is part of its session and brings nothing."""
        while len(self.values) < len(self._times) and self._times[len(self.values)] <= time_us:
            self._answer()
        if self._last is not None and time_us - self._last >= self._gap:
            self._closed, self._open = self._open, self._monoid.empty()
        if values is not None:
            self._open = self._monoid.add(self._open, time_us, values)
        self._last = time_us

    def finish(self) -> list[Any]:
        """The value of every time, in order."""
        while len(self.values) < len(self._times):
            self._answer()
        return self.values

    def _answer(self) -> None:
        at_us = self._times[len(self.values)]
        over = self._last is not None and self._last + self._gap <= at_us
        self.values.append(self._monoid.finalize(self._open if over else self._closed, at_us))
