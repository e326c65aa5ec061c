"""How many tiles of a ring are kept: those of the window, and those of events that are accepted ahead of their time."""

from __future__ import annotations

from typing import Any

import pytest

from featuredsl import EventSource, feature, feature_group, tumbling
from featuredsl.tiles import state_tiers, tile_tiers

S = 1_000_000
clicks = EventSource("clicks", event_time="ts", schema={"user": str, "n": int})


def made(spec: Any) -> Any:
    @feature_group(name="g", entity="user")
    class G:
        @feature(freshness="realtime", window=spec)
        def n(c: clicks) -> int:  # type: ignore[valid-type]
            return c.count()  # type: ignore[attr-defined,no-any-return]

        @feature(freshness="realtime", window=spec)
        def first(c: clicks) -> int:  # type: ignore[valid-type]
            return c.n.first()  # type: ignore[attr-defined,no-any-return]

    return G.plan  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "size_us", "hop_us"),
    [
        ("12s", 12 * S, S),
        ("1m", 60 * S, 5 * S),
        ("6m", 360 * S, 30 * S),
        ("12m", 720 * S, 60 * S),
        ("1h", 3600 * S, 300 * S),
        (tumbling("1s"), S, S),
        (tumbling("7s"), 7 * S, 7 * S),
    ],
)
def test_no_event_that_is_accepted_displaces_a_tile_of_the_window(spec: Any, size_us: int, hop_us: int) -> None:
    for tier in (*tile_tiers(made(spec)), *state_tiers(made(spec))):
        assert tier.hop_us == hop_us
        for asked in range(0, 61 * S, S // 2):
            oldest, newest = (asked - size_us) // hop_us, (asked + 60 * S) // hop_us
            taken = [tile % tier.slots for tile in range(oldest, newest + 1)]
            assert len(set(taken)) == len(taken), (tier.name, asked)


def test_short_hops_keep_no_more_than_that_needs() -> None:
    slots = {spec: tile_tiers(made(spec))[0].slots for spec in ("12s", "1m", "6m", "12m", "1h")}
    assert slots == {"12s": 13 + 60, "1m": 13 + 12, "6m": 13 + 2, "12m": 13 + 1, "1h": 13 + 1}
