"""DuckDB's point-in-time values against loops over the events, by the rules of docs/concepts.md."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest

from featuredsl import EventSource, feature, feature_group, ratio, window
from featuredsl.bulk import append, create_table
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB

S, M, H = 1_000_000, 60_000_000, 3_600_000_000
TYPES = {"o": "VARCHAR", "t": "BIGINT", "k0": "BIGINT", "f": "DOUBLE", "ts_us": "BIGINT"}
SCHEMA = {"o": str, "t": int, "k0": int, "f": float}
one = EventSource("one", event_time="ts", schema=SCHEMA)
two = EventSource("two", event_time="ts", schema=SCHEMA)


@feature_group(name="g", entity=("o", "t"))
class Group:
    """Column names are those that the query uses inside."""

    @feature(freshness="realtime", window=["1m", "1h"])
    def n(e: one) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("10m", hop="5m", offset="5m"))
    def total(e: one) -> int:
        return e.filter(e.f > 0.0).k0.sum()

    @feature(freshness="1h", window="1h")
    def low(e: one) -> float:
        return e.f.min()

    @feature(freshness="realtime", window="10m")
    def share(e: one, other: two) -> float:
        return ratio(e.count(), other.count())

    @feature(freshness="realtime", ttl="10m")
    def last(e: one) -> int:
        return e.latest().k0

    @feature(freshness="1h")
    def late(e: two) -> float:
        return e.filter(e.k0 >= 2).f.latest()


Event = tuple[str | None, int | None, int | None, float | None, int]


def inside(events: Sequence[Event], low: int, high: int) -> list[Event]:
    return [event for event in events if low <= event[4] < high]


def floor(us: int, step: int) -> int:
    return us // step * step


def brute(ones: Sequence[Event], twos: Sequence[Event], t: int) -> list[Any]:
    deferred = floor(t - 10 * M, H)
    total = [e[2] for e in inside(ones, floor(t - 15 * M, 5 * M), floor(t - 5 * M, 5 * M)) if e[3] and e[3] > 0]
    total = [x for x in total if x is not None]
    low = [e[3] for e in inside(ones, floor(deferred - H, 5 * M), deferred) if e[3] is not None]
    mine, theirs = (len(inside(events, floor(t - 10 * M, 30 * S), t)) for events in (ones, twos))
    rank = [(e[4], *((x is not None, x or 0) for x in e[:4])) for e in inside(ones, t - 10 * M, t)]
    late = [(e[4], e[3]) for e in twos if e[4] < deferred and e[2] is not None and e[2] >= 2 and e[3] is not None]
    last = max(rank)[3] if rank else (False, 0)
    return [
        len(inside(ones, floor(t - M, 5 * S), t)),
        len(inside(ones, floor(t - H, 5 * M), t)),
        sum(total) if total else None,
        min(low) if low else None,
        mine / theirs if theirs else None,
        last[1] if last[0] else None,
        max(late)[1] if late else None,
    ]


def some(rng: random.Random, origin: int, count: int) -> list[Event]:
    """Three keys and null parts; times on and beside the hops, many of them equal."""
    return [
        (
            rng.choice(["a", "b", None]) if rng.random() < 0.3 else "a",
            rng.choice([1, 2, None]) if rng.random() < 0.3 else 1,
            rng.choice([None, 0, 1, 2, 3]),
            rng.choice([None, -1.5, 0.0, 2.25, 4.0]),
            origin + rng.choice([5 * S, 30 * S, 5 * M]) * rng.randrange(60) + rng.choice([0, 0, 0, -1, 1]),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_duckdb_equals_loops(seed: int) -> None:
    rng = random.Random(seed)
    origin = rng.choice([0, 1_767_225_600 * S])  # also before 1970
    events = {"one": some(rng, origin, 150), "two": some(rng, origin, 80)}
    labels = some(rng, origin, 60)
    con = duckdb.connect()
    for name, rows in events.items():
        create_table(con, name, TYPES)
        append(con, name, TYPES, list(zip(*rows, strict=True)))
    kinds = {"label_id": "BIGINT", "o": "VARCHAR", "t": "BIGINT", "ts_us": "BIGINT"}
    create_table(con, "labels", kinds)
    append(con, "labels", kinds, [range(60), *([row[i] for row in labels] for i in (0, 1, 4))])
    found = con.execute(f"SELECT * FROM ({point_in_time(Group.plan, DUCKDB)}) ORDER BY label_id").fetchall()
    assert [row[0] for row in found] == list(range(60))
    for row, label in zip(found, labels, strict=True):
        key = label[:2] if None not in label[:2] else ()
        mine = [[e for e in rows if e[:2] == key] for rows in events.values()]
        expected = brute(*mine, label[4])
        for value, wanted in zip(row[1:], expected, strict=True):
            assert value == wanted or math.isclose(value, wanted, rel_tol=1e-9), (label, row, expected)
