"""The conformance cases through the online layout: events folded into tiles and ranks, encoded, read back."""

from __future__ import annotations

from typing import Any

import pytest

from featuredsl.evaluate import evaluate
from featuredsl.finalize import Finalizer
from featuredsl.online.codec import Tile, decode_rank, decode_ring, encode_rank, encode_ring
from featuredsl.online.request import EntityState
from featuredsl.plan import GroupPlan
from featuredsl.tiles import rank_columns, store_layout, stream_lookups, tile_tiers
from tests.conformance.cases import CASES, Case, Row, us
from tests.conformance.cases_windows import WINDOW_CASES, has_tiles

STREAMED = [
    case
    for case in (*CASES, *WINDOW_CASES)
    if has_tiles(case.group) and all(f.freshness == "realtime" for f in case.group.features)
]


def fold(merge: str, values: list[Any]) -> Any:
    kept = [value for value in values if value is not None]
    if not kept:
        return None
    return {"sum": sum, "min": min, "max": max}[merge](kept)


def tiles_of(plan: GroupPlan, events: dict[str, list[Row]], key: tuple[Any, ...]) -> dict[str, list[Tile]]:
    names = [name for name, _ in plan.entity]
    tiles: dict[str, list[Tile]] = {}
    for tier in tile_tiers(plan):
        by_index: dict[int, list[Row]] = {}
        for seconds, columns in events[tier.source]:
            if tuple(columns[name] for name in names) == key:
                by_index.setdefault(us(seconds) // tier.hop_us, []).append((seconds, columns))
        tiles[tier.name] = [
            Tile(
                index,
                len(rows),
                max(us(seconds) for seconds, _ in rows),
                tuple(fold(p.merge, [evaluate(p.lift, c) for _, c in rows]) for p in tier.partials),
            )
            for index, rows in sorted(by_index.items())
        ]
    return tiles


def ranks_of(plan: GroupPlan, events: dict[str, list[Row]], key: tuple[Any, ...]) -> dict[str, bytes]:
    names = [name for name, _ in plan.entity]
    ranks: dict[str, bytes] = {}
    for lookup in stream_lookups(plan):
        columns = rank_columns(plan, lookup)
        found = [
            encode_rank(us(seconds), columns, [row.get(c.name) for c in columns]).encode()
            for seconds, row in events[lookup.source]
            if tuple(row[name] for name in names) == key
            and (lookup.where is None or evaluate(lookup.where, row) is True)
        ]
        if found:
            ranks[lookup.name] = max(found)
    return ranks


def state_before(case: Case, key: tuple[Any, ...], at_us: int) -> EntityState:
    """What a job would have stored when it had seen every event before `at_us`, and none after."""
    plan, layout = case.group, store_layout(case.group)
    seen = {name: [r for r in rows if us(r[0]) < at_us] for name, rows in case.events.items()}
    tiles, ranks = tiles_of(plan, seen, key), ranks_of(plan, seen, key)
    exists = any(tiles.values()) or bool(ranks)
    ring = decode_ring(layout, encode_ring(layout, tiles) if layout.ring else None)
    by_name = {f.name: rank_columns(plan, f) for f in stream_lookups(plan)}
    lookups = {name: decode_rank(by_name[name], rank) for name, rank in ranks.items()}
    return EntityState(exists, ring, lookups, {})


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    finalizer = Finalizer(case.group)
    for key, seconds, expected in case.reads:
        values = finalizer.values(state_before(case, key, us(seconds)), us(seconds), {})
        assert {name: values[name].value for name in expected} == expected, (key, seconds)
