"""An ordinary partial as a monoid, for ratios of a wide aggregate and an ordinary one."""

from __future__ import annotations

from typing import Any

from featuredsl.aggregators import Merge, merge_values
from featuredsl.errors import StateError
from featuredsl.nodes import Value
from featuredsl.wide.monoid import Monoid, Values
from featuredsl.wide.wire import read_cell, write_cell


class Plain(Monoid[Value]):
    """The sum, the least or the greatest of lifted values; null when there is none."""

    def __init__(self, kind: Merge) -> None:
        self.kind = kind

    def empty(self) -> Value:
        """Null."""
        return None

    def add(self, state: Value, time_us: int, values: Values) -> Value:
        """One more value, which may be null."""
        return self.merge(state, values[0])

    def merge(self, left: Value, right: Value) -> Value:
        """The merge of the algebra; what lies between may leave 64 bits."""
        if self.kind != "sum" or left is None or right is None:
            return merge_values(self.kind, [left, right])
        both: Any = (left, right)
        return both[0] + both[1]  # type: ignore[no-any-return]

    def finalize(self, state: Value, at_us: int) -> Any:
        """The partial itself."""
        return merge_values(self.kind, [state])

    def body(self, state: Value) -> bytes:
        """One cell."""
        return write_cell(state)

    def parsed(self, body: bytes) -> Value:
        """One cell."""
        try:
            value: Value = read_cell(body, 0)[0]
        except (IndexError, KeyError, ValueError) as error:
            raise StateError(f"a stored partial does not decode: {error}") from error
        return value
