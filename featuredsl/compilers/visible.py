"""What was known when: windows over sources with an arrival time, exact and without a product of labels and events.

At the query time q of a tier an event counts iff its time is before q and its arrival at most q + the tier's delay:
iff `seen < q`, where seen = max(event time, arrival - delay - 1 us). The two running pieces of a window (see `offline`)
stay right for events that are seen early enough:

- the prefix of a block runs over seen instead of the event time (with an offset: over the event time, for events that
  are seen before any window may end behind them);
- the suffix of a block holds the events that are seen by the end of their block.

The events that come later need both bounds at once, `low <= event time < high` and `seen < q`. Both ends lie on the
hop, so the events go into one node on each level of a binary tree over the hops of their block, and a label asks the
few nodes that make up its part of the block, each a running aggregate over seen: n log n for any share of late events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from featuredsl.compilers.edges import edge, query_time
from featuredsl.compilers.scalar import Dialect, floor_to, positive_mod
from featuredsl.source_checks import ARRIVAL_US, EVENT_US
from featuredsl.tiers import Tier
from featuredsl.window_kinds import Sliding


@dataclass(frozen=True, slots=True)
class Late:
    """The late part of one side of the window at a position: its numbers are `number` + level."""

    number: int
    position: int
    window: Sliding
    suffix: bool


@dataclass(frozen=True, slots=True)
class Edges:
    """What a label asks of a window: the query time and the two ends, as SQL."""

    asked: str
    low: str
    high: str

    @classmethod
    def of(cls, window: Sliding, tier: Tier) -> Edges:
        """The ends of a window at the query time of a tier."""
        asked = query_time(tier)
        return cls(asked, edge(window.low, asked), edge(window.high, asked))


def seen(tier: Tier) -> str:
    """The time before which an event does not count, for a source with an arrival time."""
    return f"GREATEST({EVENT_US}, {ARRIVAL_US} - {tier.delay_us + 1})"


def levels_of(windows: Sequence[Sliding]) -> int:
    """How many levels the trees of the windows need."""
    return max(hops_of(window).bit_length() for window in windows)


def late_parts(windows: Mapping[int, Sliding], first: int) -> list[Late]:
    """The late parts of the windows (by position), numbered from `first` in steps of the number of levels."""
    sides = [(i, True) for i in windows] + [(i, False) for i, window in windows.items() if window.offset_us]
    step = levels_of(list(windows.values())) if windows else 0
    return [Late(first + n * step, i, windows[i], suffix) for n, (i, suffix) in enumerate(sides)]


def is_prompt(window: Sliding, tier: Tier, suffix: bool) -> str:
    """True for an event that is seen before every label that the running piece answers it to."""
    if suffix:
        return f"{seen(tier)} < {floor_to(EVENT_US, str(window.size_us))} + {window.size_us + window.offset_us}"
    return f"{seen(tier)} < {floor_to(EVENT_US, str(window.hop_us))} + {window.hop_us + window.offset_us}"


def is_late(window: Sliding, tier: Tier, suffix: bool) -> str:
    """True for the other events that some label may still see."""
    return f"NOT ({is_prompt(window, tier, suffix)}) AND {seen(tier)} < {EVENT_US} + {window.reach_us}"


def event_node(part: Late, dialect: Dialect) -> tuple[str, str]:
    """An event's block, and its hop in it, counted from the side where the part begins."""
    size = str(part.window.size_us)
    inside = positive_mod(EVENT_US, size)
    place = f"({size} - 1 - {inside})" if part.suffix else inside
    return floor_to(EVENT_US, size), f"({place} {dialect.int_division} {part.window.hop_us})"


def asked_node(part: Late, edges: Edges, dialect: Dialect) -> tuple[str, str]:
    """A label's block, and how many of its hops the label asks for."""
    size = str(part.window.size_us)
    end = edges.low if part.suffix else edges.high
    inside = positive_mod(end, size)
    length = f"({size} - {inside})" if part.suffix else inside
    return floor_to(end, size), f"({length} {dialect.int_division} {part.window.hop_us})"


def leveled(rows: str, levels: int, dialect: Dialect) -> str:
    """The rows, each repeated for every level with `fdsl_level` and its width in hops, `fdsl_step`."""
    return _LEVELED[dialect.name](rows, [1 << level for level in range(levels)])


def hops_of(window: Sliding) -> int:
    """How many hops make up a window, and a block."""
    return window.size_us // window.hop_us


def _leveled_duckdb(rows: str, steps: Sequence[int]) -> str:
    values = ", ".join(f"({level}, {step})" for level, step in enumerate(steps))
    return f"{rows} CROSS JOIN (VALUES {values}) AS fdsl_levels(fdsl_level, fdsl_step)"


def _leveled_spark(rows: str, steps: Sequence[int]) -> str:
    return f"{rows} LATERAL VIEW posexplode(array({', '.join(map(str, steps))})) fdsl_levels AS fdsl_level, fdsl_step"


_LEVELED: dict[str, Callable[[str, Sequence[int]], str]] = {"duckdb": _leveled_duckdb, "spark": _leveled_spark}
