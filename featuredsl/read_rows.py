"""From the states that a read found to its rows: many entities of a group together, where numpy is installed.

numpy is imported by the first read of `FEWEST` entities of a group; smaller reads and programs without it go entity by
entity, with the same values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from featuredsl.finalize import Finalizer, Known
from featuredsl.nodes import Value
from featuredsl.online.request import state_of
from featuredsl.prepared import Place
from featuredsl.read_states import Kept
from featuredsl.rows import Columns, Row

if TYPE_CHECKING:
    from featuredsl.ring_columns import Found

FEWEST: Final = 8
"""Entities of a group from which on columns are faster."""
_BYTES: Final = 1 << 22
"""So many bytes of rings stand side by side at once."""
Request = Mapping[str, Value] | None
State = tuple[Place, Kept]


class Windows:
    """The windows of some entities of a group."""

    def __init__(self, finalizer: Finalizer, found: Sequence[Found], at_us: int) -> None:
        self._finalizer, self._found, self._at_us = finalizer, found, at_us
        self._entities: list[tuple[Known, ...]] | None = None

    def row(self, number: int) -> Row:
        """Those of one entity."""
        if self._entities is None:
            self._entities = list(zip(*(one.by_entity() for one in self._found), strict=True))
        return self._finalizer.known(self._entities[number], self._at_us)


def row_of(at: Place, kept: Kept, at_us: int, request: Request, known: Row | None = None) -> Row:
    """The features of one entity."""
    return at.finalizer.values(state_of(at.read, kept.state), at_us, kept.marks, request, known)


def rows_of(states: Sequence[State], at_us: int, request: Request) -> list[Row | tuple[Columns, int]]:
    """The features of all entities, in order; those of windows alone are still to be made."""
    if len(states) < FEWEST:
        return [row_of(at, kept, at_us, request) for at, kept in states]
    rows: list[Row | tuple[Columns, int] | None] = [None] * len(states)
    for at, some, windows in _together(states, at_us):
        for number, i in enumerate(some):
            if at.finalizer.only_programs:
                rows[i] = (windows, number)
            else:
                rows[i] = row_of(at, states[i][1], at_us, request, windows.row(number))
    return [row_of(*states[i], at_us, request) if row is None else row for i, row in enumerate(rows)]


def _together(states: Sequence[State], at_us: int) -> Iterator[tuple[Place, list[int], Windows]]:
    """The windows of those entities, by their place in the read, of whose group there are enough."""
    groups: dict[Place, list[int]] = defaultdict(list)
    for i, (at, kept) in enumerate(states):
        if kept.state.ring is not None:
            groups[at].append(i)
    for at, members in groups.items():
        columns = at.columns if len(members) >= FEWEST else None
        if columns is None:
            continue
        step = max(1, _BYTES // at.read.total_size)
        for some in (members[begin : begin + step] for begin in range(0, len(members), step)):
            rings = [ring for i in some if (ring := states[i][1].state.ring) is not None]
            yield at, some, Windows(at.finalizer, columns.found(rings, at_us), at_us)
