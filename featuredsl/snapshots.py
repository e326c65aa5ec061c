"""Which of an entity's batch snapshots answers a read."""

from __future__ import annotations

from collections.abc import Sequence

from featuredsl.online.codec import SNAPSHOTS_KEPT, Snapshot


def batch_at(
    snapshots: Sequence[Snapshot], marks: Sequence[int], asked_us: int
) -> tuple[int | None, Snapshot | None, bool]:
    """What a batch tier says at its query time: as of when, the entity's snapshot (None: no event in the windows
    then), and whether the whole tier is complete as of then.

    The newest completed time <= `asked_us` decides: an entity without a snapshot as of then had no event. Only the two
    newest snapshots of an entity stay, though: where both are later than that time, the one of then may have had to
    make room (a run ended before its mark, and the next one wrote). Then, and where no completed time is known, it is
    the newest snapshot <= `asked_us`, which is right as of its own time but not of a complete tier; when there is
    none, nothing is known (as of None).
    """
    marked = max((mark for mark in marks if mark <= asked_us), default=None)
    displaced = len(snapshots) >= SNAPSHOTS_KEPT and all(one.as_of_us > (marked or 0) for one in snapshots)
    if marked is not None and not displaced:
        return marked, next((one for one in snapshots if one.as_of_us == marked), None), True
    newest = max((one for one in snapshots if one.as_of_us <= asked_us), key=_as_of, default=None)
    return (None, None, False) if newest is None else (newest.as_of_us, newest, False)


def _as_of(snapshot: Snapshot) -> int:
    return snapshot.as_of_us
