"""Feature values by brute force: plain loops over events, none of the product's code.

Slow and obvious on purpose. A new kind of window is one function in `WINDOWS`, a new aggregate one in
`AGGREGATES`. Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
TIERS = {"realtime": (1, 0), "5m": (MINUTE, 30 * SECOND), "1h": (HOUR, 10 * MINUTE), "1d": (DAY, HOUR)}
"""Period and delay of a tier; a period of 1 us defers nothing."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Event:
    """What happened to a key at a time."""

    time: int
    key: Any
    row: Row


@dataclass(frozen=True)
class Asked:
    """A feature: an aggregate of a column (None: of events) over a window of the events that `keep` lets through.

    `window` is ("sliding", size, hop, offset), ("tumbling", size), ("session", gap) or ("lifetime",).
    """

    aggregate: str
    column: str | None
    window: tuple[Any, ...]
    tier: str = "realtime"
    keep: Callable[[Row], bool] = lambda row: True


def value(asked: Asked, events: Sequence[Event], key: Any, t: int) -> Any:
    """The value that a reader of `key` must get at `t`."""
    period, delay = TIERS[asked.tier]
    q = _floor(t - delay, period)
    mine = sorted((e for e in events if e.key == key and e.time < q and asked.keep(e.row)), key=lambda e: e.time)
    kind, *sizes = asked.window
    covered = WINDOWS[kind](mine, q, *sizes)
    values = [1 if asked.column is None else event.row[asked.column] for event in covered]
    return AGGREGATES[asked.aggregate]([v for v in values if v is not None])


def _floor(time: int, step: int) -> int:
    return time // step * step


def _sliding(events: list[Event], q: int, size: int, hop: int, offset: int) -> list[Event]:
    low = _floor(q - size - offset, hop)
    high = _floor(q - offset, hop) if offset else q
    return [e for e in events if low <= e.time < high]


def _tumbling(events: list[Event], q: int, size: int) -> list[Event]:
    end = _floor(q, size)
    return [e for e in events if end - size <= e.time < end]


def _session(events: list[Event], q: int, gap: int) -> list[Event]:
    sessions: list[list[Event]] = []
    for event in events:
        if sessions and event.time - sessions[-1][-1].time < gap:
            sessions[-1].append(event)
        else:
            sessions.append([event])
    closed = [session for session in sessions if session[-1].time + gap <= q]
    return closed[-1] if closed else []


WINDOWS: dict[str, Callable[..., list[Event]]] = {
    "sliding": _sliding,
    "tumbling": _tumbling,
    "session": _session,
    "lifetime": lambda events, q: events,
}


def _variance(values: list[Any]) -> float | None:
    """By n - 1, in exact fractions; integers count as doubles."""
    if len(values) < 2:
        return None
    exact = [Fraction(float(v)) for v in values]
    mean = sum(exact) / len(exact)
    return float(sum((v - mean) ** 2 for v in exact) / (len(exact) - 1))


def _deviation(values: list[Any]) -> float | None:
    variance = _variance(values)
    return None if variance is None else sqrt(variance)


AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "sum": lambda values: sum(values) if values else None,
    "mean": lambda values: float(sum(map(Fraction, values)) / len(values)) if values else None,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "var": _variance,
    "std": _deviation,
}
