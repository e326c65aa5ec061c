"""Laws of every wide aggregate, on random events in random splits and orders."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featuredsl.errors import StateError
from featuredsl.wide.monoid import Monoid
from featuredsl.wide.plain import Plain
from featuredsl.wide.table import KINDS

PARAMS: dict[str, dict[str, Any]] = {
    "last_k": {"k": 3},
    "top_k": {"k": 3},
    "top_k_counts": {"k": 3},
    "approx_quantile": {"q": 0.3},
    "decayed_sum": {"half_life_us": 1000},
    "decayed_count": {"half_life_us": 1000},
}
MONOIDS: dict[str, Monoid[Any]] = {name: kind.make(**PARAMS.get(name, {})) for name, kind in KINDS.items()}
MONOIDS["plain"] = Plain("sum")
AT = 10_000

finite = st.floats(-1e6, 1e6, allow_subnormal=False)
numbers = st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1))
texts = st.text(st.characters(codec="utf-8"), max_size=3)


def events_of(name: str) -> st.SearchStrategy[list[tuple[int, tuple[Any, ...]]]]:
    times = st.integers(-50, 50)
    if name in ("approx_quantile", "decayed_sum"):
        return st.lists(st.tuples(times, st.tuples(finite)), max_size=25)
    if name in ("decayed_count", "plain"):
        return st.lists(st.tuples(times, st.tuples(st.integers(-9, 9))), max_size=25)
    values = st.one_of(st.lists(numbers, max_size=25), st.lists(texts, max_size=25), st.lists(finite, max_size=25))
    sequence = st.one_of(st.none(), st.integers(0, 3))
    return values.flatmap(
        lambda xs: st.tuples(*(st.tuples(times, sequence.map(lambda s, x=x: (x, s, x))) for x in xs)).map(list)
    )


def folded(monoid: Monoid[Any], events: list[tuple[int, tuple[Any, ...]]]) -> Any:
    state = monoid.empty()
    for time_us, values in events:
        state = monoid.add(state, time_us, values)
    return state


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-6)
    return bool(left == right)


@pytest.mark.parametrize("name", list(MONOIDS))
@settings(max_examples=40)
@given(data=st.data())
def test_any_order_and_split_gives_the_same_value(name: str, data: st.DataObject) -> None:
    monoid = MONOIDS[name]
    events = data.draw(events_of(name))
    whole = monoid.finalize(folded(monoid, events), AT)
    shuffled = data.draw(st.permutations(events))
    parts = [shuffled[i::3] for i in range(3)]
    a, b, c = (folded(monoid, part) for part in parts)
    before = [monoid.to_bytes(state) for state in (a, b, c)]
    merged = {
        "(ab)c": monoid.merge(monoid.merge(a, b), c),
        "a(bc)": monoid.merge(a, monoid.merge(b, c)),
        "(cb)a": monoid.merge(monoid.merge(c, b), a),
        "0abc0": monoid.merge(monoid.merge(monoid.empty(), monoid.merge(a, b)), monoid.merge(c, monoid.empty())),
    }
    assert [monoid.to_bytes(state) for state in (a, b, c)] == before
    for how, state in merged.items():
        assert same(monoid.finalize(state, AT), whole), how
    lifted = monoid.empty()
    for time_us, values in shuffled:
        lifted = monoid.merge(lifted, monoid.lift(time_us, values))
    assert same(monoid.finalize(lifted, AT), whole)
    if name not in ("decayed_sum", "decayed_count"):
        assert {monoid.to_bytes(state) for state in merged.values()} == {monoid.to_bytes(folded(monoid, events))}


@pytest.mark.parametrize("name", ["first", "last_k"])
@settings(max_examples=100)
@given(data=st.data())
def test_a_full_state_is_not_changed_by_events_of_farther_times(name: str, data: st.DataObject) -> None:
    monoid = MONOIDS[name]
    events = data.draw(events_of(name))
    cut = data.draw(st.integers(-50, 50))
    near = [event for event in events if (event[0] >= cut) is monoid.newest_first]
    far = [event for event in events if (event[0] >= cut) is not monoid.newest_first]
    state = folded(monoid, near)
    assert monoid.is_full(state) == (len(near) >= (3 if name == "last_k" else 1))
    if monoid.is_full(state):
        assert monoid.to_bytes(monoid.merge(state, folded(monoid, far))) == monoid.to_bytes(state)


@pytest.mark.parametrize("name", list(MONOIDS))
@settings(max_examples=25)
@given(data=st.data())
def test_bytes_round_trip(name: str, data: st.DataObject) -> None:
    monoid = MONOIDS[name]
    state = folded(monoid, data.draw(events_of(name)))
    stored = monoid.to_bytes(state)
    assert stored[0] == 1
    read = monoid.from_bytes(stored)
    assert monoid.to_bytes(read) == stored
    assert monoid.finalize(read, AT) == monoid.finalize(state, AT)


@pytest.mark.parametrize("name", list(MONOIDS))
def test_other_bytes_are_refused(name: str) -> None:
    monoid = MONOIDS[name]
    with pytest.raises(StateError, match="format 2; this release reads 1"):
        monoid.from_bytes(b"\x02rest")
    with pytest.raises(StateError, match="format none"):
        monoid.from_bytes(b"")
    with pytest.raises(StateError):
        monoid.from_bytes(b"\x01\xff\xff\xff")


@pytest.mark.parametrize("split", [0, 100, 384, 385, 2000, 4999])
def test_many_distinct_values_in_any_split(split: int) -> None:
    monoid = MONOIDS["approx_distinct"]
    values = [f"v{i}" for i in range(5000)]
    whole = folded(monoid, [(0, (v,)) for v in values])
    random.Random(split).shuffle(values)
    left = folded(monoid, [(0, (v,)) for v in values[:split]])
    right = folded(monoid, [(0, (v,)) for v in values[split:]])
    for state in (monoid.merge(left, right), monoid.merge(right, left)):
        assert monoid.to_bytes(state) == monoid.to_bytes(whole)
    assert monoid.from_bytes(monoid.to_bytes(whole)) == whole


def test_what_top_k_may_lack_is_kept_when_no_count_is_left() -> None:
    monoid = MONOIDS["top_k"]
    cut_away = folded(monoid, [(0, (value,)) for value in range(2049)])
    one = folded(monoid, [(0, ("x",))])
    bound_and_x = (1).to_bytes(8, "big") + b"s\0\0\0\1x" + (1).to_bytes(8, "big")
    for left, right in ((cut_away, one), (one, cut_away)):
        assert monoid.body(monoid.merge(left, right)) == bound_and_x
    assert monoid.body(monoid.merge(cut_away, cut_away)) == (2).to_bytes(8, "big")
