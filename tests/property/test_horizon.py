"""Whatever comes when: a streamed lifetime that is OK and not ahead is every event before t, and an existing key whose
runs are recent is OK."""

from __future__ import annotations

from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from featuredsl import EventSource, feature, feature_group, lifetime
from featuredsl.finalize import Finalizer
from featuredsl.horizon import HISTORY
from featuredsl.online.codec import Snapshot
from featuredsl.plan import GroupPlan
from featuredsl.times import DAY, HOUR, MINUTE
from tests.support.horizons import stored

clicks = EventSource("clicks", event_time="ts", schema={"u": str, "x": int})


@feature_group(name="g", entity="u")
class Group:
    """A count and a sum."""

    @feature(freshness="realtime", window=lifetime)
    def n(e: clicks) -> int:
        return e.count()

    @feature(freshness="realtime", window=lifetime)
    def total(e: clicks) -> int:
        return e.x.sum()


PLAN: GroupPlan = Group.plan  # type: ignore[attr-defined]
FINALIZER = Finalizer(PLAN)
START = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
END = START + 9 * DAY
times = st.integers(START // (10 * MINUTE), END // (10 * MINUTE)).map(lambda i: i * 10 * MINUTE)
jitter = st.sampled_from([-1, 0, 1])


def collapsed(events: list[tuple[int, Any]], run: int) -> Snapshot | None:
    horizon = (run - 10 * MINUTE) // HOUR * HOUR
    rows = [(us, x) for us, x in events if us < horizon]
    if not rows:
        return None
    return Snapshot(horizon, (max(us for us, _ in rows), str(len(rows)), str(sum(x for _, x in rows))))


@given(
    found=st.lists(st.tuples(st.builds(int.__add__, times, jitter), st.integers(-3, 2**53)), max_size=12),
    runs=st.lists(st.tuples(times, st.booleans()), max_size=4),
    t=st.builds(int.__add__, times, jitter),
    ahead_us=st.sampled_from([0, HOUR, DAY, 3 * DAY]),
)
def test_ok_is_every_event_before_t(
    found: list[tuple[int, int]], runs: list[tuple[int, bool]], t: int, ahead_us: int
) -> None:
    """Runs as they come, in order of time, some of which end before their mark; a read at t of what is stored later."""
    now = max([t, *(run for run, _ in runs)]) + ahead_us
    written: dict[int, Snapshot] = {}
    marks: set[int] = set()
    for run, completes in sorted(runs):
        one = collapsed(found, run)
        if one is not None:
            written[one.as_of_us] = one
        if completes:
            marks.add((run - 10 * MINUTE) // HOUR * HOUR)
    snapshots = [written[us] for us in sorted(written, reverse=True)[:2]]
    state = stored(PLAN, {"clicks": [(us, {"u": "a", "x": x}) for us, x in found]}, ("a",), now, snapshots)
    row = FINALIZER.values(state, t, {HISTORY: tuple(sorted(marks, reverse=True)[:2])})
    n, total = row["n"], row["total"]
    mine = [x for us, x in found if us < t]
    status = n.status if n.as_of_us == t else "ahead"
    event(status)
    assert (n.status == "OK") == (total.status in ("OK", "NULL"))
    if status == "OK":
        assert (n.value, total.value) == (len(mine), sum(mine) if mine else None)
    newest = max(marks | set(written), default=-END)
    if now == t and state.exists:
        assert (status == "OK") == (t // HOUR - newest // HOUR <= 50)
