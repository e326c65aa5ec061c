"""Windows over ordered events without engine: two stacks of states, so each event and each window is merged a
bounded number of times, however long the windows are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from featuredsl.wide.monoid import Monoid, Values

S = TypeVar("S")


class Asked(NamedTuple):
    """A window `[low_us, high_us)` and the time that its value is computed for."""

    low_us: int
    high_us: int
    at_us: int


class Slide(Generic[S]):
    """The values of one monoid over windows whose ends never go back, from events in ascending time.

    Windows begin at few places, so events are kept in segments between neighbouring beginnings. `front` holds the
    states of the segments that may still leave, each with all after it up to the last turn; `closed` and `head`
    hold what came since. A turn makes a new front when the old one is used up (two-stack queue).
    """

    def __init__(self, monoid: Monoid[S], asked: Sequence[Asked]) -> None:
        self.values: list[Any] = []
        self._monoid = monoid
        self._asked = asked
        self._lows = sorted({window.low_us for window in asked})
        self._front: list[tuple[int, S]] = []
        self._closed: list[tuple[int, S]] = []
        self._middle = monoid.empty()
        self._head = monoid.empty()
        self._segment = -1
        self._filled = False

    def push(self, time_us: int, values: Values) -> None:
        """Take the next event; windows that end at or before it get their values."""
        while len(self.values) < len(self._asked) and time_us >= self._asked[len(self.values)].high_us:
            self._answer()
        if len(self.values) == len(self._asked) or time_us < self._asked[len(self.values)].low_us:
            return
        if self._segment + 1 < len(self._lows) and time_us >= self._lows[self._segment + 1]:
            self._close()
            while self._segment + 1 < len(self._lows) and time_us >= self._lows[self._segment + 1]:
                self._segment += 1
        self._head = self._monoid.add(self._head, time_us, values)
        self._filled = True

    def finish(self) -> list[Any]:
        """The value of every window, in order."""
        while len(self.values) < len(self._asked):
            self._answer()
        return self.values

    def _answer(self) -> None:
        window = self._asked[len(self.values)]
        self._leave(bisect_left(self._lows, window.low_us))
        merge = self._monoid.merge
        back = merge(self._middle, self._head)
        state = merge(self._front[-1][1], back) if self._front else back
        self.values.append(self._monoid.finalize(state, window.at_us))

    def _close(self) -> None:
        """End the current segment."""
        if self._filled:
            self._closed.append((self._segment, self._head))
            self._middle = self._monoid.merge(self._middle, self._head)
            self._head = self._monoid.empty()
            self._filled = False

    def _leave(self, first: int) -> None:
        """Forget the segments before `first`."""
        while self._front and self._front[-1][0] < first:
            self._front.pop()
        if self._front:
            return
        oldest = self._closed[0][0] if self._closed else self._segment if self._filled else first
        if oldest < first:
            self._turn(first)

    def _turn(self, first: int) -> None:
        self._close()
        state = self._monoid.empty()
        for segment, part in reversed(self._closed):
            if segment < first:
                break
            state = self._monoid.merge(part, state)
            self._front.append((segment, state))
        self._closed = []
        self._middle = self._monoid.empty()
