"""Wide features of random events through `featuredsl history` and through the tiles of the online store, against a loop
over the events of each window."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from featuredsl import EventSource, feature, feature_group, tumbling, window
from featuredsl.finalize import Finalizer
from featuredsl.history import HistoryRequest, build
from featuredsl.online.request import ReadRequest
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout
from tests.support import wide_oracle as oracle
from tests.support.online_tiles import ring, wide_fields
from tests.support.wide_cases import labels_of

T0 = 1_767_225_600_000_000
SECOND, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000

acts = EventSource(
    "acts", event_time="ts", schema={"u": int, "x": int, "f": float, "s": str}, sequence="seq", time_unit="us"
)


@feature_group(name="w", entity="u")
class Wide:
    """Every kind, over windows that many events and labels share."""

    @feature(freshness="realtime", window=["1h", "6h"])
    def first(e: acts) -> str:
        return e.s.first()

    @feature(freshness="realtime", window=["1h", "6h"])
    def last(e: acts) -> list[int]:
        return e.x.last_k(3)

    @feature(freshness="realtime", window=["1h", "6h"])
    def top(e: acts) -> list[str]:
        return e.s.top_k(2)

    @feature(freshness="realtime", window=["1h", "6h"])
    def counts(e: acts) -> list[int]:
        return e.s.top_k_counts(2)

    @feature(freshness="realtime", window=["1h", "6h"])
    def distinct(e: acts) -> int:
        return e.x.approx_distinct()

    @feature(freshness="realtime", window=["1h", "6h"])
    def quantile(e: acts) -> float:
        return e.filter(e.x >= 0).f.approx_quantile(0.9)

    @feature(freshness="realtime", window=["1h", "6h"])
    def decayed(e: acts) -> float:
        return e.f.decayed_sum("10m")

    @feature(freshness="realtime", window=["1h", "6h"])
    def bins(e: acts) -> list[int]:
        return e.x.histogram([-2, 0, 3])

    @feature(freshness="realtime", window=tumbling("1h"))
    def least(e: acts) -> str:
        return e.filter(e.x > 0).s.min()

    @feature(freshness="realtime", window=tumbling("1h"))
    def greatest(e: acts) -> str:
        return e.s.max()

    @feature(freshness="realtime", window="1h")
    def share(e: acts) -> float:
        return e.x.approx_distinct() / e.count()

    @feature(freshness="1h", window=window("6h", offset="1h"))
    def hourly(e: acts) -> list[int]:
        return e.x.last_k(3)


def events_of(rng: random.Random) -> list[dict[str, Any]]:
    """Ties in time and sequence, nulls, and times on the edges of hops."""
    return [
        {
            "u": rng.randrange(3),
            "ts": T0 + rng.choice((rng.randrange(9 * HOUR), rng.randrange(108) * 5 * MINUTE)),
            "seq": rng.choice((None, 0, 1)),
            "x": rng.choice((None, rng.randrange(-5, 6))),
            "f": rng.choice((None, rng.uniform(-4, 4), float(rng.randrange(3)))),
            "s": rng.choice((None, "a", "b", "é", "", "\ue000", "\U0001f600")),
        }
        for _ in range(rng.randrange(1, 250))
    ]


def floor(t: int, step: int) -> int:
    return t // step * step


def expected(events: list[dict[str, Any]], user: int, t: int) -> dict[str, Any]:
    def seen(column: str, low: int, high: int, least: int | None = None) -> list[oracle.Event]:
        return [
            (e["ts"], e["seq"], e[column])
            for e in events
            if e["u"] == user and low <= e["ts"] < high and e[column] is not None
            if least is None or (e["x"] is not None and e["x"] >= least)
        ]

    found: dict[str, Any] = {}
    for name, size, hop in (("1h", HOUR, 5 * MINUTE), ("6h", 6 * HOUR, 5 * MINUTE)):
        low = floor(t - size, hop)
        x, f, s = (seen(column, low, t) for column in "xfs")
        pairs = oracle.top_pairs(s, 2)
        found |= {
            f"first_{name}": oracle.first(s),
            f"last_{name}": oracle.last_k(x, 3),
            f"top_{name}": [value for value, _ in pairs] or None,
            f"counts_{name}": [count for _, count in pairs] or None,
            f"distinct_{name}": oracle.distinct(x),
            f"quantile_{name}": oracle.quantile(seen("f", low, t, least=0), "0.9"),
            f"decayed_{name}": oracle.decayed(f, t, 10 * MINUTE) if f else None,
            f"bins_{name}": oracle.histogram(x, [-2, 0, 3]),
        }
    hour = floor(t, HOUR)
    found["least"] = min((s for _, _, s in seen("s", hour - HOUR, hour, least=1)), key=str.encode, default=None)
    found["greatest"] = max((s for _, _, s in seen("s", hour - HOUR, hour)), key=str.encode, default=None)
    low = floor(t - HOUR, 5 * MINUTE)
    n = sum(e["u"] == user and low <= e["ts"] < t for e in events)
    found["share"] = oracle.distinct(seen("x", low, t)) / n if n else None
    q = floor(t - 10 * MINUTE, HOUR)
    found["hourly"] = oracle.last_k(seen("x", floor(q - 7 * HOUR, 5 * MINUTE), floor(q - HOUR, 5 * MINUTE)), 3)
    return found


def is_same(name: str, found: Any, value: Any) -> bool:
    if name.startswith("quantile") and value is not None:
        return bool(abs(found - value) <= abs(value) / 256)
    if name.startswith("decayed") and value is not None:
        return bool(found == pytest.approx(value, rel=1e-9, abs=1e-9))
    return bool(found == value)


@pytest.mark.parametrize("seed", range(12))
def test_history_is_that_of_a_loop_over_events(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    events = events_of(rng)
    file = tmp_path / "acts.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    times = [T0 + rng.choice((rng.randrange(16 * HOUR), rng.randrange(192) * 5 * MINUTE)) for _ in range(40)]
    labels = labels_of([{"u": rng.randrange(4), "ts": time} for time in times], tmp_path)
    result = build(HistoryRequest({"w": Wide.plan}, {"acts": file}, labels))  # type: ignore[attr-defined]
    wrong = [
        (row["u"], time, name, row[f"w__{name}"], value)
        for row, time in zip(result.rows, times, strict=True)
        for name, value in expected(events, row["u"], time).items()
        if not is_same(name, row[f"w__{name}"], value)
    ]
    assert wrong == []


@pytest.mark.parametrize("seed", range(12))
def test_tiles_of_any_order_and_split_are_those_of_a_loop_over_events(seed: int) -> None:
    rng = random.Random(seed)
    plan: GroupPlan = Wide.plan  # type: ignore[attr-defined]
    layout, finalizer = store_layout(plan), Finalizer(plan)
    events = events_of(rng)
    wrong = []
    for _ in range(20):
        user, t = rng.randrange(4), T0 + rng.choice((rng.randrange(16 * HOUR), rng.randrange(192) * 5 * MINUTE))
        mine = [(e["ts"], e) for e in events if e["u"] == user and e["ts"] < t]
        fields = wide_fields(plan, layout, {"acts": mine}, rng)
        replies = [[ring(plan, layout, {"acts": mine})], [fields.get(name) for name in layout.hash_fields]]
        (state,) = ReadRequest([(layout, (user,))]).parse(replies)
        found = finalizer.values(state, t, {})
        wanted = expected(events, user, t)
        del wanted["hourly"]
        wrong += [
            (user, t, name, found[name].value, value)
            for name, value in wanted.items()
            if not is_same(name, found[name].value, value)
        ]
    assert wrong == []
