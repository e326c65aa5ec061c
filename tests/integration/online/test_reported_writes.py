"""Reported failures of online stores, on a real Redis: order of writes, corrections, partial records, lifetimes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from featuredsl.finalize import EXPIRED, NOT_FOUND, NULL, OK, Finalizer
from featuredsl.online.codec import encode_rank
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan
from featuredsl.tiles import rank_columns, store_layout, stream_lookups
from tests.conformance.cases import D, H, plan_of, us
from tests.conformance.cases_reported import Ages, Newest, Parts
from tests.support.redis_process import RedisProcess

LUA = Path(__file__).parents[3] / "jobs" / "flink" / "connector" / "src" / "main" / "resources" / "lua"
Write = tuple[str, float, dict[str, Any]]
"""A source, seconds, and the columns of a row: what the job writes when it sees the row."""


def write(server: RedisProcess, plan: GroupPlan, writes: Sequence[Write], expires_ms: int = 0) -> None:
    """Each row as one call of the sink's script: ranks for the features of its source, nothing for the others."""
    layout, lookups = store_layout(plan), list(stream_lookups(plan))
    script, names = (LUA / "fields.lua").read_text(), [f"l:{lookup.name}" for lookup in lookups]
    for source, seconds, row in writes:
        ranks = [
            encode_rank(us(seconds), rank_columns(plan, lookup), [row.get(c.name) for c in rank_columns(plan, lookup)])
            if lookup.source == source and _takes(plan, lookup.name, row)
            else ""
            for lookup in lookups
        ]
        server.client.eval(script, 1, layout.key(("a",), "X"), len(names), *names, expires_ms, *ranks)


def _takes(plan: GroupPlan, name: str, row: dict[str, Any]) -> bool:
    """The filters of the groups of this test: `some` skips null x."""
    return not name.startswith("some") or row.get("x") is not None


def read(server: RedisProcess, plan: GroupPlan, seconds: float, key: str = "a") -> dict[str, tuple[Any, str]]:
    with OnlineStore(server.url) as store:
        (state,) = store.read([(store_layout(plan), (key,))])
    values = Finalizer(plan).values(state, us(seconds), {})
    return {name: (value.value, value.status) for name, value in values.items()}


def run(seconds: float, x: int | None, seq: int | None = None) -> Write:
    return "ordered", seconds, {"u": "a", "x": x, "seq": seq}


@pytest.mark.parametrize("order", list(permutations([run(10, 30), run(5, 20), run(0, 10)])), ids=str)
def test_a_batch_in_any_order_leaves_the_newest(server: RedisProcess, order: Sequence[Write]) -> None:
    """feast#5163."""
    write(server, plan_of(Newest), order)
    assert read(server, plan_of(Newest), 11)["value"] == (30, OK)


@pytest.mark.parametrize("order", list(permutations([run(5, 9), run(5, None), run(5, -9)])), ids=str)
def test_ties_end_alike_in_any_order(server: RedisProcess, order: Sequence[Write]) -> None:
    write(server, plan_of(Newest), order)
    assert read(server, plan_of(Newest), 6)["value"] == (9, OK)


@pytest.mark.parametrize("corrected", [6, 4, None])
def test_a_correction_of_the_same_time_counts_and_its_forerunner_does_not_again(
    server: RedisProcess, corrected: int | None
) -> None:
    """feast#2795: the sequence is the run."""
    plan, first, second = plan_of(Newest), run(100, 5, 1), run(100, corrected, 2)
    write(server, plan, [first, second])
    assert read(server, plan, 101)["value"] == (corrected, OK if corrected else NULL)
    write(server, plan, [first, first])
    assert read(server, plan, 101)["value"] == (corrected, OK if corrected else NULL)


def test_writers_at_the_same_time_leave_the_newest(server: RedisProcess) -> None:
    """Two clients that both saw an old value must not overwrite each other: the comparison is the server's."""
    plan = plan_of(Newest)
    for attempt in range(20):
        server.client.flushall()
        rows = [run(seconds, seconds) for seconds in range(48)]
        random.Random(attempt).shuffle(rows)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i, rows=rows: write(server, plan, rows[i::8]), range(8)))
        assert read(server, plan, 60)["value"] == (47, OK)


def test_a_partial_record_leaves_other_features(server: RedisProcess) -> None:
    """feast#3313, #5369, #1192."""
    plan = plan_of(Parts)
    write(server, plan, [("events", 1, {"x": 1, "s": "p"}), ("other", 1, {"x": 2}), ("events", 2, {"x": 5})])
    found = read(server, plan, 3)
    assert (found["a"], found["b"], found["some_a"]) == ((5, OK), (2, OK), (5, OK))
    write(server, plan, [("events", 3, {"x": None})])
    found = read(server, plan, 4)
    assert (found["a"], found["b"], found["some_a"]) == ((None, NULL), (2, OK), (5, OK))
    assert read(server, plan, 4, key="zz")["a"] == (None, NOT_FOUND)


def test_each_feature_has_its_own_age(server: RedisProcess) -> None:
    """feast#3596, #6821, #3435: what is kept is not thereby fresh; a write of one group renews no other's."""
    ages, parts = plan_of(Ages), plan_of(Parts)
    write(server, ages, [("events", 9 * H, {"x": 4})])
    write(server, parts, [("events", 8 * D - 1, {"x": 1})])
    assert read(server, ages, 10 * H)["hour"] == (4, OK)
    assert read(server, ages, 10 * H + 1e-6)["hour"] == (None, EXPIRED)
    old = read(server, ages, 8 * D)
    assert (old["week"], old["week_or"], old["ever"]) == ((None, EXPIRED), (-1, EXPIRED), (4, OK))
    assert read(server, parts, 8 * D)["a"] == (1, OK)


def test_expiry_follows_the_event_not_the_write(server: RedisProcess) -> None:
    """feast#3275: the same row again neither loses nor gains time; a newer event gains it, an older one nothing."""
    plan, far = plan_of(Newest), 4_000_000_000_000
    key = store_layout(plan).key(("a",), "X")
    expiries = []
    for row, expires_ms in (
        (run(60, 1), far),
        (run(60, 1), far),
        (run(10, 0), far - 50_000),
        (run(110, 2), far + 50_000),
    ):
        write(server, plan, [row], expires_ms)
        expiries.append(server.client.pexpiretime(key) - far)
    assert expiries == [0, 0, 0, 50_000]
    write(server, plan, [run(110, 2)], 1)
    assert server.client.pexpiretime(key) == far + 50_000
