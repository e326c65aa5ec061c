"""The physical side of a plan: which partials stand in which tier of tiles, and the layout in Redis.

One ring tier per (source, hop, freshness) of the streamed features for numbers, and one wide tier beside it for states
of variable width; what several features share stands once. What a deferred tier publishes is complete up to a closed
period, which its sinks mark; each kind of tier has marks of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from featuredsl.aggregators import Partial, WidePartial
from featuredsl.dtypes import ELEMENTS
from featuredsl.errors import UnsupportedError
from featuredsl.horizon import history_columns, reach_us, refuse_history, tile_us
from featuredsl.online.layout import BatchTier, Column, LookupField, RingTier, SessionField, StoreLayout, WideTier
from featuredsl.plan import GroupPlan, LookupFeature, StoredFeature, WindowFeature
from featuredsl.session_tiers import SHORTEST_GAP_US, SessionTier, session_features, session_tiers
from featuredsl.sources import EventSource
from featuredsl.tiers import TIERS
from featuredsl.times import DAY, SECOND, format_duration
from featuredsl.wide.table import kept_as
from featuredsl.window_kinds import Session

P = TypeVar("P", Partial, WidePartial, Partial | WidePartial)
STREAM_TIERS = ("realtime", "5m")
BATCH_TIERS = ("1h", "1d")
MAX_AHEAD_S = 60
"""Events at most that far ahead of their record's time are accepted, and rings have room for them beside the tiles in
use."""


@dataclass(frozen=True, slots=True)
class TileTier:
    """The tiles of one source and hop: `slots` of them are kept, each holds the `partials`."""

    source: str
    hop_us: int
    slots: int
    partials: tuple[Partial, ...]
    freshness: str = "realtime"

    @property
    def name(self) -> str:
        """For example `clicks/5m`; `clicks/5m@5m` in a deferred tier."""
        return _name(self.source, format_duration(self.hop_us), self.freshness)

    @property
    def mark(self) -> str:
        """Under which name it is marked how far it is complete."""
        return self.name


@dataclass(frozen=True, slots=True)
class StateTier:
    """The tiles of one source and hop that hold states of variable width: wide partials, and strings."""

    source: str
    hop_us: int
    slots: int
    states: tuple[Partial | WidePartial, ...]
    freshness: str = "realtime"

    @property
    def name(self) -> str:
        """For example `clicks/5m`; `clicks/5m@5m` in a deferred tier."""
        return _name(self.source, format_duration(self.hop_us), self.freshness)

    @property
    def mark(self) -> str:
        """Under which name it is marked how far it is complete."""
        return f"{self.name}/states"


def latest_mark(source: str, freshness: str) -> str:
    """Under which name it is marked how far the lookups of a source are complete."""
    return _name(source, "latest", freshness)


def closed_mark_names(plan: GroupPlan) -> set[str]:
    """The names under which a stream of the group marks how far its deferred tiers are complete."""
    tiers: list[TileTier | StateTier | SessionTier] = [*tile_tiers(plan), *state_tiers(plan), *session_tiers(plan)]
    lookups = {latest_mark(f.source, f.freshness) for f in stream_lookups(plan) if f.tier.is_deferred}
    return lookups | {tier.mark for tier in tiers if TIERS[tier.freshness].is_deferred}


def _name(source: str, what: str, freshness: str) -> str:
    return f"{source}/{what}" + (f"@{freshness}" if TIERS[freshness].is_deferred else "")


def deferred_sources(plans: Iterable[GroupPlan]) -> dict[str, EventSource]:
    """By name, the sources that streamed features of deferred tiers read."""
    found: dict[str, EventSource] = {}
    for plan in plans:
        features: list[StoredFeature] = [*stream_windows(plan), *stream_lookups(plan)]
        for name in (name for f in features if f.tier.is_deferred for name in f.source_names):
            found[name] = plan.source(name)
    return found


def timed_sources(plans: Sequence[GroupPlan]) -> dict[str, EventSource]:
    """By name, the sources whose events need event time: those of deferred features and of sessions."""
    sessions = {name: plan.source(name) for plan in plans for f in session_features(plan) for name in f.source_names}
    return deferred_sources(plans) | sessions


def live_session_sources(plans: Iterable[GroupPlan]) -> dict[str, EventSource]:
    """By name, the sources of realtime sessions, which see an event when it comes and not when the watermark does."""
    return {
        name: plan.source(name)
        for plan in plans
        for feature in session_features(plan)
        if not feature.tier.is_deferred
        for name in feature.source_names
    }


def timed_streams(plans: Sequence[GroupPlan]) -> tuple[EventSource, ...]:
    """The streams that need event time: those behind the sources that do."""
    sources = timed_sources(plans).values()
    return tuple(dict.fromkeys(stream for source in sources for stream in source.streams()))


def stream_windows(plan: GroupPlan) -> Iterator[WindowFeature]:
    """The windowed features that a stream job maintains."""
    return (feature for tier in STREAM_TIERS for feature in plan.windows(tier))


def stream_lookups(plan: GroupPlan) -> Iterator[LookupFeature]:
    """The lookups that a stream job maintains."""
    return (feature for tier in STREAM_TIERS for feature in plan.lookups(tier))


def bundles(plans: Iterable[GroupPlan]) -> dict[str, list[GroupPlan]]:
    """The groups that a stream job maintains something of, by bundle, in order."""
    found: dict[str, list[GroupPlan]] = {}
    for plan in plans:
        if any(feature.freshness in STREAM_TIERS for feature in plan.features):
            found.setdefault(plan.bundle, []).append(plan)
    return found


def batch_features(plan: GroupPlan, tier: str) -> tuple[StoredFeature, ...]:
    """The features of a batch tier, in order."""
    return tuple(feature for feature in plan.features if feature.freshness == tier)


def is_fixed(partial: Partial) -> bool:
    """True for a number, which has a place in the ring; a string is a state."""
    return partial.dtype in ("int", "float")


def states_of(feature: WindowFeature) -> tuple[Partial | WidePartial, ...]:
    """The parts of a feature that are of variable width, each as its state is kept."""
    texts = [partial for partial in feature.aggregate.partials if not is_fixed(partial)]
    return (*texts, *map(kept_as, feature.aggregate.wide))


def tile_tiers(plan: GroupPlan) -> tuple[TileTier, ...]:
    """The ring tiers of a group, in order of first use: as many slots as a window reaches back over, and for events
    ahead of their time as many as `MAX_AHEAD_S` takes, at least one. A tumbling window is one tile of its own size,
    rather than many tiles of a smaller hop, which would have to be kept for twice the window; a sliding window of that
    hop shares the tier."""
    found = _tiers(plan, lambda feature: filter(is_fixed, feature.aggregate.partials))
    return tuple(TileTier(*tier) for tier in found)


def state_tiers(plan: GroupPlan) -> tuple[StateTier, ...]:
    """The wide tiers of a group, by the rules of the ring's."""
    return tuple(StateTier(*tier) for tier in _tiers(plan, states_of))


def _tiers(
    plan: GroupPlan, parts_of: Callable[[WindowFeature], Iterable[P]]
) -> list[tuple[str, int, int, tuple[P, ...], str]]:
    """(source, hop, slots, parts, freshness) of the streamed windows."""
    parts: dict[tuple[str, int, str], dict[P, None]] = {}
    reach: dict[tuple[str, int, str], int] = {}
    for feature in stream_windows(plan):
        hop_us, back_us = tile_us(feature), reach_us(feature)
        if hop_us is None or back_us is None:
            continue
        for part in parts_of(feature):
            at = (part.source, hop_us, feature.freshness)
            parts.setdefault(at, {})[part] = None
            reach[at] = max(reach.get(at, 0), back_us // hop_us)
    return [(at[0], at[1], reach[at] + ahead_tiles(at[1]), tuple(columns), at[2]) for at, columns in parts.items()]


def ahead_tiles(hop_us: int) -> int:
    """How many tiles events ahead of their time may need."""
    return max(1, -(-MAX_AHEAD_S * SECOND // hop_us))


def longest_reach_us(plan: GroupPlan) -> int:
    """The longest window with its offset and one hop, and how old a deferred stream's values may be; what a key needs
    to live past its last event. What sees back without limit (a lifetime of a batch tier, a session, a lookup without
    ttl) does not count; a streamed lifetime counts with its tiles."""
    return max((reach for reach in map(kept_us, plan.features) if reach is not None), default=0)


def remembered_us(source: EventSource, plans: Iterable[GroupPlan]) -> int:
    """How long a stream of these groups remembers the key of an event whose copies are dropped, in the time that
    `within` is measured on: as long as a copy may come that a feature still sees; for a lookup that sees back without
    limit, a day longer than `within`."""
    reach_us = max((kept_us(feature) or DAY for _, feature in streamed_readers(source, plans)), default=0)
    return (source.within_us or 0) + reach_us + MAX_AHEAD_S * SECOND


def streamed_readers(source: EventSource, plans: Iterable[GroupPlan]) -> Iterator[tuple[GroupPlan, StoredFeature]]:
    """The streamed features that read a source, by themselves or in a union, with their groups."""
    for plan in plans:
        features: list[StoredFeature] = [*stream_windows(plan), *stream_lookups(plan)]
        for feature in features:
            if any(source in plan.source(name).streams() for name in feature.source_names):
                yield plan, feature


def kept_us(feature: StoredFeature) -> int | None:
    """How far back from t a feature looks, with how old its tier lets a value be; None without limit."""
    reach = reach_us(feature) if isinstance(feature, WindowFeature) else feature.ttl_us
    if reach is None or feature.freshness not in STREAM_TIERS:
        return reach
    return reach + feature.tier.period_us + feature.tier.delay_us


def rank_columns(plan: GroupPlan, feature: LookupFeature) -> tuple[Column, ...]:
    """What decides between equal event times: the sequence when there is one, then the row's columns."""
    sequence = plan.source(feature.source).sequence_column
    first = (Column(sequence, "int"),) if sequence else ()
    return first + tuple(Column(name, dtype) for name, dtype in feature.columns)


def refuse_unstreamable(plan: GroupPlan, target: str) -> None:
    """Raises UnsupportedError for what no stream job keeps yet: a streamed window that tiles cannot hold because they
    would be without bound, one whose tiles do not fit the periods of a deferred tier, and a state whose ties are
    decided by arrays."""
    for feature in stream_windows(plan):
        hop_us = tile_us(feature)
        if isinstance(feature.window, Session):
            _refuse_short_gap(plan, feature, feature.window, target)
        elif hop_us is None:
            raise UnsupportedError(
                f"{target}: {plan.name}.{feature.name} ({feature.location}): window {feature.window} cannot be kept "
                f"in a ring of tiles yet; use freshness {' or '.join(BATCH_TIERS)}, or a sliding or tumbling window "
                "(training sets of it work as it is)"
            )
        refuse_history(plan, feature, states_of(feature), target)
        period_us = feature.tier.period_us
        if hop_us and period_us and period_us % hop_us and hop_us % period_us:
            raise UnsupportedError(
                f"{target}: {plan.name}.{feature.name} ({feature.location}): tier {feature.freshness} closes periods "
                f"of {format_duration(period_us)}; a tile of {format_duration(hop_us)} neither divides them nor "
                "is made of whole ones; use a hop= that does, or freshness realtime"
            )
        arrays = [node for part in feature.aggregate.wide for node in part.columns if node.dtype in ELEMENTS]
        if arrays:
            raise UnsupportedError(
                f"{target}: {plan.name}.{feature.name} ({feature.location}): the row decides between equal times, and "
                f"no state keeps its {arrays[0].dtype} columns; take a column that is no array, as in e.x.first(), or "
                f"use freshness {' or '.join(BATCH_TIERS)}"
            )


def _refuse_short_gap(plan: GroupPlan, feature: WindowFeature, window: Session, target: str) -> None:
    if window.gap_us < SHORTEST_GAP_US:
        raise UnsupportedError(
            f"{target}: {plan.name}.{feature.name} ({feature.location}): sessions less than "
            f"{format_duration(SHORTEST_GAP_US)} apart are too many to be kept; use a gap of {format_duration(SECOND)} "
            f"or more, or freshness {' or '.join(BATCH_TIERS)} (training sets of it work as it is)"
        )


def store_layout(plan: GroupPlan, store_version: str | None = None) -> StoreLayout:
    """The layout of a group under a store version (default: its fingerprint).

    Raises UnsupportedError for a streamed window that tiles cannot hold.
    """
    refuse_unstreamable(plan, "online store")
    ring = tuple(
        RingTier(
            tier.name,
            tier.hop_us,
            tier.slots,
            tuple(Column(f"c{i}", partial.dtype) for i, partial in enumerate(tier.partials)),
        )
        for tier in tile_tiers(plan)
    )
    wide = tuple(WideTier(tier.name, tier.hop_us, tier.slots, len(tier.states)) for tier in state_tiers(plan))
    sessions = tuple(
        SessionField(
            tier.name,
            tier.window.gap_us,
            tier.kept,
            tuple(Column(f"c{i}", partial.dtype) for i, partial in enumerate(tier.numbers)),
            len(tier.states),
        )
        for tier in session_tiers(plan)
    )
    lookups = tuple(LookupField(f.name, rank_columns(plan, f)) for f in stream_lookups(plan))
    batch = [
        BatchTier(tier, tuple(Column(f.name, f.dtype) for f in batch_features(plan, tier)))
        for tier in BATCH_TIERS
        if batch_features(plan, tier)
    ]
    history = history_columns(plan)
    return StoreLayout(
        group=plan.name,
        version=store_version or plan.version,
        entity=tuple(Column(name, dtype) for name, dtype in plan.entity),
        ring=ring,
        lookups=lookups,
        batch=(*batch, *(() if history is None else (history.tier,))),
        expire_after_us=longest_reach_us(plan) + plan.retention_us,
        wide=wide,
        sessions=sessions,
    )
