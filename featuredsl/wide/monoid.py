"""What an aggregate of variable width is: a state that starts empty, takes events, merges, and becomes a value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from featuredsl.errors import StateError

S = TypeVar("S")
Values = tuple[Any, ...]
"""What an event brings: the value, then (for ranked aggregates) what decides between equal times."""

FORMAT = 1


class Monoid(ABC, Generic[S]):
    """States under `merge`, with `empty` as neutral element; merge is associative and commutative.

    `add` may change the state that it is given and owns it: only what came from `empty` or `add` goes in. `merge`
    changes neither side, and may return one of them. The first byte of stored states is `FORMAT`.
    """

    newest_first = False
    """Whether states of spans of time are best merged from the newest back: see `is_full`."""

    @abstractmethod
    def empty(self) -> S:
        """The state of no event."""

    @abstractmethod
    def add(self, state: S, time_us: int, values: Values) -> S:
        """The state with one more event."""

    @abstractmethod
    def merge(self, left: S, right: S) -> S:
        """The state of the events of both."""

    @abstractmethod
    def finalize(self, state: S, at_us: int) -> Any:
        """The value of a state when asked at a time; arrays are lists."""

    @abstractmethod
    def body(self, state: S) -> bytes:
        """The state as bytes, without the format byte."""

    @abstractmethod
    def parsed(self, body: bytes) -> S:
        """Inverse of `body`."""

    def is_full(self, state: S) -> bool:
        """True when events after all of the state's (with `newest_first`: before all of them) would not change it."""
        return False

    def lift(self, time_us: int, values: Values) -> S:
        """The state of one event."""
        return self.add(self.empty(), time_us, values)

    def to_bytes(self, state: S) -> bytes:
        """The state as bytes: equal states give equal bytes, on every machine."""
        return bytes([FORMAT]) + self.body(state)

    def from_bytes(self, data: bytes) -> S:
        """Inverse of `to_bytes`. Raises StateError for another format."""
        if data[:1] != bytes([FORMAT]):
            found = data[0] if data else "none"
            raise StateError(f"state of {type(self).__name__} has format {found}; this release reads {FORMAT}")
        return self.parsed(data[1:])
