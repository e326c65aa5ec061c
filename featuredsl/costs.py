"""What a group costs: bytes for an entity online and in the stream job's state, and what must be backfilled."""

from __future__ import annotations

from dataclasses import dataclass

from featuredsl.aggregators import Partial, WidePartial
from featuredsl.dtypes import DType
from featuredsl.horizon import HOP_US, SPAN_US, HistoryColumns, history_columns, needs_history
from featuredsl.plan import GroupPlan, LookupFeature, StoredFeature, WindowFeature
from featuredsl.session_tiers import SessionTier, session_tiers
from featuredsl.tiers import TIERS
from featuredsl.tiles import (
    STREAM_TIERS,
    StateTier,
    TileTier,
    longest_reach_us,
    state_tiers,
    store_layout,
    stream_lookups,
    tile_tiers,
)
from featuredsl.times import DAY, format_duration, format_time
from featuredsl.wide.table import monoid_of
from featuredsl.window_kinds import Sliding

TEXT_BYTES = 24
"""Assumed size of a text."""
FIELD_BYTES = 48
"""Redis' own cost of a hash field: name, entry, allocation."""
KEY_BYTES = 96
"""Redis' own cost of a key."""
TILE_EVENTS = 20
"""Assumed events of an entity in a tile, all of different values: what a state of variable width is sized by."""
TILE_HEAD_BYTES = 25
"""Format, index, rows and high-water mark of a tile in a field of its own."""
SESSION_HEAD_BYTES = 28
"""First and last event, rows and length of a session among those of a field."""
STATE_ROW_BYTES = 64
"""RocksDB and Flink's own cost of a row of state: key, tile, time to live."""

_WIDTHS: dict[DType, int] = {"int": 8, "float": 8, "bool": 1, "str": TEXT_BYTES}


@dataclass(frozen=True, slots=True)
class Cost:
    """Bytes for one entity: the ring of tiles, the hash of latest values, batch values and tiles of variable width,
    the state of the stream job."""

    ring_bytes: int
    hash_fields: int
    hash_bytes: int
    state_bytes: int

    @property
    def online_bytes(self) -> int:
        """All of it in Redis, keys included."""
        keys = (1 if self.ring_bytes else 0) + (1 if self.hash_fields else 0)
        return self.ring_bytes + self.hash_bytes + keys * KEY_BYTES


@dataclass(frozen=True, slots=True)
class Backfill:
    """The events of a source that new values need: from `span_us` before the switch on; None: all of them."""

    source: str
    span_us: int | None

    def text(self, at_us: int | None = None) -> str:
        """The range, relative to the switch at t or, with `at_us`, absolute."""
        if self.span_us is None:
            return f"{self.source}: all events before {'t' if at_us is None else format_time(at_us)}"
        if at_us is None:
            return f"{self.source}: [t - {format_duration(self.span_us)}, t)"
        return f"{self.source}: [{format_time(at_us - self.span_us)}, {format_time(at_us)})"


def cost(plan: GroupPlan) -> Cost:
    """The estimate; texts count 24 bytes, a state of variable width is that of 20 different values in each tile or
    session. Of a tier of sessions all that are kept are counted online, and in state one that is open.

    Raises UnsupportedError where the store cannot hold the group.
    """
    layout = store_layout(plan)
    hash_bytes = sum(_stored_width(plan, f) for f in plan.features if not _in_tiles(f))
    history = history_columns(plan)
    hash_bytes += 0 if history is None else _history_bytes(history)
    hash_bytes += sum(tier.slots * (FIELD_BYTES + _tile_bytes(tier)) for tier in state_tiers(plan))
    hash_bytes += sum(FIELD_BYTES + 1 + tier.kept * _session_bytes(tier) for tier in session_tiers(plan))
    return Cost(layout.total_size, len(layout.hash_fields), hash_bytes, _state_bytes(plan))


def backfills(plan: GroupPlan) -> tuple[Backfill, ...]:
    """What each source must be read back for, in order."""
    spans: dict[str, list[int | None]] = {source.name: [] for source in plan.sources}
    for feature in plan.features:
        for name in feature.source_names:
            spans[name].append(reach_us(feature))
    return tuple(
        Backfill(name, None if None in reaches else max((r for r in reaches if r is not None), default=0))
        for name, reaches in spans.items()
    )


def reach_us(feature: StoredFeature) -> int | None:
    """How far before t a feature sees, its tier's age included; None for ever."""
    age = feature.tier.period_us + feature.tier.delay_us
    if isinstance(feature, WindowFeature):
        reach = feature.window.reach_us
        return None if reach is None else reach + age
    return None if feature.ttl_us is None else feature.ttl_us + age


def rows_to_read(plan: GroupPlan, rows_per_day: int) -> int | None:
    """How many events a backfill reads when each source has so many a day; None when all of them count."""
    spans = [backfill.span_us for backfill in backfills(plan)]
    known = [span for span in spans if span is not None]
    return None if len(known) < len(spans) else sum(-(-rows_per_day * span // DAY) for span in known)


def tiles_of(feature: StoredFeature) -> int | None:
    """How many tiles a read merges; None for what has none: lookups, and values of the batch tiers."""
    if not isinstance(feature, WindowFeature) or not _in_tiles(feature):
        return None
    window = feature.window
    if needs_history(feature):
        return -(-SPAN_US // HOP_US) + 1
    if isinstance(window, Sliding):
        return -(-window.size_us // window.hop_us) + (0 if window.offset_us else 1)
    return None if window.tile_us is None else 1


def worst_age_us(feature: StoredFeature) -> int:
    """How old a value may be by its tier's rule."""
    return feature.tier.period_us + feature.tier.delay_us


def _in_tiles(feature: StoredFeature) -> bool:
    return isinstance(feature, WindowFeature) and feature.freshness in STREAM_TIERS


def _stored_width(plan: GroupPlan, feature: StoredFeature) -> int:
    """A field of the hash: the value, its times; a lookup keeps what decides its ties, a batch value two versions."""
    if isinstance(feature, LookupFeature) and feature.freshness in STREAM_TIERS:
        return FIELD_BYTES + 16 + sum(width(dtype) for _, dtype in feature.columns)
    return 2 * (width(feature.dtype) + 1) + FIELD_BYTES


def _history_bytes(history: HistoryColumns) -> int:
    """A field with two horizons: each its time and length, then for each column a number behind its tag, or up to 20
    digits behind theirs and their length."""
    return FIELD_BYTES + 1 + 2 * (12 + sum(25 if column.dtype == "str" else 9 for column in history.tier.columns))


def _state_bytes(plan: GroupPlan) -> int:
    """State rows live twice the longest window with its hop; each is one tile of one hop."""
    tiles = sum(
        _kept_tiles(plan, tier) * (STATE_ROW_BYTES + sum(width(partial.dtype) for partial in tier.partials))
        for tier in tile_tiers(plan)
    )
    tiles += sum(_kept_tiles(plan, tier) * (STATE_ROW_BYTES + _tile_bytes(tier)) for tier in state_tiers(plan))
    rows = [sum(width(dtype) for _, dtype in lookup.columns) for lookup in stream_lookups(plan)]
    sessions = sum(STATE_ROW_BYTES + _session_bytes(tier) for tier in session_tiers(plan))
    return tiles + sessions + sum(STATE_ROW_BYTES + row for row in rows)


def _kept_tiles(plan: GroupPlan, tier: TileTier | StateTier) -> int:
    """Tiles in state; a deferred tier drops them with the watermark: the open ones are those of a period, or one."""
    if TIERS[tier.freshness].is_deferred:
        return -(-TIERS[tier.freshness].period_us // tier.hop_us)
    return -(-min(2 * longest_reach_us(plan), 2 * tier.slots * tier.hop_us) // tier.hop_us)


def _tile_bytes(tier: StateTier) -> int:
    """A tile's head, and each state behind its tag and length."""
    return TILE_HEAD_BYTES + sum(5 + _width_of_state(state) for state in tier.states)


def _session_bytes(tier: SessionTier) -> int:
    """A session's head, each number behind its tag, and each state behind its tag and length."""
    return SESSION_HEAD_BYTES + 9 * len(tier.numbers) + sum(5 + _width_of_state(state) for state in tier.states)


def _width_of_state(state: Partial | WidePartial) -> int:
    """The bytes of a state of `TILE_EVENTS` events."""
    if isinstance(state, Partial):
        return 6 + width(state.dtype)  # format, tag and length of a text
    monoid = monoid_of(state)
    kept = monoid.empty()
    for i in range(TILE_EVENTS):
        kept = monoid.add(kept, i, tuple(_sample(node.dtype, i) for node in state.columns))
    return len(monoid.to_bytes(kept))


def _sample(dtype: DType, i: int) -> int | float | str | bool:
    return {"int": i, "float": i + 0.5, "bool": i % 2 == 0}.get(dtype, str(i).rjust(TEXT_BYTES))


def width(dtype: DType) -> int:
    """The bytes of a value; of a text or an array, an assumption."""
    return _WIDTHS.get(dtype, 8 * TEXT_BYTES)
