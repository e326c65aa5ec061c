"""The physical side of a plan: which partials stand in which ring tier, and the layout in Redis.

One ring tier per (source, hop) of the realtime features; a partial that several features share stands once.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def batch_features(plan: GroupPlan, tier: str) -> tuple[StoredFeature, ...]:
    """The features of a batch tier, in order."""
    return tuple(feature for feature in plan.features if feature.freshness == tier)


def tile_tiers(plan: GroupPlan) -> tuple[TileTier, ...]:
    """The ring tiers of a group, in order of first use."""
    partials: dict[tuple[str, int], dict[Partial, None]] = {}
    reach: dict[tuple[str, int], int] = {}
    for feature in stream_windows(plan):
        window = feature.window
        for partial in feature.aggregate.partials:
            at = (partial.source, window.hop_us)
            partials.setdefault(at, {})[partial] = None
            reach[at] = max(reach.get(at, 0), (window.size_us + window.offset_us) // window.hop_us)
    return tuple(
        TileTier(source, hop_us, reach[source, hop_us] + 2, tuple(columns))
        for (source, hop_us), columns in partials.items()
    )


def longest_reach_us(plan: GroupPlan) -> int:
    """The longest window with its offset and one hop; what a key needs to live past its last event."""
    windows = [f.window.reach_us for f in plan.features if isinstance(f, WindowFeature)]
    lookups = [f.ttl_us for f in plan.features if isinstance(f, LookupFeature) and f.ttl_us is not None]
    return max(windows + lookups, default=0)


def rank_columns(plan: GroupPlan, feature: LookupFeature) -> tuple[Column, ...]:
    """What decides between equal event times: the sequence when there is one, then the row's columns."""
    sequence = plan.source(feature.source).sequence_column
    first = (Column(sequence, "int"),) if sequence else ()
    return first + tuple(Column(name, dtype) for name, dtype in feature.columns)


def refuse_wide_partials(plan: GroupPlan, target: str) -> None:
    """Raises UnsupportedError for a streamed window whose partials are not fixed-width numbers."""
    for feature in stream_windows(plan):
        wide = sorted({p.dtype for p in feature.aggregate.partials} - {"int", "float"})
        if wide:
            raise UnsupportedError(
                f"{target}: {plan.name}.{feature.name} ({feature.location}): tiles hold int and float partials, "
                f"not {wide[0]}; use freshness {' or '.join(BATCH_TIERS)}"
            )


def store_layout(plan: GroupPlan, store_version: str | None = None) -> StoreLayout:
    """The layout of a group under a store version (default: its fingerprint).

    Raises UnsupportedError for a streamed window over strings.
    """
    refuse_wide_partials(plan, "online store")
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
