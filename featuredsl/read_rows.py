"""From the states that a read found to its rows: many entities together, where numpy is installed.

Rows of nothing but windows are made when they are looked at; their bytes are checked at once. numpy is imported by the
first look at `FEWEST` entities whose rings mean the same; fewer, and programs without it, go entity by entity, with the
same values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from featuredsl.finalize import window_values
from featuredsl.nodes import Value
from featuredsl.online.request import state_of
from featuredsl.prepared import Place
from featuredsl.read_states import Kept
from featuredsl.rows import Columns, Row

if TYPE_CHECKING:
    from featuredsl.ring_columns import RingColumns

FEWEST: Final = 8
"""Entities of one shape from which on columns are faster."""
_BYTES: Final = 300_000
"""So many bytes of rings are computed at once, which fit in a processor's cache."""
_LEAST: Final = 32
"""So many entities at least make more than one part."""
Request = Mapping[str, Value] | None
State = tuple[Place, Kept]
Members = tuple["RingColumns", list[int]]


def row_of(at: Place, kept: Kept, at_us: int, request: Request, known: Row | None = None) -> Row:
    """The features of one entity."""
    return at.finalizer.values(state_of(at.read, kept.state), at_us, kept.marks, request, known)


def rows_of(states: Sequence[State], at_us: int, request: Request) -> list[Row | Columns]:
    """The features of all entities, in order; those of windows alone are still to be made.

    Raises CodecError, StateError for bytes of another definition.
    """
    for at, kept in states:
        if kept.state.ring is not None:
            at.check(kept.state.ring)
    windows, known = _Windows(states, at_us), dict[int, Row]()
    rows: list[Row | Columns] = [windows] * len(states)
    for number, (at, kept) in enumerate(states):
        if not at.finalizer.only_programs:
            if number not in known:
                known.update(windows.together(number))
            rows[number] = row_of(at, kept, at_us, request, known.get(number))
    return rows


class _Windows:
    """The windows of the entities of a read. Those of one shape are computed together, some when the first of them is
    looked at."""

    def __init__(self, states: Sequence[State], at_us: int) -> None:
        self._states, self._at_us = states, at_us
        self._members: dict[int, Members] | None = None

    def fill(self, rows: list[Row | Columns], number: int) -> Row:
        """See `Columns`; for entities that have windows alone."""
        for other, row in self.together(number):
            if rows[other] is self:
                rows[other] = row
        found = rows[number]
        if not isinstance(found, dict):
            at, kept = self._states[number]
            ring = kept.state.ring
            found = row_of(at, kept, self._at_us, None) if ring is None else at.windows(ring, self._at_us)
            rows[number] = found
        return found

    def together(self, number: int) -> Iterable[tuple[int, Row]]:
        """The windows of an entity and of those that it is computed with; nothing where it is computed alone."""
        if self._members is None:
            self._members = _members(self._states)
        found = self._members.get(number)
        return () if found is None else zip(found[1], self._computed(*found), strict=True)

    def _computed(self, columns: RingColumns, members: Sequence[int]) -> Iterator[Row]:
        """The windows of entities of one shape."""
        states = [self._states[number] for number in members]
        found = columns.found([kept.state.ring for _, kept in states if kept.state.ring is not None], self._at_us)
        for (at, _), values in zip(states, window_values(found, self._at_us), strict=True):
            yield at.finalizer.known(values)


def _members(states: Sequence[State]) -> dict[int, Members]:
    """By number in the read, with which others an entity is computed, of whose shape there are enough; never few of
    them, for which numpy might add in another order."""
    found: dict[int, Members] = {}
    if len(states) < FEWEST:
        return found
    shapes: dict[str, list[int]] = defaultdict(list)
    for number, (at, kept) in enumerate(states):
        if kept.state.ring is not None:
            shapes[at.shape].append(number)
    for members in shapes.values():
        at, _ = states[members[0]]
        columns = at.columns if len(members) >= FEWEST else None
        if columns is None:
            continue
        parts = -(-len(members) // max(_LEAST, _BYTES // at.read.total_size))
        for some in (members[first::parts] for first in range(parts)):
            found.update(dict.fromkeys(some, (columns, some)))
    return found
