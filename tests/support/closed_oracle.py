"""Events of `closed_groups`, and the values of its closed features, counted in a loop over them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from featuredsl.times import MINUTE, SECOND

START = 1_767_261_600_000_000  # 2026-01-01T10:00:00Z
CLOSED = ("n", "before", "most", "complete", "pages", "least", "last", "visit", "visit_pages", "visit_sum")
GAP = 20 * SECOND
Event = dict[str, Any]


def visit(at: int, u: str | None, x: int, page: str) -> Event:
    """An event, its time counted in microseconds from the start."""
    return {"ts": START + at, "u": u, "x": x, "page": page}


def heartbeat(at: int) -> Event:
    return {"ts": START + at, "heartbeat": True}


def random_visits(rng: random.Random, start: int, end: int, count: int, users: Sequence[str]) -> list[Event]:
    """Events of some time, up to 30 s out of order, so that none is late for a watermark of that delay."""
    times = rng.sample(range(start, end), count)
    events = [visit(t, rng.choice(users), rng.randrange(-9, 9), f"p{rng.randrange(50):02}") for t in times]
    return sorted(events, key=lambda event: event["ts"] + rng.randrange(30 * SECOND))


Row = tuple[int, int, str]


def runs(rows: list[Row]) -> list[list[Row]]:
    """Sorted rows in sessions."""
    found: list[list[Row]] = []
    for row in rows:
        if not found or row[0] - found[-1][-1][0] >= GAP:
            found.append([])
        found[-1].append(row)
    return found


def last_closed(rows: list[Row], as_of: int) -> list[Row]:
    """The last session that has closed; empty where none has."""
    return next((run for run in reversed(runs(rows)) if run[-1][0] + GAP <= as_of), [])


def live(events: list[Event], u: str, at: int) -> dict[str, Any]:
    """The realtime features over sessions, when all events before are known."""
    visit = last_closed(rows_of(events, u, at), at)
    return {"live_visit": len(visit), "live_least": min((page for _, _, page in visit), default=None)}


def rows_of(events: list[Event], u: str, before: int) -> list[Row]:
    """The rows of an entity, by time."""
    return sorted((e["ts"], e["x"], e["page"]) for e in events if e["u"] == u and e["ts"] < before)


def expected(events: list[Event], u: str, as_of: int) -> dict[str, Any]:
    """The closed features of an entity as of a minute, counted by hand from all events."""
    mine = rows_of(events, u, as_of)

    def within(low: int, high: int = as_of) -> list[Row]:
        return [row for row in mine if low <= row[0] < high]

    five = as_of - as_of % (5 * MINUTE)
    hour = within((as_of - 60 * MINUTE) // (5 * MINUTE) * 5 * MINUTE)
    before = [x for _, x, _ in within(as_of - 12 * MINUTE, as_of - 2 * MINUTE)]
    last = within(as_of - 5 * MINUTE)
    visit = last_closed(mine, as_of)
    positive = [x for _, x, _ in last_closed([row for row in mine if row[1] > 0], as_of)]
    return {
        "n": len(hour),
        "before": sum(before) if before else None,
        "most": max((x for _, x, _ in within(as_of - 10 * MINUTE) if x > 0), default=None),
        "complete": len(within(five - 5 * MINUTE, five)),
        "pages": [page for _, _, page in hour[:-4:-1]] or None,
        "least": min((page for _, _, page in within(as_of - 10 * MINUTE)), default=None),
        "last": last[-1][2] if last else None,
        "visit": len(visit),
        "visit_pages": [page for _, _, page in visit[:-4:-1]] or None,
        "visit_sum": sum(positive) if positive else None,
    }
