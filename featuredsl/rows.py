"""The answer of a read. Rows of many entities come from columns, and are made when they are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, overload

from featuredsl.errors import DependencyError
from featuredsl.finalize import FeatureValue

Row = dict[str, FeatureValue]


class Columns(Protocol):
    """Values of many entities."""

    def row(self, number: int) -> Row:
        """Those of one."""
        ...


class Rows(Sequence[Row]):
    """One mapping of feature to value for each key asked, in order. `error` says why Redis did not give them all.

    `list(rows)` is a list of plain dicts.
    """

    __slots__ = ("_rows", "error")

    def __init__(self, rows: Iterable[Row | tuple[Columns, int]] = (), error: DependencyError | None = None) -> None:
        self._rows = list(rows)
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
        if isinstance(row, tuple):
            columns, number = row
            row = self._rows[at] = columns.row(number)
        return row

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Rows | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Rows], tuple[list[Row], DependencyError | None]]:
        return Rows, (list(self), self.error)

    def __repr__(self) -> str:
        return repr(list(self))
