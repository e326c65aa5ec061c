"""When a value is computed: freshness tiers, and edges in time that follow from the time asked."""

from __future__ import annotations

from dataclasses import dataclass

from featuredsl.times import DAY, HOUR, MINUTE, SECOND, floor


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of a window, `floor(t - back, step)` in microseconds; a step of 1 keeps t exact."""

    back_us: int = 0
    step_us: int = 1

    def at(self, t_us: int) -> int:
        """Where the edge is when asked at `t_us`."""
        return floor(t_us - self.back_us, self.step_us)


@dataclass(frozen=True, slots=True)
class Tier:
    """A freshness tier: the value at t is the value at `floor(t - delay, period)` (period 0: at t)."""

    name: str
    period_us: int
    delay_us: int
    engine: str

    @property
    def is_deferred(self) -> bool:
        """True when values are those of closed periods."""
        return self.period_us > 0

    @property
    def asked(self) -> Edge:
        """The query time as an edge."""
        return Edge(self.delay_us, self.period_us or 1)

    def query_time(self, t_us: int) -> int:
        """The time that a value read at `t_us` is computed for."""
        return self.asked.at(t_us)


TIERS: dict[str, Tier] = {
    "realtime": Tier("realtime", 0, 0, "flink"),
    "5m": Tier("5m", MINUTE, 30 * SECOND, "flink"),
    "1h": Tier("1h", HOUR, 10 * MINUTE, "spark"),
    "1d": Tier("1d", DAY, HOUR, "spark"),
}
