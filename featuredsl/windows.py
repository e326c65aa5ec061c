"""How windows are declared: `"1h"`, `window(…)`, `tumbling(…)`, `session(…)`, `lifetime`; what is refused and why."""

from __future__ import annotations

from typing import Final

from featuredsl.errors import DefinitionError, InputError
from featuredsl.tiers import TIERS, Edge, Tier
from featuredsl.times import DAY, HOUR, MINUTE, SECOND, format_duration, parse_duration
from featuredsl.where import located
from featuredsl.window_kinds import BEGINNING, Lifetime, Session, Sliding, Span, Tumbling, Window

__all__ = [
    "BEGINNING",
    "TIERS",
    "Edge",
    "Lifetime",
    "Session",
    "Sliding",
    "Span",
    "Tier",
    "Tumbling",
    "Window",
    "as_window",
    "default_hop",
    "lifetime",
    "session",
    "tumbling",
    "window",
]

Duration = str | int
HOPS = (DAY, HOUR, 5 * MINUTE, MINUTE, 30 * SECOND, 5 * SECOND, SECOND)
SHORTEST: Final = 12 * SECOND

lifetime: Final = Lifetime()
"""The window of every event before t: `window=lifetime`."""


@located
def window(size: Duration, *, hop: Duration | None = None, offset: Duration | None = None) -> Sliding:
    """A sliding window, for example `window("1d", offset="1d")`; durations are texts or microseconds."""
    return _sliding(size, hop, offset)


@located
def tumbling(size: Duration) -> Tumbling:
    """The last complete window of `size` (whole seconds), aligned to the Unix epoch: `tumbling("1h")` at 10:20 is
    [09:00, 10:00)."""
    return _tumbling(size)


@located
def session(gap: Duration) -> Session:
    """The last session closed by t: events less than `gap` apart; `session("30m")` closes 30 minutes after its last."""
    return Session(_positive("session gap", gap), _spelled(gap))


def as_window(spec: object) -> Window:
    """The window of a `window=` argument: a Window, a duration, or "lifetime"."""
    if isinstance(spec, Window):
        return spec
    if spec == "lifetime":
        return lifetime
    if isinstance(spec, str):
        return _sliding(spec, None, None)
    name = getattr(spec, "__name__", repr(spec))
    raise DefinitionError(f"window {name} is no window; {_HOW}")


def default_hop(size_us: int) -> int:
    """The largest standard hop that is at most a twelfth of the window and divides it."""
    for hop in HOPS:
        if hop * 12 <= size_us and size_us % hop == 0:
            return hop
    raise DefinitionError(f"window {format_duration(size_us)} has no hop: use at least 12s in whole seconds")


_HOW = "write a duration such as '1h', window('1d', offset='1d'), tumbling('1h'), session('30m') or lifetime"


def _sliding(size: Duration, hop: Duration | None, offset: Duration | None) -> Sliding:
    size_us = _positive("window", size)
    if size_us < SHORTEST or size_us % SECOND:
        raise DefinitionError(f"window {format_duration(size_us)} must be at least 12s in whole seconds")
    hop_us = default_hop(size_us) if hop is None else _positive("hop", hop)
    offset_us = 0 if offset is None else _positive("offset", offset)
    if size_us % hop_us:
        raise DefinitionError(
            f"hop {format_duration(hop_us)} does not divide the window {format_duration(size_us)}; "
            f"leave hop= out for {format_duration(default_hop(size_us))}"
        )
    if offset_us % hop_us:
        raise DefinitionError(
            f"offset {format_duration(offset_us)} is not a multiple of the hop {format_duration(hop_us)}; "
            "use a multiple, or a hop= that divides both window and offset"
        )
    name = f"{_spelled(size)}_offset_{_spelled(offset)}" if offset is not None else _spelled(size)
    return Sliding(size_us, hop_us, offset_us, name)


def _tumbling(size: Duration) -> Tumbling:
    size_us = _positive("tumbling window", size)
    if size_us % SECOND:
        raise DefinitionError(f"tumbling window {format_duration(size_us)} must be in whole seconds")
    return Tumbling(size_us, _spelled(size))


def _positive(what: str, value: object) -> int:
    """Microseconds of a duration above 0; True is no duration, though Python counts it as 1."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise DefinitionError(f"{what} {value!r} is no duration; write it like '30s', '5m', '1h' or '7d'")
    try:
        return parse_duration(value)
    except InputError as error:
        raise DefinitionError(f"{what} {error}; {_HOW}" if what == "window" else f"{what} {error}") from None


def _spelled(duration: Duration) -> str:
    """A duration as a part of a feature's name: as the author wrote it."""
    return duration.replace(" ", "") if isinstance(duration, str) else format_duration(duration)
