"""Windows over the rings of many entities at once, by numpy; the meaning is that of `ring_program.py`.

The rings of a group are of one length, so a number of a slot is a column of one array. Merges are taken for all
entities together, and values follow from the same expressions. What numpy might give otherwise, sums of integers that
could leave 64 bits and NaN among numbers that are compared, is computed again as for a single entity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from featuredsl.finalize import Known
from featuredsl.nodes import Column as Name
from featuredsl.nodes import Value
from featuredsl.online.layout import StoreLayout
from featuredsl.online.ring import FIXED, tier_struct
from featuredsl.operations import INT64_MAX, INT64_MIN
from featuredsl.ring_program import RingProgram, Slots
from featuredsl.vectors import Numbers, Vector, vector_program

_WORD: Final = 8
_MERGES: Final[dict[str, Callable[..., Any]]] = {
    "sum": np.add.reduce,
    "min": np.minimum.reduce,
    "max": np.maximum.reduce,
}
_NEUTRAL: Final[dict[str, dict[str, float]]] = {
    "int": {"sum": 0, "min": INT64_MAX, "max": INT64_MIN},
    "float": {"sum": 0.0, "min": np.inf, "max": -np.inf},
}
_DTYPES: Final[dict[str, type]] = {"int": np.int64, "float": np.float64}
Mask = NDArray[np.bool_] | None


class RingColumns:
    """The programs of one layout, for many rings; for those of any layout of the same shape (`Place.shape`)."""

    def __init__(self, layout: StoreLayout, programs: Sequence[RingProgram]) -> None:
        self._windows = [_Window(layout, program) for program in programs]

    def found(self, rings: Sequence[bytes], at_us: int) -> list[Known]:
        """What each program gives, for rings that are known to be of the layout, or of one of the same shape."""
        words = np.frombuffer(b"".join(rings), dtype=">i8").reshape(len(rings), -1)
        with np.errstate(all="ignore"):
            return [window.found(words, rings, at_us) for window in self._windows]


class _Window:
    """One program: its part of a ring, and its columns by type and merge."""

    def __init__(self, layout: StoreLayout, program: RingProgram) -> None:
        tier = layout.ring_tier(program.tier)
        self._program, self._tier, self._start = program, tier, layout.offset(tier.name)
        self._width = FIXED + len(tier.columns)
        columns = [(tier.columns[at].dtype, merge, at) for at, merge in program.columns]
        self._types = [_Type(dtype, columns) for dtype in _DTYPES if any(column[0] == dtype for column in columns)]
        nodes = [feature.aggregate.finalize for feature in program.features]
        steps, plain = map(vector_program, nodes), [isinstance(node, Name) for node in nodes]
        self._ways = list(zip(program.places, steps, plain, program.finish, strict=True))
        self._tiles: tuple[Slots, Numbers] | None = None

    def found(self, words: Numbers, rings: Sequence[bytes], at_us: int) -> Known:
        """What the program gives; an entity whose merges are in doubt is read on its own."""
        inside = self._inside(words, self._program.slots(at_us))
        columns: dict[int, Column] = {}
        doubtful: set[int] = set()
        for one in self._types:
            doubtful.update(one.merge(inside, columns))
        values = self._finished([columns[place] for place in range(len(columns))], len(rings))
        for i in doubtful:
            numbers = tier_struct(self._tier.slot_format, self._tier.slots).unpack_from(rings[i], self._start)
            for column, value in zip(values, self._program.values(numbers, at_us)[0], strict=True):
                column[i] = value
        return inside.newest(), values

    def _inside(self, words: Numbers, slots: Slots) -> _Inside:
        """The slots of the window by tile, each number a row over the entities."""
        start, width = self._start // _WORD, self._width
        run = words[:, start + slots.first : start + slots.last]
        if slots.rest:
            run = np.concatenate([run, words[:, start : start + slots.rest]], axis=1)
        known = self._tiles  # read once: threads share a reader
        if known is None or known[0] is not slots:
            known = self._tiles = (slots, np.asarray(slots.tiles)[:, None])
        numbers = run.reshape(len(words), -1, width).transpose(2, 1, 0).astype(np.int64, order="C")
        return _Inside(numbers, known[1])

    def _finished(self, columns: Sequence[Column], entities: int) -> list[list[Value]]:
        """The values of each feature."""
        found: list[list[Value]] = []
        merged: list[tuple[Value, ...]] | None = None
        for places, steps, is_plain, finish in self._ways:
            if is_plain:
                found.append(columns[places[0]].listed)
            elif steps is not None:
                row = {f"p{number}": columns[place].vector for number, place in enumerate(places)}
                found.append(steps.run(row).listed(entities))
            else:
                merged = merged or list(zip(*(column.listed for column in columns), strict=True))
                found.append([finish(one) for one in merged])
        return found


class Column(NamedTuple):
    """A column over a window, as Python values and as a vector."""

    listed: list[Value]
    vector: Vector


class _Type:
    """The columns of one type of a program. They are merged side by side: `runs` of each merge in turn."""

    def __init__(self, dtype: str, columns: Sequence[tuple[str, str, int]]) -> None:
        self._dtype, neutral = dtype, _NEUTRAL[dtype]
        mine = [(merge, place, at) for place, (of, merge, at) in enumerate(columns) if of == dtype]
        mine.sort(key=lambda column: list(neutral).index(column[0]))
        merges = [merge for merge, _, _ in mine]
        ends = {merge: (merges.index(merge), merges.index(merge) + merges.count(merge)) for merge in merges}
        self._runs = [(_MERGES[merge], *ends[merge], neutral[merge]) for merge in ends]
        self._sums = slice(0, merges.count("sum"))
        self._places = [place for _, place, _ in mine]
        self._at = np.asarray([at for _, _, at in mine])
        self._neutral: Numbers = np.asarray([neutral[merge] for merge in merges], _DTYPES[dtype])[:, None, None]

    def merge(self, inside: _Inside, columns: dict[int, Column]) -> Iterable[int]:
        """Put each column over the window; the entities for which a column is not sure."""
        numbers: Numbers = inside.numbers.take(self._at + FIXED, axis=0).view(_DTYPES[self._dtype])
        present, null = inside.present(self._at), None
        if present is not None:
            numbers, null = np.where(present, numbers, self._neutral), ~present.any(axis=1)
        found = np.empty((len(self._places), numbers.shape[2]), numbers.dtype)
        for reduce, begin, end, neutral in self._runs:
            reduce(numbers[begin:end], 1, None, found[begin:end], False, neutral)
        null, doubtful = (self._floats if self._dtype == "float" else self._ints)(numbers, found, null)
        listed = found.tolist()
        for i, place in enumerate(self._places):
            vector = Vector(found[i], null if null is None else null[i], i < self._sums.stop or self._dtype == "int")
            columns[place] = Column(listed[i] if null is None else vector.listed(len(listed[i])), vector)
        return doubtful

    def _floats(self, numbers: Numbers, found: Numbers, null: Mask) -> tuple[Mask, Iterable[int]]:
        """A sum that is not finite is null; what is greater than NaN depends on the order."""
        finite = np.isfinite(found)
        if finite.all():
            return null, ()
        infinite = ~finite
        infinite[self._sums.stop :] = False
        doubtful = np.isnan(found[self._sums.stop :]).any(axis=0)
        return infinite if null is None else null | infinite, np.flatnonzero(doubtful).tolist()

    def _ints(self, numbers: Numbers, found: Numbers, null: Mask) -> tuple[Mask, Iterable[int]]:
        """A sum that may not fit in 64 bits."""
        summed = numbers[self._sums]
        limit = INT64_MAX // numbers.shape[1]
        if not summed.size or (summed.max() <= limit and summed.min() >= -limit):
            return null, ()
        return null, np.flatnonzero(((summed > limit) | (summed < -limit)).any(axis=(0, 1))).tolist()


class _Inside:
    """The numbers of a window: `numbers[word, tile, entity]`, and which tiles and columns are there."""

    def __init__(self, numbers: Numbers, tiles: Numbers) -> None:
        self.numbers = numbers
        same, rows, nulls = numbers[0] == tiles, numbers[1], numbers[3]
        self._valid: Mask = None if same.all() and rows.all() else same & (rows != 0)
        self._nulls: Numbers | None = nulls if nulls.any() else None

    def newest(self) -> list[int | None]:
        """The newest event of each entity."""
        water = self.numbers[2]
        if self._valid is None:
            return water.max(axis=0).tolist()  # type: ignore[no-any-return]
        newest = np.where(self._valid, water, INT64_MIN).max(axis=0)
        return Vector(newest, ~self._valid.any(axis=0)).listed(len(newest))  # type: ignore[return-value]

    def present(self, at: Numbers) -> Mask:
        """For some columns, where there is a number; None when that is everywhere."""
        if self._nulls is None:
            return None if self._valid is None else np.broadcast_to(self._valid, (len(at), *self._valid.shape))
        present: NDArray[np.bool_] = (self._nulls >> at[:, None, None] & 1) == 0
        return present if self._valid is None else present & self._valid
