"""The sweep against a loop over all events of each window, and its cost in merges."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featuredsl.wide.monoid import Monoid, Values
from featuredsl.wide.sweep import Asked, Slide


class Listed(Monoid[tuple[int, ...]]):
    """Keeps everything, so that each value shows exactly which events a window saw; counts its calls."""

    def __init__(self) -> None:
        self.adds = self.merges = 0

    def empty(self) -> tuple[int, ...]:
        return ()

    def add(self, state: tuple[int, ...], time_us: int, values: Values) -> tuple[int, ...]:
        self.adds += 1
        return (*state, values[0])

    def merge(self, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
        self.merges += 1
        return left + right

    def finalize(self, state: tuple[int, ...], at_us: int) -> Any:
        return (at_us, *state)

    def body(self, state: tuple[int, ...]) -> bytes:
        raise NotImplementedError

    def parsed(self, body: bytes) -> tuple[int, ...]:
        raise NotImplementedError


def sliding(size: int, hop: int, offset: int, t: int) -> Asked:
    low = (t - size - offset) // hop * hop
    return Asked(low, (t - offset) // hop * hop if offset else t, t)


def tumbling(size: int, t: int) -> Asked:
    return Asked(t // size * size - size, t // size * size, t)


windows = st.one_of(
    st.builds(
        lambda hop, n, o: lambda t: sliding(hop * n, hop, hop * o, t),
        st.integers(1, 5),
        st.integers(1, 6),
        st.integers(0, 3),
    ),
    st.builds(lambda size: lambda t: tumbling(size, t), st.integers(1, 12)),
    st.just(lambda t: Asked(-(2**62), t, t)),
)


@settings(max_examples=400)
@given(
    events=st.lists(st.integers(-60, 60), max_size=60),
    times=st.lists(st.integers(-70, 90), max_size=25),
    window=windows,
)
def test_every_window_sees_its_events(events: list[int], times: list[int], window: Any) -> None:
    asked = [window(t) for t in sorted(times)]
    slide = Slide(Listed(), asked)
    for i, time_us in enumerate(sorted(events)):
        slide.push(time_us, (i,))
    expected = [
        (w.at_us, *(i for i, time_us in enumerate(sorted(events)) if w.low_us <= time_us < w.high_us)) for w in asked
    ]
    assert slide.finish() == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("offset", [0, 2])
def test_late_events_are_seen_from_when_they_are_known(seed: int, offset: int) -> None:
    """Long windows asked often: late events fall into every part of the state."""
    rng = random.Random(seed)
    arrivals: list[tuple[int, int | None]] = [
        (time_us, rng.choice((None, 0, rng.randrange(20), rng.randrange(90))))
        for time_us in sorted(rng.randrange(600) for _ in range(400))
    ]
    asked = [sliding(100, 10, 10 * offset, t) for t in sorted(rng.randrange(700) for _ in range(150))]
    slide = Slide(Listed(), asked)
    for i, (time_us, delay) in enumerate(arrivals):
        slide.push(time_us, (i,), None if delay is None else time_us + delay)
    for (low, high, at), found in zip(asked, slide.finish(), strict=True):
        seen = [i for i, (t, delay) in enumerate(arrivals) if low <= t < high and t + (delay or 0) <= at]
        assert (found[0], sorted(found[1:])) == (at, seen)


@pytest.mark.parametrize("labels", [10, 1000])
@pytest.mark.parametrize("size", [100, 10_000])
def test_work_is_linear(labels: int, size: int) -> None:
    """One add for each event; merges by labels and hops, whatever the window's length."""
    rng = random.Random(1)
    times = sorted(rng.randrange(100_000) for _ in range(5000))
    asked = [sliding(size, size // 10, 0, t) for t in sorted(rng.randrange(100_000) for _ in range(labels))]
    monoid = Listed()
    slide = Slide(monoid, asked)
    for i, time_us in enumerate(times):
        slide.push(time_us, (i,))
    slide.finish()
    beginnings = len({window.low_us for window in asked})
    assert monoid.adds <= len(times)
    assert monoid.merges <= 2 * labels + 4 * beginnings
