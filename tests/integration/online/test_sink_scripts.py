"""The scripts of the Flink sink on a real Redis: guards, expiry, keys that hold something else."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from featuredsl import EventSource, feature, feature_group
from featuredsl.finalize import Finalizer
from featuredsl.online.codec import Tile, decode_ring, encode_rank, encode_slot
from featuredsl.online.layout import Column, RingTier, StoreLayout, WideTier
from featuredsl.online.meta import parse_closed
from featuredsl.online.store import OnlineStore
from featuredsl.online.wide_codec import WideTile, decode_wide, encode_wide_tile
from featuredsl.tiles import store_layout
from tests.support.redis_process import RedisProcess

LUA = Path(__file__).parents[3] / "jobs" / "flink" / "connector" / "src" / "main" / "resources" / "lua"
HOP = 300_000_000
LAYOUT = StoreLayout(
    group="g",
    version="v1",
    entity=(Column("u", "str"),),
    ring=(RingTier("a", HOP, 3, (Column("n", "int"),)), RingTier("b", HOP, 5, (Column("x", "float"),))),
    lookups=(),
    batch=(),
    expire_after_us=0,
)
FAR = 4_000_000_000_000_000 // HOP


def write_tiles(
    server: RedisProcess, tier: str, rows: list[tuple[str, Tile]], keep_us: int = 0, with_hash: int = 0
) -> list[int]:
    spec = LAYOUT.ring_tier(tier)
    size = (spec.slots, spec.slot_size, LAYOUT.total_size)
    common = [LAYOUT.header(), LAYOUT.offset(tier), *size, HOP, keep_us, with_hash]
    keys = [LAYOUT.key((user,), "R") for user, _ in rows]
    slots = [encode_slot(spec, tile) for _, tile in rows]
    result: list[int] = server.client.eval((LUA / "ring.lua").read_text(), len(keys), *keys, *common, *slots)
    return result


def tiles(server: RedisProcess, user: str, tier: str) -> tuple[Tile, ...]:
    return decode_ring(LAYOUT, server.client.get(LAYOUT.key((user,), "R")))[tier]


def tile(index: int, rows: int) -> Tile:
    return Tile(index, rows, index * HOP + rows, (rows,))


def test_tiers_share_a_ring_and_keep_apart(server: RedisProcess) -> None:
    first, second = tile(7, 1), Tile(7, 2, 9, (None,))
    assert write_tiles(server, "a", [("u", first)]) == [1, 0, 0]
    assert write_tiles(server, "b", [("u", second), ("v", second)]) == [2, 0, 0]
    assert (tiles(server, "u", "a"), tiles(server, "u", "b")) == ((first,), (second,))
    assert (tiles(server, "v", "a"), tiles(server, "v", "b")) == ((), (second,))


def test_guard_table(server: RedisProcess) -> None:
    write_tiles(server, "a", [("u", tile(6, 5))])
    for candidate, outcome in [
        (tile(6, 4), [0, 1, 0]),
        (tile(6, 5), [1, 0, 0]),
        (tile(6, 6), [1, 0, 0]),
        (tile(3, 99), [0, 1, 0]),
        (tile(9, 1), [1, 0, 0]),
        (tile(6, 99), [0, 1, 0]),
        (tile(-3, 99), [0, 1, 0]),
    ]:
        assert write_tiles(server, "a", [("u", candidate)]) == outcome, candidate
    assert tiles(server, "u", "a") == (tile(9, 1),)
    assert write_tiles(server, "a", [("w", tile(-1, 1)), ("w", tile(-4, 9)), ("w", tile(2**34, 1))]) == [2, 1, 0]


def test_any_order_and_any_repeats_give_the_same_bytes(server: RedisProcess) -> None:
    rng = random.Random(5)
    rows = [(user, tile(index, n)) for user in "uv" for index in range(20) for n in (1, 2, 3)]
    for user in "uv":
        write_tiles(server, "a", [row for row in rows if row[0] == user])
    expected = {user: server.client.get(LAYOUT.key((user,), "R")) for user in "uv"}
    for _ in range(20):
        server.client.flushall()
        for size in (7, 50, len(rows)):
            write_tiles(server, "a", rng.sample(rows, size))
        assert {user: server.client.get(LAYOUT.key((user,), "R")) for user in "uv"} == expected


def test_a_ring_takes_no_more_memory_than_its_bytes(server: RedisProcess) -> None:
    """A string that grows is given twice what it needs."""
    rows = [("u", tile(i, 1)) for i in range(3)]
    for row in rows:
        write_tiles(server, "a", [row])
    server.client.set(LAYOUT.key(("w",), "R"), bytes(LAYOUT.total_size))
    ring, plain = (server.client.memory_usage(LAYOUT.key((user,), "R")) for user in "uw")
    assert plain <= ring <= plain + 16


def test_foreign_keys_are_counted_and_neighbours_written(server: RedisProcess) -> None:
    server.client.rpush(LAYOUT.key(("list",), "R"), "x")
    other = b"\1another" + bytes(LAYOUT.total_size - 8)
    server.client.set(LAYOUT.key(("other",), "R"), other)
    rows = [("list", tile(1, 1)), ("u", tile(1, 1)), ("other", tile(1, 1)), ("v", tile(1, 1))]
    assert write_tiles(server, "a", rows) == [2, 0, 2]
    assert server.client.get(LAYOUT.key(("other",), "R")) == other
    assert tiles(server, "v", "a") == (tile(1, 1),)


def test_expiry_follows_the_newest_tile(server: RedisProcess) -> None:
    key = LAYOUT.key(("u",), "R")
    write_tiles(server, "a", [("u", tile(FAR, 1))], keep_us=1)
    assert server.client.pexpiretime(key) == -(-((FAR + 1) * HOP + 1) // 1000)
    write_tiles(server, "b", [("u", tile(FAR - 2, 1))], keep_us=1)
    assert server.client.pexpiretime(key) == -(-((FAR + 1) * HOP + 1) // 1000)
    write_tiles(server, "b", [("u", tile(FAR + 1, 1))], keep_us=1)
    assert server.client.pexpiretime(key) == -(-((FAR + 2) * HOP + 1) // 1000)
    write_tiles(server, "a", [("old", tile(1, 1))], keep_us=1)
    assert not server.client.exists(LAYOUT.key(("old",), "R"))
    write_tiles(server, "a", [("kept", tile(1, 1))])
    assert server.client.pexpiretime(LAYOUT.key(("kept",), "R")) == -1


def write_fields(server: RedisProcess, rows: list[tuple[str, int, Any, Any]]) -> list[int]:
    keys = [LAYOUT.key((user,), "X") for user, *_ in rows]
    arguments: list[Any] = []
    for _, expires_ms, *values in rows:
        arguments += [expires_ms, *("" if value is None else value for value in values)]
    script = (LUA / "fields.lua").read_text()
    result: list[int] = server.client.eval(script, len(keys), *keys, 2, "l:a", "l:b", *arguments)
    return result


TEXT = [Column("s", "str")]


def rank(ts: int, text: str | None) -> str:
    return encode_rank(ts, TEXT, (text,))


def test_the_greatest_rank_stays_field_by_field(server: RedisProcess) -> None:
    rng = random.Random(3)
    texts = ["", "a", "a\0", "a\x01", "aa", "\x7f", "\x80", "é", "\uffff", "\U00010000", None, "Z", "_"]
    values = [rank(ts, text) for ts in (-1, 0, 5) for text in texts]
    for _ in range(10):
        server.client.flushall()
        rows = [
            ("u", 0, rng.choice([None, a]), b)
            for a, b in zip(rng.sample(values, 39), rng.sample(values, 39), strict=True)
        ]
        write_fields(server, rows)
        best = {name: max((v.encode() for v in column if v), default=None) for name, column in
                ((b"l:a", [r[2] for r in rows]), (b"l:b", [r[3] for r in rows]))}  # fmt: skip
        assert server.client.hgetall(LAYOUT.key(("u",), "X")) == best


def test_field_counts_expiry_and_foreign_keys(server: RedisProcess) -> None:
    key = LAYOUT.key(("u",), "X")
    far = 4_000_000_000_000
    assert write_fields(server, [("u", far, rank(1, "x"), None)]) == [1, 0, 0]
    assert write_fields(server, [("u", far + 9, rank(1, "x"), None)]) == [0, 1, 0]
    assert server.client.pexpiretime(key) == far
    assert write_fields(server, [("u", far - 9, rank(1, "w"), rank(0, None))]) == [1, 0, 0]
    assert server.client.pexpiretime(key) == far
    assert write_fields(server, [("u", far + 9, rank(2, None), rank(0, None))]) == [1, 0, 0]
    assert server.client.pexpiretime(key) == far + 9
    server.client.set(LAYOUT.key(("s",), "X"), "a string")
    assert write_fields(server, [("s", 0, rank(1, "x"), None), ("v", 0, rank(1, "x"), None)]) == [1, 0, 1]
    assert server.client.hgetall(LAYOUT.key(("v",), "X")) == {b"l:a": rank(1, "x").encode()}
    assert server.client.pexpiretime(LAYOUT.key(("v",), "X")) == -1


@pytest.mark.parametrize("count", [1, 200])
def test_a_batch_of_new_rings_is_one_call(server: RedisProcess, count: int) -> None:
    rows = [(f"u{i}", tile(i, 1)) for i in range(count)]
    assert write_tiles(server, "a", rows) == [count, 0, 0]
    assert server.client.dbsize() == count
    assert server.client.strlen(LAYOUT.key(("u0",), "R")) == LAYOUT.total_size


WIDE = WideTier("a/5m", HOP, 3, 2)


def write_wide(server: RedisProcess, rows: list[tuple[str, WideTile]], keep_us: int = 0) -> list[int]:
    keys = [LAYOUT.key((user,), "X") for user, _ in rows]
    values = [encode_wide_tile(WIDE, tile) for _, tile in rows]
    script = (LUA / "tiles.lua").read_text()
    common = [WIDE.field_prefix, WIDE.slots, HOP, keep_us]
    result: list[int] = server.client.eval(script, len(keys), *keys, *common, *values)
    return result


def wide_tiles(server: RedisProcess, user: str) -> tuple[WideTile, ...]:
    return decode_wide(WIDE, server.client.hmget(LAYOUT.key((user,), "X"), WIDE.hash_fields))


def wide_tile(index: int, rows: int) -> WideTile:
    return WideTile(index, rows, index * HOP + rows, (bytes([1, rows % 256]), None))


def test_guard_table_of_states(server: RedisProcess) -> None:
    assert write_wide(server, [("u", wide_tile(6, 5))]) == [1, 0, 0]
    for candidate, outcome in [
        (wide_tile(6, 4), [0, 1, 0]),
        (wide_tile(6, 5), [1, 0, 0]),
        (wide_tile(6, 6), [1, 0, 0]),
        (wide_tile(3, 99), [0, 1, 0]),
        (wide_tile(9, 1), [1, 0, 0]),
        (wide_tile(6, 99), [0, 1, 0]),
        (wide_tile(-3, 99), [0, 1, 0]),
    ]:
        assert write_wide(server, [("u", candidate)]) == outcome, candidate
    assert wide_tiles(server, "u") == (wide_tile(9, 1),)
    rows = [("w", wide_tile(-1, 1)), ("w", wide_tile(-4, 9)), ("w", wide_tile(2**34, 1))]
    assert write_wide(server, rows) == [2, 1, 0]
    assert server.client.hkeys(LAYOUT.key(("w",), "X")) == [b"t:a/5m:2", b"t:a/5m:1"]


def test_states_in_any_order_and_with_any_repeats_give_the_same_bytes(server: RedisProcess) -> None:
    rng = random.Random(5)
    rows = [(user, wide_tile(index, n)) for user in "uv" for index in range(20) for n in (1, 2, 3)]
    expected = {user: tuple(wide_tile(index, 3) for index in (17, 18, 19)) for user in "uv"}
    for _ in range(20):
        server.client.flushall()
        for size in (7, 50, len(rows)):
            write_wide(server, rng.sample(rows, size))
        assert {user: wide_tiles(server, user) for user in "uv"} == expected


def test_foreign_keys_and_fields_are_counted_and_latest_values_stay(server: RedisProcess) -> None:
    server.client.set(LAYOUT.key(("string",), "X"), "mine")
    server.client.hset(LAYOUT.key(("other",), "X"), "t:a/5m:1", b"\2" + bytes(30))
    server.client.hset(LAYOUT.key(("short",), "X"), "t:a/5m:1", b"\1")
    write_fields(server, [("u", 0, rank(1, "x"), None)])
    rows = [(user, wide_tile(1, 1)) for user in ("string", "u", "other", "short", "v")]
    assert write_wide(server, rows) == [2, 0, 3]
    assert server.client.get(LAYOUT.key(("string",), "X")) == b"mine"
    assert server.client.hget(LAYOUT.key(("other",), "X"), "t:a/5m:1") == b"\2" + bytes(30)
    assert server.client.hget(LAYOUT.key(("u",), "X"), "l:a") == rank(1, "x").encode()
    assert wide_tiles(server, "u") == wide_tiles(server, "v") == (wide_tile(1, 1),)


def test_a_hash_expires_with_its_newest_tile_or_value(server: RedisProcess) -> None:
    key = LAYOUT.key(("u",), "X")
    far_ms = -(-((FAR + 1) * HOP + 1) // 1000)
    write_wide(server, [("u", wide_tile(FAR, 1))], keep_us=1)
    assert server.client.pexpiretime(key) == far_ms
    write_wide(server, [("u", wide_tile(FAR - 2, 1))], keep_us=1)
    assert server.client.pexpiretime(key) == far_ms
    write_fields(server, [("u", far_ms + 5, rank(1, "x"), None)])
    write_wide(server, [("u", wide_tile(FAR, 2))], keep_us=1)
    assert server.client.pexpiretime(key) == far_ms + 5
    write_wide(server, [("u", wide_tile(FAR + 1, 1))], keep_us=1)
    assert server.client.pexpiretime(key) == -(-((FAR + 2) * HOP + 1) // 1000)
    write_wide(server, [("old", wide_tile(1, 1))], keep_us=1)
    assert not server.client.exists(LAYOUT.key(("old",), "X"))
    write_wide(server, [("kept", wide_tile(1, 1))])
    assert server.client.pexpiretime(LAYOUT.key(("kept",), "X")) == -1


def test_an_event_a_minute_ahead_leaves_the_window_as_it_is(server: RedisProcess) -> None:
    clicks = EventSource("clicks", event_time="ts", schema={"u": str})

    @feature_group(name="ahead", entity="u")
    class Ahead:
        @feature(freshness="realtime", window="1m")
        def n(e: clicks) -> int:  # type: ignore[valid-type]
            return e.count()  # type: ignore[attr-defined,no-any-return]

    plan = Ahead.plan  # type: ignore[attr-defined]
    layout = store_layout(plan)
    (tier,) = layout.ring
    now_us = FAR * HOP
    times = [now_us - 5_000_000 * i + 1_000_000 for i in range(12, 0, -1)] + [now_us + 58_000_000]
    for time_us in times:
        slot = encode_slot(tier, Tile(time_us // tier.hop_us, 1, time_us, (1,)))
        common = [layout.header(), layout.offset(tier.name), tier.slots, tier.slot_size, layout.total_size, tier.hop_us]
        script, key = (LUA / "ring.lua").read_text(), layout.key(("a",), "R")
        assert server.client.eval(script, 1, key, *common, 0, 0, slot) == [1, 0, 0]
    with OnlineStore(server.url) as store:
        (state,) = store.read([(layout, ("a",))])
    assert Finalizer(plan).values(state, now_us, {})["n"].value == 12


def mark(server: RedisProcess, run: str, subtask: int, subtasks: int, *times: int, key: str = "closed") -> list[int]:
    keys = [key] * len(times)
    result: list[int] = server.client.eval(
        (LUA / "mark.lua").read_text(), len(keys), *keys, "g@v1/a", run, subtask, subtasks, *times
    )
    return result


def closed(server: RedisProcess) -> tuple[int, ...]:
    return parse_closed(server.client.hget("closed", "g@v1/a") or b"-")


def test_a_tier_is_complete_up_to_the_earliest_of_its_subtasks(server: RedisProcess) -> None:
    last = 4_102_444_800_000_000
    for subtask, time_us, expected in [
        (0, 120, ()),
        (0, 180, ()),
        (1, 60, (60,)),
        (1, 240, (180,)),
        (0, 120, (180,)),
        (0, last, (240,)),
        (1, last, (last,)),
    ]:
        assert mark(server, "job/2", subtask, 2, time_us)[2] == 0
        assert closed(server) == expected
    assert mark(server, "job/2", 1, 2, last) == [0, 1, 0]
    assert server.client.hget("closed", "g@v1/a") == f"{last} job/2 {last} {last}".encode()


def test_what_another_run_said_counts_no_more_and_nothing_goes_back(server: RedisProcess) -> None:
    assert mark(server, "job/1", 0, 1, 300) == [1, 0, 0]
    assert mark(server, "next/2", 0, 2, 900) == [1, 0, 0]
    assert closed(server) == (300,)
    assert mark(server, "next/2", 1, 2, 240) == [1, 0, 0]
    assert closed(server) == (300,)
    assert mark(server, "next/2", 1, 2, 600) == [1, 0, 0]
    assert closed(server) == (600,)


def test_a_mark_leaves_a_key_of_another_type_alone(server: RedisProcess) -> None:
    server.client.set("other", "mine")
    assert mark(server, "job/1", 0, 1, 300, key="other") == [0, 0, 1]
    assert server.client.get("other") == b"mine"
