"""The earliest event and the latest k of a window, by (event time, sequence, value)."""

from __future__ import annotations

from bisect import insort
from typing import Any

from featuredsl.errors import DefinitionError
from featuredsl.wide.monoid import Monoid, Values
from featuredsl.wide.wire import Entry, entry, read_entries, write_entries

MOST_EVENTS = 1000


class First(Monoid[Entry | None]):
    """The value of the least (event time, sequence, value); nulls count as the lowest."""

    def empty(self) -> Entry | None:
        """None."""
        return None

    def add(self, state: Entry | None, time_us: int, values: Values) -> Entry | None:
        """Keeps the lesser event."""
        return state if state is not None and time_us > state[0] else self.merge(state, entry(time_us, values))

    def merge(self, left: Entry | None, right: Entry | None) -> Entry | None:
        """The lesser event."""
        if left is None or right is None:
            return left or right
        return min(left, right)

    def is_full(self, state: Entry | None) -> bool:
        """One event is enough."""
        return state is not None

    def finalize(self, state: Entry | None, at_us: int) -> Any:
        """Its value, which may be null."""
        return None if state is None else state[2][0]

    def body(self, state: Entry | None) -> bytes:
        """No or one event."""
        return b"" if state is None else write_entries([state])

    def parsed(self, body: bytes) -> Entry | None:
        """No or one event."""
        return next(iter(read_entries(body)), None)


class LastK(Monoid[list[Entry]]):
    """The values of the k greatest (event time, sequence, value), the newest first."""

    newest_first = True

    def __init__(self, k: int) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MOST_EVENTS:
            raise DefinitionError(f"last_k() takes an integer k from 1 to {MOST_EVENTS}, not {k!r}")
        self.k = k

    def empty(self) -> list[Entry]:
        """No event."""
        return []

    def add(self, state: list[Entry], time_us: int, values: Values) -> list[Entry]:
        """Events stay in ascending order."""
        if len(state) == self.k and time_us < state[0][0]:
            return state
        insort(state, entry(time_us, values))
        if len(state) > self.k:
            del state[0]
        return state

    def merge(self, left: list[Entry], right: list[Entry]) -> list[Entry]:
        """The greatest k of both."""
        if not left or not right:
            return left or right
        return sorted(left + right)[-self.k :]

    def is_full(self, state: list[Entry]) -> bool:
        """All k are there."""
        return len(state) == self.k

    def finalize(self, state: list[Entry], at_us: int) -> Any:
        """Null when there is no event."""
        return [values[0] for _, _, values in reversed(state)] or None

    def body(self, state: list[Entry]) -> bytes:
        """The events in ascending order."""
        return write_entries(state)

    def parsed(self, body: bytes) -> list[Entry]:
        """The events in ascending order."""
        return read_entries(body)
