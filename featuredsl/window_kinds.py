"""Which part of time a windowed feature covers: one class per kind.

Asked at t, a window covers the events with `low(t) <= event time < high(t)`; both edges are `floor(t - back, step)`:

    kind                       low                           high
    "1h"                       floor(t - W, hop)             t
    window("1d", offset=O)     floor(t - W - O, hop)         floor(t - O, hop)
    tumbling("1h")             floor(t - W, W)               floor(t, W)
    lifetime                   the beginning                 t

A session has no edges of its own: it ends when no event came for `gap`, so the events decide.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from featuredsl.errors import DefinitionError
from featuredsl.operations import INT64_MIN
from featuredsl.records import dataclass, field
from featuredsl.tiers import Edge, Tier
from featuredsl.times import format_duration, format_time

BEGINNING: Final = INT64_MIN
"""The low edge of a window without one: no event time is below it."""


class Window(ABC):
    """What every kind of window says of itself."""

    __slots__ = ()

    @property
    @abstractmethod
    def suffix(self) -> str:
        """What a feature with several windows is called by: `1h`, `tumbling_1h`, `1d_offset_1d`."""

    @property
    @abstractmethod
    def meaning(self) -> list[str | int]:
        """What tells it from other windows, as plain data for fingerprints."""

    @abstractmethod
    def bounds(self, t_us: int) -> tuple[int, int]:
        """The covered interval `[low, high)` when asked at `t_us`. Raises DefinitionError where events decide."""

    @abstractmethod
    def describe(self, t_us: int) -> str:
        """For a reader: which events count at `t_us`."""

    @property
    def tile_us(self) -> int | None:
        """The hop of the ring tier whose tiles make it up; None when no ring of bounded size can."""
        return None

    @property
    def reach_us(self) -> int | None:
        """How far back from t it can see; None without limit."""
        return None

    @abstractmethod
    def check(self, tier: Tier) -> None:
        """Raises DefinitionError when the tier publishes too seldom for it."""

    def __str__(self) -> str:
        return self.suffix.replace("_", " ")


class Span(Window):
    """A window whose edges follow from t alone."""

    __slots__ = ()

    @property
    @abstractmethod
    def low(self) -> Edge | None:
        """The first time that counts; None for the beginning."""

    @property
    @abstractmethod
    def high(self) -> Edge:
        """The first time that does not count any more."""

    @property
    @abstractmethod
    def block_us(self) -> int | None:
        """Time cut into blocks of this length: the window is the end of one and the start of the next, or
        fills one (`fills_block`); None: all time is one block."""

    @property
    def fills_block(self) -> bool:
        """True when the window is always one whole block."""
        return self.low is not None and self.low.step_us == self.high.step_us == self.block_us

    def bounds(self, t_us: int) -> tuple[int, int]:
        """The covered interval `[low, high)` when asked at `t_us`."""
        return BEGINNING if self.low is None else self.low.at(t_us), self.high.at(t_us)

    def describe(self, t_us: int) -> str:
        """For a reader: which events count at `t_us`."""
        low, high = self.bounds(t_us)
        since = "the beginning" if self.low is None else format_time(low)
        return f"events in [{since}, {format_time(high)})"

    def check(self, tier: Tier) -> None:
        """A window shorter than the period would leave out events between two values."""
        if self.block_us is not None and self.block_us < tier.period_us:
            raise DefinitionError(
                f"window {self} is shorter than the period {format_duration(tier.period_us)} of freshness "
                f"{tier.name!r}, so events between two values would never count; use a longer window or a fresher tier"
            )


@dataclass(frozen=True, slots=True)
class Sliding(Span):
    """The last `size`, exact at its head; with an offset both ends lie on the hop. In microseconds."""

    size_us: int
    hop_us: int
    offset_us: int = 0
    name: str = field(default="", compare=False)

    @property
    def suffix(self) -> str:
        """For example `1h`, `1d_offset_1d`."""
        if self.name:
            return self.name
        size = format_duration(self.size_us)
        return f"{size}_offset_{format_duration(self.offset_us)}" if self.offset_us else size

    @property
    def meaning(self) -> list[str | int]:
        """Size, hop and offset."""
        return [self.size_us, self.hop_us, self.offset_us]

    @property
    def low(self) -> Edge:
        """The tail, aligned down to the hop."""
        return Edge(self.size_us + self.offset_us, self.hop_us)

    @property
    def high(self) -> Edge:
        """t itself; with an offset that long before, on the hop."""
        return Edge(self.offset_us, self.hop_us) if self.offset_us else Edge()

    @property
    def block_us(self) -> int:
        """Its size: an aligned tail lies one block before the head."""
        return self.size_us

    @property
    def tile_us(self) -> int:
        """The hop."""
        return self.hop_us

    @property
    def reach_us(self) -> int:
        """Size and offset and what the tail is aligned by."""
        return self.size_us + self.offset_us + self.hop_us


@dataclass(frozen=True, slots=True)
class Tumbling(Span):
    """The last complete window: `[floor(t, W) - W, floor(t, W))`, aligned to the Unix epoch, UTC."""

    size_us: int
    name: str = field(default="", compare=False)

    @property
    def suffix(self) -> str:
        """For example `tumbling_1h`."""
        return f"tumbling_{self.name or format_duration(self.size_us)}"

    @property
    def meaning(self) -> list[str | int]:
        """Kind and size."""
        return ["tumbling", self.size_us]

    @property
    def low(self) -> Edge:
        """The start of the last complete window."""
        return Edge(self.size_us, self.size_us)

    @property
    def high(self) -> Edge:
        """The end of the last complete window."""
        return Edge(0, self.size_us)

    @property
    def block_us(self) -> int:
        """Its size."""
        return self.size_us

    @property
    def tile_us(self) -> int:
        """Its size: it is one tile."""
        return self.size_us

    @property
    def reach_us(self) -> int:
        """The complete window and the one that fills."""
        return 2 * self.size_us


@dataclass(frozen=True, slots=True)
class Lifetime(Span):
    """Every event before t."""

    @property
    def suffix(self) -> str:
        """`lifetime`."""
        return "lifetime"

    @property
    def meaning(self) -> list[str | int]:
        """Kind."""
        return ["lifetime"]

    @property
    def low(self) -> None:
        """The beginning."""
        return None

    @property
    def high(self) -> Edge:
        """t itself."""
        return Edge()

    @property
    def block_us(self) -> None:
        """All time."""
        return None


@dataclass(frozen=True, slots=True)
class Session(Window):
    """The last session closed by t. An event starts a new session when it comes `gap` or more after the one before;
    a session closes at its last event + gap."""

    gap_us: int
    name: str = field(default="", compare=False)

    @property
    def suffix(self) -> str:
        """For example `session_30m`."""
        return f"session_{self.name or format_duration(self.gap_us)}"

    @property
    def meaning(self) -> list[str | int]:
        """Kind and gap."""
        return ["session", self.gap_us]

    def bounds(self, t_us: int) -> tuple[int, int]:
        """Raises DefinitionError: the events decide."""
        raise DefinitionError(f"window {self} has no bounds: its events say where a session begins and ends")

    def describe(self, t_us: int) -> str:
        """For a reader: which events count at `t_us`."""
        last = format_time(t_us - self.gap_us)
        return f"events of the last session whose last event is at or before {last}"

    def check(self, tier: Tier) -> None:
        """Any tier will do: the last closed session stays the value until the next one closes."""
