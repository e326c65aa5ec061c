"""Many rings at once: the same value and status of each entity as when it is read alone, and those of a recount."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featuredsl.finalize import FeatureValue
from featuredsl.read_rows import FEWEST, row_of, rows_of
from featuredsl.rows import Rows
from tests.support.rings import PLANS, entities, full, place

PLACES = {name: place(name) for name in PLANS} | {"some": place("numbers", ["least", "mean", "count_1h"])}
PARTIAL = {"count": "count", "total": "n", "greatest": "x", "most": "n", "fewest": "n"}


def plainly(row: Mapping[str, FeatureValue]) -> dict[str, tuple[str, ...]]:
    """To the last bit and type; a zero has no sign."""
    shown = {
        name: 0.0 if value.value == 0.0 and isinstance(value.value, float) else value.value
        for name, value in row.items()
    }
    return {n: (repr(shown[n]), v.status, repr(v.as_of_us), repr(v.event_time_us)) for n, v in row.items()}


@pytest.mark.parametrize("name", PLACES)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), more=st.integers(0, 3))
def test_an_entity_is_read_alike_alone_and_among_others(name: str, seed: int, more: int) -> None:
    found = entities(seed, PLACES[name], FEWEST + 4 + more)
    together = Rows(rows_of(found.states, found.at_us, None))
    for row, (at, kept) in zip(together, found.states, strict=True):
        alone = row_of(at, kept, found.at_us, None)
        assert plainly(row) == plainly(alone)
        assert list(row) == list(alone)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_groups_are_read_alike_alone_and_in_one_read(seed: int) -> None:
    """Two groups of one shape, fewer of each than are computed together, beside other shapes and fewer features."""
    own = [PLACES["clicks"], PLACES["visits"], PLACES["mixed"], PLACES["some"], place("clicks", ["most"])]
    found = [entities(seed, at, 5 + number) for number, at in enumerate(own)]
    states = [state for one in found for state in one.states]
    random.Random(seed).shuffle(states)
    at_us = found[0].at_us
    rows = Rows(rows_of(states, at_us, None))
    assert [plainly(row) for row in rows] == [plainly(row_of(at, kept, at_us, None)) for at, kept in states]


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_columns_are_those_of_a_recount(seed: int) -> None:
    at = PLACES["numbers"]
    found = entities(seed, at, FEWEST + 6)
    rows = Rows(rows_of(found.states, found.at_us, None))
    (tier,) = [tier for tier in at.read.ring if tier.name == "events/5m"]
    low, high = found.at_us - 3_600_000_000, found.at_us
    low -= low % tier.hop_us
    for ring, tiles, row in zip(found.rings, found.tiles, rows, strict=True):
        if ring is None:
            continue
        inside = [tile for tile in tiles[tier.name] if low <= tile.index * tier.hop_us < high]
        assert row["count_1h"].event_time_us == max((tile.high_water_us for tile in inside), default=None)
        for name, merge in (("total_1h", sum), ("most", max), ("fewest", min)):
            assert row[name].value == recount(at, name, merge, inside), name


class _Interrupted:
    """Words of rings; where they are copied, another thread's read comes between."""

    def __init__(self, words: Any, between: Callable[[], object]) -> None:
        self._words, self._between = words, between

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, at: Any) -> _Interrupted:
        return _Interrupted(self._words[at], self._between)

    def reshape(self, *shape: int) -> _Interrupted:
        return _Interrupted(self._words.reshape(*shape), self._between)

    def transpose(self, *axes: int) -> _Interrupted:
        return _Interrupted(self._words.transpose(*axes), self._between)

    def astype(self, *args: Any, **options: Any) -> Any:
        self._between()
        return self._words.astype(*args, **options)


def test_a_read_at_another_time_may_come_between() -> None:
    at = place("numbers")
    found = full(at, 10)
    words = np.frombuffer(b"".join(found.rings), dtype=">i8").reshape(len(found.rings), -1)
    compared = 0
    for window in at.columns._windows:  # type: ignore[union-attr]
        slots = window._program.slots(found.at_us)
        if slots.rest:  # such a run of slots is a copy already
            continue
        alone = window.found(words, found.rings, found.at_us)
        between = partial(rows_of, found.states, found.at_us - 3_600_000_000, None)
        assert repr(window.found(_Interrupted(words, between), found.rings, found.at_us)) == repr(alone)  # type: ignore[arg-type]
        compared += any(value is not None for value in alone[0])
    assert compared


def recount(at: Any, name: str, merge: Any, inside: list[Any]) -> int | None:
    """By the partial's column; what does not fit in 64 bits is null."""
    (one,) = [f for f in at.finalizer.needed.features if f.name == name]
    (program,) = [p for p in at.finalizer.programs if name in p.names]
    column = program.columns[program.places[program.names.index(name)][0]][0]
    values = [tile.values[column] for tile in inside if tile.values[column] is not None]
    value = merge(values) if values else None
    return one.default if value is None or not -(2**63) <= value < 2**63 else value
