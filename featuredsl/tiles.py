"""The physical side of a plan: which partials stand in which ring tier, and the layout in Redis.

One ring tier per (source, hop) of the realtime features; a partial that several features share stands once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from featuredsl.aggregators import Partial
from featuredsl.errors import UnsupportedError
from featuredsl.online.layout import BatchTier, Column, LookupField, RingTier, StoreLayout
from featuredsl.plan import GroupPlan, LookupFeature, StoredFeature, WindowFeature
from featuredsl.times import format_duration

STREAM_TIERS = ("realtime",)
BATCH_TIERS = ("1h", "1d")


@dataclass(frozen=True, slots=True)
class TileTier:
    """The tiles of one source and hop: `slots` of them are kept, each holds the `partials`."""

    source: str
    hop_us: int
    slots: int
    partials: tuple[Partial, ...]

    @property
    def name(self) -> str:
        """For example `clicks/5m`."""
        return f"{self.source}/{format_duration(self.hop_us)}"


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


def tile_tiers(plan: GroupPlan) -> tuple[TileTier, ...]:
    """The ring tiers of a group, in order of first use: as many slots as a window reaches back over, and one for
    skew. A tumbling window is one tile of its own size (3 slots), rather than many tiles of a smaller hop, which
    would have to be kept for twice the window; a sliding window of that hop shares the tier."""
    partials: dict[tuple[str, int], dict[Partial, None]] = {}
    reach: dict[tuple[str, int], int] = {}
    for feature in stream_windows(plan):
        hop_us, reach_us = feature.window.tile_us, feature.window.reach_us
        if hop_us is None or reach_us is None:
            continue
        for partial in feature.aggregate.partials:
            at = (partial.source, hop_us)
            partials.setdefault(at, {})[partial] = None
            reach[at] = max(reach.get(at, 0), reach_us // hop_us)
    return tuple(
        TileTier(source, hop_us, reach[source, hop_us] + 1, tuple(columns))
        for (source, hop_us), columns in partials.items()
    )


def longest_reach_us(plan: GroupPlan) -> int:
    """The longest window with its offset and one hop; what a key needs to live past its last event. What sees
    back without limit (a lifetime, a session, a lookup without ttl) does not count."""
    reaches = [f.window.reach_us if isinstance(f, WindowFeature) else f.ttl_us for f in plan.features]
    return max((reach for reach in reaches if reach is not None), default=0)


def rank_columns(plan: GroupPlan, feature: LookupFeature) -> tuple[Column, ...]:
    """What decides between equal event times: the sequence when there is one, then the row's columns."""
    sequence = plan.source(feature.source).sequence_column
    first = (Column(sequence, "int"),) if sequence else ()
    return first + tuple(Column(name, dtype) for name, dtype in feature.columns)


def refuse_unstreamable(plan: GroupPlan, target: str) -> None:
    """Raises UnsupportedError for what no stream job keeps yet: the tier 5m, and a streamed window that tiles cannot
    hold, because they would be without bound or its partials are not fixed-width numbers."""
    for other in plan.features:
        if other.freshness not in STREAM_TIERS + BATCH_TIERS:
            raise UnsupportedError(
                f"{target}: {plan.name}.{other.name} ({other.location}): tier {other.freshness} is not built yet; "
                f"use one of {', '.join(STREAM_TIERS + BATCH_TIERS)}"
            )
    for feature in stream_windows(plan):
        if feature.window.tile_us is None:
            raise UnsupportedError(
                f"{target}: {plan.name}.{feature.name} ({feature.location}): window {feature.window} cannot be kept "
                f"in a ring of tiles yet; use freshness {' or '.join(BATCH_TIERS)}, or a sliding or tumbling window "
                "(training sets of it work as it is)"
            )
        wide = sorted({p.dtype for p in feature.aggregate.partials} - {"int", "float"})
        kinds = [f"the state of {part}" for part in feature.aggregate.wide] + [f"{dtype} partials" for dtype in wide]
        if kinds:
            raise UnsupportedError(
                f"{target}: {plan.name}.{feature.name} ({feature.location}): tiles hold int and float partials, "
                f"not {kinds[0]}; use freshness {' or '.join(BATCH_TIERS)}"
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
    lookups = tuple(LookupField(f.name, rank_columns(plan, f)) for f in stream_lookups(plan))
    batch = tuple(
        BatchTier(tier, tuple(Column(f.name, f.dtype) for f in batch_features(plan, tier)))
        for tier in BATCH_TIERS
        if batch_features(plan, tier)
    )
    return StoreLayout(
        group=plan.name,
        version=store_version or plan.version,
        entity=tuple(Column(name, dtype) for name, dtype in plan.entity),
        ring=ring,
        lookups=lookups,
        batch=batch,
        expire_after_us=longest_reach_us(plan) + plan.retention_us,
    )
