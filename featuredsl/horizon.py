"""Streamed windows without a beginning: a batch job collapses what lies before a horizon, tiles hold what came since.

The horizon is the query time of the hourly tier, so it lies on the hop of the tiles. The collapsed partials of an
entity are a batch tier of the layout called `history`, whose snapshots are as of horizons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from featuredsl.aggregators import Partial, WidePartial
from featuredsl.errors import UnsupportedError
from featuredsl.online.layout import BatchTier, Column
from featuredsl.plan import GroupPlan, StoredFeature, WindowFeature
from featuredsl.sources import EventSource
from featuredsl.tiers import TIERS
from featuredsl.times import DAY
from featuredsl.windows import Lifetime

HISTORY: Final = "history"
"""The batch tier of a layout, and its mark."""
HORIZON: Final = TIERS["1h"]
"""The tier whose query time is the horizon of a batch run."""
HOP_US: Final = HORIZON.period_us
SPAN_US: Final = 2 * DAY + TIERS["1d"].delay_us + HORIZON.period_us
"""How old a horizon may be, by the hour: a daily run may fail once, and take as long as one is given; the horizon lies
up to an hour and its delay before a run."""


@dataclass(frozen=True, slots=True)
class HistoryColumns:
    """What is stored of a history: the newest event of each source, then partials."""

    sources: tuple[str, ...]
    partials: tuple[Partial, ...]

    @property
    def tier(self) -> BatchTier:
        """As columns: `fdsl_t0` … in us, `fdsl_c0` …; sums of integers as decimal text, because they may leave 64 bits
        and come back."""
        newest = [Column(f"fdsl_t{i}", "int") for i in range(len(self.sources))]
        return BatchTier(HISTORY, (*newest, *(_column(i, partial) for i, partial in enumerate(self.partials))))

    def newest_at(self, source: str) -> int:
        """Where the time of the newest event of a source stands."""
        return self.sources.index(source)

    def partial_at(self, partial: Partial) -> int:
        """Where a partial stands."""
        return len(self.sources) + self.partials.index(partial)


def is_text(partial: Partial) -> bool:
    """True for a partial that is stored as decimal text."""
    return partial.merge == "sum" and partial.dtype == "int"


def needs_history(feature: StoredFeature) -> bool:
    """True for what a stream keeps tiles of and a batch job the rest."""
    if not isinstance(feature, WindowFeature):
        return False
    return feature.tier.engine == "flink" and isinstance(feature.window, Lifetime)


def history_columns(plan: GroupPlan) -> HistoryColumns | None:
    """What a batch job stores for the streamed features of a group; None where none needs a history."""
    partials: dict[Partial, None] = {}
    for feature in plan.features:
        if isinstance(feature, WindowFeature) and needs_history(feature):
            partials.update(dict.fromkeys(feature.aggregate.partials))
    if not partials:
        return None
    return HistoryColumns(tuple(dict.fromkeys(partial.source for partial in partials)), tuple(partials))


def tile_us(feature: WindowFeature) -> int | None:
    """The hop of a feature's tiles; None where no ring of bounded size can hold them."""
    return HOP_US if needs_history(feature) else feature.window.tile_us


def reach_us(feature: WindowFeature) -> int | None:
    """How far back from t its tiles are read; None without limit."""
    return SPAN_US + HOP_US if needs_history(feature) else feature.window.reach_us


def refuse_history(
    plan: GroupPlan, feature: WindowFeature, states: Sequence[Partial | WidePartial], target: str
) -> None:
    """Raises UnsupportedError for a streamed lifetime that no history and tiles can make up: one with `states` of
    variable width, and one of events whose copies the two might tell apart by different rules."""
    if not needs_history(feature):
        return
    where = f"{target}: {plan.name}.{feature.name} ({feature.location}): window {feature.window}"
    if states:
        wide = feature.aggregate.wide
        kind = wide[0].kind if wide else "a least or greatest string"
        raise UnsupportedError(
            f"{where} keeps a history of numbers only, and {kind} is of variable width; use freshness 1h or 1d, or a "
            "sliding or tumbling window (training sets of it work as it is)"
        )
    streams = [stream for name in feature.source_names for stream in plan.source(name).streams()]
    copied = next((stream for stream in streams if _may_be_split(stream, feature.freshness)), None)
    if copied is not None:
        given = "" if copied.arrival_time is not None else "give it arrival_time= and use freshness realtime, "
        raise UnsupportedError(
            f"{where} counts an event twice whose copies lie on both sides of a horizon: source {copied.name!r} is "
            f"unique by {', '.join(copied.unique)}, and a batch run and tier {feature.freshness} may keep different "
            f"ones; use freshness 1h or 1d, {given}or put its event time among the unique columns"
        )


def _may_be_split(stream: EventSource, freshness: str) -> bool:
    """True where a stream may keep another copy than batch does, at another time: realtime takes the first to arrive,
    a deferred tier leaves late ones out."""
    if not stream.unique or stream.event_time in stream.unique:
        return False
    return TIERS[freshness].is_deferred or stream.arrival_time is None


def _column(number: int, partial: Partial) -> Column:
    return Column(f"fdsl_c{number}", "str" if is_text(partial) else partial.dtype)
