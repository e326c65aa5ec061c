"""Pieces of the stacked relation: columns that units share, the choice by unit, rows repeated for each unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from featuredsl.aggregators import Merge, Partial
from featuredsl.dtypes import DType

UNIT = "fdsl_unit"


@dataclass(frozen=True, slots=True)
class Slot:
    """A column that partials of one kind share: those of different units never meet in a row."""

    merge: Merge
    dtype: DType
    number: int

    @property
    def name(self) -> str:
        kind = self.dtype.replace("[]", "_array")
        return f"{self.merge}_{kind}_{self.number}"


def _repeated_duckdb(view: str, numbers: Sequence[int]) -> str:
    values = ", ".join(f"({number})" for number in numbers)
    return f"{view} CROSS JOIN (VALUES {values}) AS fdsl_units({UNIT})"


def _repeated_spark(view: str, numbers: Sequence[int]) -> str:
    return f"{view} LATERAL VIEW explode(array({listed(numbers)})) fdsl_units AS {UNIT}"


REPEATED: dict[str, Callable[[str, Sequence[int]], str]] = {
    "duckdb": _repeated_duckdb,
    "spark": _repeated_spark,
}


def slots_of(partials: Sequence[Partial]) -> tuple[Slot, ...]:
    used: dict[tuple[Merge, DType], int] = {}
    slots = []
    for partial in partials:
        kind = (partial.merge, partial.dtype)
        used[kind] = used.get(kind, -1) + 1
        slots.append(Slot(*kind, used[kind]))
    return tuple(slots)


def listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def choose(cases: Mapping[str, str], otherwise: str) -> str:
    """A CASE over the unit; the keys are lists of numbers."""
    if not cases:
        return otherwise
    arms = " ".join(f"WHEN {UNIT} IN ({numbers}) THEN {text}" for numbers, text in cases.items())
    return f"CASE {arms} ELSE {otherwise} END"
