"""The answer of a read. Rows of nothing but windows are made when they are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, overload

from featuredsl.errors import DependencyError
from featuredsl.finalize import FeatureValue

Row = dict[str, FeatureValue]


class Columns(Protocol):
    """Rows of a read that are still to be made."""

    def fill(self, rows: list[Row | Columns], number: int) -> Row:
        """The row of this number, after it was put in its place with those that were made along with it."""
        ...


class Rows(Sequence[Row]):
    """One mapping of feature to value for each key asked, in order. `error` says why Redis did not give them all.

    `list(rows)` is a list of plain dicts.
    """

    __slots__ = ("_rows", "error")

    def __init__(self, rows: Iterable[Row | Columns] = (), error: DependencyError | None = None) -> None:
        self._rows: list[Row | Columns] = list(rows)
        self.error = error

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self._rows)))]
        row = self._rows[at]
        return row if isinstance(row, dict) else row.fill(self._rows, range(len(self._rows))[at])

    def __iter__(self) -> Iterator[Row]:
        for at, row in enumerate(self._rows):
            yield row if isinstance(row, dict) else row.fill(self._rows, at)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Rows | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Rows], tuple[list[Row], DependencyError | None]]:
        return Rows, (list(self), self.error)

    def __repr__(self) -> str:
        return repr(list(self))
