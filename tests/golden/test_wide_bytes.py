"""Stored states of format 1: the bytes are pinned, and other readers of sketches understand them.

`python -m tests.golden.test_wide_bytes` writes the file anew; a change of these bytes needs a new format.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasketches
import pytest

from featuredsl.wide.monoid import Monoid
from featuredsl.wide.plain import Plain
from featuredsl.wide.table import KINDS

FILE = Path(__file__).parent / "wide" / "format_1.json"
EVENTS: dict[str, list[tuple[int, tuple[Any, ...]]]] = {
    "first": [(1_000_000, ("é", 7, "é")), (-5, (None, None, None))],
    "last_k": [(1, (2**53 + 1, 1, 2**53 + 1)), (2, (-1, None, -1)), (2, (5, 0, 5))],
    "top_k": [(0, ("b",)), (0, ("a",)), (0, ("b",)), (0, ("é",))],
    "top_k_counts": [(0, (1.5,)), (0, (-0.0,))],
    "most_frequent": [(0, (True,)), (0, (False,)), (0, (True,))],
    "approx_distinct": [(0, (value,)) for value in (1, -1, "user", 2.5, 2**62)],
    "approx_quantile": [(0, (value,)) for value in (0.0, 1.0, -1.0, 1e300, 1.0001)],
    "decayed_sum": [(1_000_000, (2.0,)), (61_000_000, (1.5,))],
    "decayed_count": [],
    "plain": [(0, (3,)), (0, (4,))],
}
PARAMS: dict[str, dict[str, Any]] = {
    "last_k": {"k": 2},
    "top_k": {"k": 1},
    "top_k_counts": {"k": 2},
    "approx_quantile": {"q": 0.5},
    "decayed_sum": {"half_life_us": 60_000_000},
    "decayed_count": {"half_life_us": 60_000_000},
}


def monoid_of(name: str) -> Monoid[Any]:
    return Plain("sum") if name == "plain" else KINDS[name].make(**PARAMS.get(name, {}))


def stored(name: str) -> bytes:
    monoid = monoid_of(name)
    state = monoid.empty()
    for time_us, values in EVENTS[name]:
        state = monoid.add(state, time_us, values)
    return monoid.to_bytes(state)


def pinned() -> dict[str, dict[str, Any]]:
    """The bytes and the value at 121 s, as they were when format 1 was made."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def test_every_kind_is_pinned() -> None:
    assert set(EVENTS) == {*KINDS, "plain"}
    assert set(pinned()) == set(EVENTS)


@pytest.mark.parametrize("name", list(EVENTS))
def test_bytes(name: str) -> None:
    golden = pinned()[name]
    assert stored(name).hex() == golden["bytes"]
    monoid = monoid_of(name)
    assert monoid.finalize(monoid.from_bytes(bytes.fromhex(golden["bytes"])), 121_000_000) == golden["value"]


def sketch_of(values: list[Any]) -> datasketches.hll_sketch:
    sketch = datasketches.hll_sketch(12, datasketches.tgt_hll_type.HLL_8)
    for value in values:
        sketch.update(value)
    return sketch


SETS: dict[str, list[Any]] = {
    "none": [],
    "one integer": [1],
    "seven texts": ["a", "é", "日本", "x" * 100, "b", "c", "d"],
    "eight integers": list(range(-4, 4)),
    "floats": [0.0, 1.5, -2.25, 1e300],
    "384": list(range(384)),
    "385": list(range(385)),
    "20000": [f"user-{i}" for i in range(20_000)],
}


@pytest.mark.parametrize("name", list(SETS))
def test_data_sketches_reads_our_bytes_and_we_read_its(name: str) -> None:
    values, monoid = SETS[name], KINDS["approx_distinct"].make()
    state = monoid.empty()
    for value in values:
        state = monoid.add(state, 0, (value,))
    image = monoid.to_bytes(state)[1:]
    theirs = sketch_of(values)
    ours = datasketches.hll_sketch.deserialize(image)
    assert ours.lg_config_k == 12
    assert ours.get_estimate() == pytest.approx(len(values), rel=0.05, abs=0.01)
    union = datasketches.hll_union(12)
    union.update(ours)
    union.update(theirs)
    assert union.get_estimate() == pytest.approx(ours.get_estimate(), rel=1e-3, abs=0.01)
    assert monoid.from_bytes(b"\x01" + theirs.serialize_compact()) == state


def _write() -> None:
    rows = {
        name: {
            "bytes": stored(name).hex(),
            "value": monoid_of(name).finalize(monoid_of(name).from_bytes(stored(name)), 121_000_000),
        }
        for name in EVENTS
    }
    FILE.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write()
