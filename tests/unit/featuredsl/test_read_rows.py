"""Rows of many entities: what they are as objects, what bad bytes give, without numpy, and that they are faster."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
import time

import msgspec
import pytest

from featuredsl import prepared
from featuredsl.errors import CodecError, DependencyError, StateError
from featuredsl.online.request import RawState
from featuredsl.read_rows import FEWEST, row_of, rows_of
from featuredsl.ring_columns import RingColumns
from featuredsl.rows import Rows
from tests.support.rings import entities, full, place

MANY = 100


def test_rows_go_to_another_process() -> None:
    found = entities(1, place("numbers"), MANY)
    rows = Rows(rows_of(found.states, found.at_us, None), DependencyError("away"))
    for other in (pickle.loads(pickle.dumps(rows)), copy.copy(rows)):
        assert type(other) is Rows
        assert repr(other) == repr(rows)
        assert (type(other.error), str(other.error)) == (DependencyError, "away")


def test_rows_are_a_sequence_of_plain_dicts() -> None:
    found = entities(1, place("numbers"), MANY)
    rows = Rows(rows_of(found.states, found.at_us, None))
    alone = [row_of(at, kept, found.at_us, None) for at, kept in found.states]
    assert type(rows[0]) is dict
    assert rows[0] is rows[0]
    assert (len(rows), rows[-1], rows[2:4]) == (MANY, alone[-1], alone[2:4])
    assert [list(row) for row in rows] == [list(row) for row in alone]
    assert (rows == [], rows == "rows", rows == rows[:]) == (False, False, True)
    plain = Rows([{}])
    assert (plain == [{}], plain == [{}], repr(plain), plain.error) == (True, True, "[{}]", None)
    assert Rows([], DependencyError("away")).error is not None
    with pytest.raises(IndexError):
        rows[MANY]
    assert msgspec.json.encode(list(rows[:1])) == msgspec.json.encode(alone[:1])


def test_rows_are_made_once_whatever_is_looked_at_first() -> None:
    for many in (MANY, 33, FEWEST - 1):
        found = entities(6, place("numbers"), many)
        alone = [row_of(at, kept, found.at_us, None) for at, kept in found.states]
        for first in (0, many // 2, -1):
            rows = Rows(rows_of(found.states, found.at_us, None))
            row = rows[first]
            assert repr(row) == repr(alone[first])
            row["mine"] = row["most"]
            assert list(rows)[first] is row
            assert repr([{**row, "mine": 0} for row in rows]) == repr([{**row, "mine": 0} for row in alone])


def test_groups_of_one_shape_are_computed_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    whole = RingColumns.found
    monkeypatch.setattr(RingColumns, "found", lambda *args: found.append(len(args[1])) or whole(*args))
    clicks, visits = place("clicks"), place("visits")
    states = [*full(clicks, FEWEST - 2).states, *full(visits, 3).states, *full(place("clicks", ["most"]), 3).states]
    rows = Rows(rows_of(states, full(clicks, 1).at_us, None))
    assert not found
    assert {value.status for row in rows for value in row.values()} == {"OK"}
    assert found == [FEWEST + 1]


def test_a_shape_is_what_decides_the_values_of_a_ring() -> None:
    assert place("clicks").shape == place("visits").shape
    numbers = place("numbers")
    shapes = {place("numbers", [name]).shape for name in numbers.finalizer.names}
    assert len(shapes) == len(numbers.finalizer.names)


def test_an_entity_with_bytes_of_another_definition_is_refused_among_others() -> None:
    at = place("numbers")
    found = entities(2, at, MANY)
    ring = next(ring for ring in found.rings if ring is not None)
    for bad, error in ((ring[:-8], CodecError), (b"\x01" + ring[1:4] + b"\xff" * 4 + ring[8:], CodecError),
                       (b"\x02" + ring[1:], StateError), (b"", StateError)):  # fmt: skip
        states = list(found.states)
        states[50] = (at, msgspec.structs.replace(states[50][1], state=RawState(bad, ())))
        for some in (states, [*entities(2, place("mixed"), FEWEST).states, *states[48:53]]):
            with pytest.raises(error):
                rows_of(some, found.at_us, None)


def test_without_numpy_rows_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name="numpy")

    found = entities(3, place("mixed"), MANY)
    with_numpy = Rows(rows_of(found.states, found.at_us, None))
    monkeypatch.setattr(prepared, "import_module", refused)
    bare = place("mixed")
    rows = Rows(rows_of([(bare, kept) for _, kept in found.states], found.at_us, None))
    assert bare.columns is None
    assert repr(rows) == repr(with_numpy)


def test_a_read_of_few_entities_imports_no_numpy() -> None:
    script = f"""
import sys
from tests.support.rings import entities, full, place
from featuredsl import reader
from featuredsl.read_rows import rows_of
from featuredsl.rows import Rows
found = entities(4, place("numbers"), 3 * {FEWEST})
list(Rows(rows_of(found.states[:{FEWEST} - 1], found.at_us, None)))
assert "numpy" not in sys.modules
rows = Rows(rows_of(found.states, found.at_us, None))
assert "numpy" not in sys.modules
rows[0]
assert "numpy" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_hundred_entities_are_read_twice_as_fast_together_at_least() -> None:
    """CPU time, the least of some turns, every value looked at; about ten times as fast, since variances gain most."""
    at = place("numbers")
    found = full(at, MANY)
    spent: dict[str, float] = {}
    for _ in range(5):
        for name, side in (
            ("together", lambda: list(Rows(rows_of(found.states, found.at_us, None)))),
            ("alone", lambda: [row_of(at, kept, found.at_us, None) for _, kept in found.states]),
        ):
            begun = time.process_time()
            side()
            spent[name] = min(spent.get(name, math.inf), time.process_time() - begun)
    print({name: f"{seconds * 1e3:.2f} ms of CPU" for name, seconds in spent.items()})
    assert 2 * spent["together"] <= spent["alone"]
