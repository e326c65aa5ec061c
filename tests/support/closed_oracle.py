"""Events of `closed_groups`, and the values of its closed features, counted in a loop over them."""

from __future__ import annotations

from typing import Any

from featuredsl.times import MINUTE

START = 1_767_261_600_000_000  # 2026-01-01T10:00:00Z
CLOSED = ("n", "before", "most", "complete", "pages", "least", "last")
Event = dict[str, Any]


def visit(at: int, u: str | None, x: int, page: str) -> Event:
    """An event, its time counted in microseconds from the start."""
    return {"ts": START + at, "u": u, "x": x, "page": page}


def heartbeat(at: int) -> Event:
    return {"ts": START + at, "heartbeat": True}


def expected(events: list[Event], u: str, as_of: int) -> dict[str, Any]:
    """The closed features of an entity as of a minute, counted by hand from all events."""
    mine = sorted((e["ts"], e["x"], e["page"]) for e in events if e["u"] == u and e["ts"] < as_of)

    def within(low: int, high: int = as_of) -> list[tuple[int, int, str]]:
        return [row for row in mine if low <= row[0] < high]

    five = as_of - as_of % (5 * MINUTE)
    hour = within((as_of - 60 * MINUTE) // (5 * MINUTE) * 5 * MINUTE)
    before = [x for _, x, _ in within(as_of - 12 * MINUTE, as_of - 2 * MINUTE)]
    last = within(as_of - 5 * MINUTE)
    return {
        "n": len(hour),
        "before": sum(before) if before else None,
        "most": max((x for _, x, _ in within(as_of - 10 * MINUTE) if x > 0), default=None),
        "complete": len(within(five - 5 * MINUTE, five)),
        "pages": [page for _, _, page in hour[:-4:-1]] or None,
        "least": min((page for _, _, page in within(as_of - 10 * MINUTE)), default=None),
        "last": last[-1][2] if last else None,
    }
