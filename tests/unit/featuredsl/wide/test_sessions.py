"""Sessions of ordered events against a loop over all events, and what forms them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from featuredsl import EventSource, feature, feature_group, session
from featuredsl.wide.sessions import LastClosed
from tests.conformance.cases import plan_of
from tests.unit.featuredsl.wide.test_sweep import Listed

EVENTS = st.lists(st.tuples(st.integers(-20, 60), st.one_of(st.none(), st.integers(0, 9))), max_size=25)


def by_loop(events: list[tuple[int, int | None]], t: int, gap: int) -> tuple[int, ...]:
    """The values of the last session whose last event is at or before t - gap, in order."""
    sessions: list[list[tuple[int, int | None]]] = []
    for event in (e for e in events if e[0] < t):
        if not sessions or event[0] - sessions[-1][-1][0] >= gap:
            sessions.append([])
        sessions[-1].append(event)
    closed = [found for found in sessions if found[-1][0] + gap <= t]
    return tuple(value for _, value in closed[-1] if value is not None) if closed else ()


@settings(max_examples=300, deadline=None)
@given(EVENTS, st.lists(st.integers(-30, 90), max_size=12), st.integers(1, 15))
def test_last_closed_session(events: list[tuple[int, int | None]], times: list[int], gap: int) -> None:
    events.sort(key=lambda event: event[0])
    times.sort()
    slide = LastClosed(Listed(), times, gap)
    for time, value in events:
        slide.push(time, None if value is None else (value,))
    assert slide.finish() == [(t, *by_loop(events, t, gap)) for t in times]


acts = EventSource("acts", event_time="ts", schema={"u": str, "x": int})


def test_what_forms_sessions_is_part_of_the_version() -> None:
    """With the same rows in the state: in one group nulls hold a session together, in the other they do not count."""

    @feature_group(name="g", entity="u")
    class Any_:
        @feature(freshness="1h", window=session("30m"))
        def last(e: acts) -> list[int]:
            return e.x.last_k(3)

    @feature_group(name="g", entity="u")
    class Given:
        @feature(freshness="1h", window=session("30m"))
        def last(e: acts) -> list[int]:
            return e.filter(e.x.is_not_null()).x.last_k(3)

    assert plan_of(Any_).version != plan_of(Given).version
