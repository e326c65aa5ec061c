"""What a stream job would store of an entity's events: its ring, and by the Python monoids its states of variable
width, in any order and split."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from featuredsl.aggregators import Partial, WidePartial
from featuredsl.evaluate import evaluate
from featuredsl.online.codec import Tile, encode_ring
from featuredsl.online.layout import StoreLayout
from featuredsl.online.session_codec import SessionRecord, encode_sessions
from featuredsl.online.wide_codec import WideTile, encode_wide_tile
from featuredsl.plan import GroupPlan
from featuredsl.session_tiers import SessionTier, session_tiers
from featuredsl.tiles import StateTier, state_tiers, tile_tiers
from featuredsl.wide.monoid import Monoid
from featuredsl.wide.plain import Plain
from featuredsl.wide.table import monoid_of

Event = tuple[int, Mapping[str, Any]]
"""Event time in us, and the columns."""


def by_tile(events: Iterable[Event], hop_us: int) -> list[tuple[int, list[Event]]]:
    tiles: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        tiles[event[0] // hop_us].append(event)
    return sorted(tiles.items())


def fold(merge: str, values: list[Any]) -> Any:
    kept = [value for value in values if value is not None]
    if not kept:
        return None
    return {"sum": sum, "min": min, "max": max}[merge](kept)


def ring(plan: GroupPlan, layout: StoreLayout, events: Mapping[str, Iterable[Event]]) -> bytes | None:
    """The ring of one entity from its events by source; None when there is none."""
    tiles = {
        tier.name: [
            Tile(
                index,
                len(rows),
                max(time_us for time_us, _ in rows),
                tuple(fold(p.merge, [evaluate(p.lift, dict(row)) for _, row in rows]) for p in tier.partials),
            )
            for index, rows in by_tile(events[tier.source], tier.hop_us)
        ]
        for tier in tile_tiers(plan)
    }
    return encode_ring(layout, tiles) if any(tiles.values()) else None


def wide_fields(
    plan: GroupPlan, layout: StoreLayout, events: Mapping[str, Iterable[Event]], rng: random.Random | None = None
) -> dict[str, bytes]:
    """Fields of the hash of one entity from its events by source; with `rng` each tile is merged of random parts."""
    fields: dict[str, bytes] = {}
    for tier, stored in zip(state_tiers(plan), layout.wide, strict=True):
        for index, rows in by_tile(events[tier.source], tier.hop_us):
            name = f"t:{tier.name}:{index % tier.slots}"
            fields[name] = encode_wide_tile(stored, tile_of(tier, index, rows, rng))
    return fields


def session_fields(
    plan: GroupPlan, layout: StoreLayout, events: Mapping[str, Iterable[Event]], rng: random.Random | None = None
) -> dict[str, bytes]:
    """Fields of the hash of one entity that hold its sessions, the open one too."""
    fields: dict[str, bytes] = {}
    for tier, stored in zip(session_tiers(plan), layout.sessions, strict=True):
        mine = [e for e in events[tier.source] if tier.forms is None or evaluate(tier.forms, dict(e[1])) is True]
        runs: list[list[Event]] = []
        for event in sorted(mine, key=lambda event: event[0]):
            if not runs or event[0] - runs[-1][-1][0] >= tier.window.gap_us:
                runs.append([])
            runs[-1].append(event)
        if runs:
            fields[stored.hash_field] = encode_sessions(stored, [_record(tier, run, rng) for run in runs])
    return fields


def _record(tier: SessionTier, run: list[Event], rng: random.Random | None) -> SessionRecord:
    numbers = tuple(fold(p.merge, [evaluate(p.lift, dict(row)) for _, row in run]) for p in tier.numbers)
    return SessionRecord(run[0][0], run[-1][0], len(run), numbers, tuple(_state(s, run, rng) for s in tier.states))


def tile_of(tier: StateTier, index: int, rows: list[Event], rng: random.Random | None) -> WideTile:
    states = tuple(_state(state, rows, rng) for state in tier.states)
    return WideTile(index, len(rows), max(time_us for time_us, _ in rows), states)


def _state(part: Partial | WidePartial, rows: list[Event], rng: random.Random | None) -> bytes | None:
    monoid: Monoid[Any] = Plain(part.merge) if isinstance(part, Partial) else monoid_of(part)
    columns = (part.lift,) if isinstance(part, Partial) else part.columns
    where = None if isinstance(part, Partial) else part.where
    taken = [
        (time_us, tuple(evaluate(node, dict(row)) for node in columns))
        for time_us, row in rows
        if where is None or evaluate(where, dict(row)) is True
    ]
    if isinstance(part, Partial):
        taken = [event for event in taken if event[1][0] is not None]
    if not taken:
        return None
    parts: list[Any] = [monoid.empty() for _ in range(1 if rng is None else rng.randrange(1, 5))]
    for time_us, values in taken if rng is None else rng.sample(taken, len(taken)):
        at = 0 if rng is None else rng.randrange(len(parts))
        parts[at] = monoid.add(parts[at], time_us, values)
    merged = monoid.empty()
    for one in parts:
        merged = monoid.merge(merged, monoid.from_bytes(monoid.to_bytes(one)))
    return monoid.to_bytes(merged)
