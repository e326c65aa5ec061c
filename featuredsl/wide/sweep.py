"""Windows over ordered events without engine: two stacks of states, so each event and each window is merged a
bounded number of times, however long the windows are."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import heappop, heappush
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
    states of the segments that may still leave, each with all after it up to the last turn, the oldest last;
    `closed` and `head` hold what came since, `middle` the whole of `closed`. A turn makes a new front when the old
    one is used up (two-stack queue). Events that are known only after a window is asked wait in a heap.
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
        self._waiting: list[tuple[int, int, int, Values]] = []
        self._waited = 0

    def push(self, time_us: int, values: Values, known_us: int | None = None) -> None:
        """Take the next event; windows that end at or before it get their values.

        Windows asked before `known_us` do not see it.
        """
        while len(self.values) < len(self._asked) and time_us >= self._asked[len(self.values)].high_us:
            self._answer()
        if len(self.values) == len(self._asked) or time_us < self._asked[len(self.values)].low_us:
            return
        if known_us is not None and known_us > self._asked[len(self.values)].at_us:
            self._waited += 1
            heappush(self._waiting, (known_us, self._waited, time_us, values))
            return
        self._take(time_us, values)

    def finish(self) -> list[Any]:
        """The value of every window, in order."""
        while len(self.values) < len(self._asked):
            self._answer()
        return self.values

    def _take(self, time_us: int, values: Values) -> None:
        """Add an event that is not older than the head's segment."""
        if self._segment + 1 < len(self._lows) and time_us >= self._lows[self._segment + 1]:
            self._close()
            self._segment = bisect_right(self._lows, time_us) - 1
        self._head = self._monoid.add(self._head, time_us, values)
        self._filled = True

    def _answer(self) -> None:
        window = self._asked[len(self.values)]
        self._leave(bisect_left(self._lows, window.low_us))
        while self._waiting and self._waiting[0][0] <= window.at_us:
            _, _, time_us, values = heappop(self._waiting)
            if time_us >= window.low_us:
                self._take_late(time_us, values)
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

    def _take_late(self, time_us: int, values: Values) -> None:
        """Add an event of any segment that has not left; states may be shared, so none is changed in place."""
        segment = bisect_right(self._lows, time_us) - 1
        if segment >= self._segment:
            self._take(time_us, values)
            return
        late = self._monoid.lift(time_us, values)
        if self._front and segment <= self._front[0][0]:
            self._front = self._with_late(segment, late)
            return
        merge = self._monoid.merge
        self._middle = merge(self._middle, late)
        place = bisect_left(self._closed, segment, key=lambda part: part[0])
        if place < len(self._closed) and self._closed[place][0] == segment:
            self._closed[place] = (segment, merge(self._closed[place][1], late))
        else:
            self._closed.insert(place, (segment, late))

    def _with_late(self, segment: int, late: S) -> list[tuple[int, S]]:
        """The front with one more event: in its segment and in all before it, which hold what is after them."""
        newer = [part for part in self._front if part[0] > segment]
        older = [part for part in self._front if part[0] <= segment]
        if not older or older[0][0] < segment:
            older.insert(0, (segment, newer[-1][1] if newer else self._monoid.empty()))
        return newer + [(number, self._monoid.merge(state, late)) for number, state in older]
