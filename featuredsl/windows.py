"""Which part of time a windowed feature covers.

A window W asked at t covers `[floor(t - W, hop), t)`: the head is exact, the tail is aligned down to the hop.
With an offset both ends lie on the hop: `[floor(t - W - offset, hop), floor(t - offset, hop))`.
"""

from __future__ import annotations

from dataclasses import dataclass

from featuredsl.errors import DefinitionError
from featuredsl.times import DAY, HOUR, MINUTE, SECOND, floor, format_duration, parse_duration

HOPS = (DAY, HOUR, 5 * MINUTE, MINUTE, 30 * SECOND, 5 * SECOND, SECOND)


@dataclass(frozen=True, slots=True)
class Window:
    """A sliding window: size, hop and offset in microseconds."""

    size_us: int
    hop_us: int
    offset_us: int = 0

    @property
    def suffix(self) -> str:
        """What a feature with several windows is called by: `1h`, `1d_offset_1d`."""
        name = format_duration(self.size_us)
        return f"{name}_offset_{format_duration(self.offset_us)}" if self.offset_us else name

    def bounds(self, t_us: int) -> tuple[int, int]:
        """The covered interval `[low, high)` when asked at `t_us`."""
        low = floor(t_us - self.size_us - self.offset_us, self.hop_us)
        high = floor(t_us - self.offset_us, self.hop_us) if self.offset_us else t_us
        return low, high

    @property
    def reach_us(self) -> int:
        """How far back from t the window can see."""
        return self.size_us + self.offset_us + self.hop_us


def default_hop(size_us: int) -> int:
    """The largest standard hop that is at most a twelfth of the window and divides it."""
    for hop in HOPS:
        if hop * 12 <= size_us and size_us % hop == 0:
            return hop
    raise DefinitionError(
        f"window {format_duration(size_us)} has no hop: use at least 12s in whole seconds, or give hop="
    )


def window(size: str | int, *, hop: str | int | None = None, offset: str | int | None = None) -> Window:
    """A sliding window, for example `window("1d", offset="1d")`; sizes are durations or microseconds."""
    size_us = parse_duration(size)
    hop_us = default_hop(size_us) if hop is None else parse_duration(hop)
    offset_us = 0 if offset is None else parse_duration(offset)
    if size_us % hop_us:
        raise DefinitionError(f"hop {format_duration(hop_us)} does not divide the window {format_duration(size_us)}")
    if offset_us % hop_us:
        raise DefinitionError(
            f"offset {format_duration(offset_us)} is not a multiple of the hop {format_duration(hop_us)}"
        )
    return Window(size_us, hop_us, offset_us)


@dataclass(frozen=True, slots=True)
class Tier:
    """A freshness tier: the value at t is the value at `floor(t - delay, period)` (period 0: at t)."""

    name: str
    period_us: int
    delay_us: int
    engine: str

    def query_time(self, t_us: int) -> int:
        """The time that a value read at `t_us` is computed for."""
        return t_us if self.period_us == 0 else floor(t_us - self.delay_us, self.period_us)


TIERS: dict[str, Tier] = {
    "realtime": Tier("realtime", 0, 0, "flink"),
    "5m": Tier("5m", MINUTE, 30 * SECOND, "flink"),
    "1h": Tier("1h", HOUR, 10 * MINUTE, "spark"),
    "1d": Tier("1d", DAY, HOUR, "spark"),
}
