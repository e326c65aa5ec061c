"""The online store on a real Redis: one round trip, guarded snapshots, connections dropped after trouble."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from threading import Barrier, Thread

import pytest

from featuredsl.errors import CodecError, DependencyError, StateError
from featuredsl.online.codec import Rank, Snapshot, Tile, encode_rank, encode_ring
from featuredsl.online.layout import BatchTier, Column, LookupField, RingTier, StoreLayout
from featuredsl.online.store import AsyncOnlineStore, BatchWrite, OnlineStore
from tests.support.redis_process import RedisProcess
from tests.support.wait import until

LAYOUT = StoreLayout(
    group="g",
    version="v1",
    entity=(Column("u", "str"), Column("i", "int")),
    ring=(RingTier("e/5m", 300_000_000, 4, (Column("n", "int"), Column("x", "float"))),),
    lookups=(LookupField("last", (Column("q", "int"), Column("s", "str"))),),
    batch=(BatchTier("1h", (Column("n", "int"), Column("s", "str"))), BatchTier("1d", (Column("b", "bool"),))),
    expire_after_us=0,
)
RING_ONLY = replace(LAYOUT, group="r", lookups=(), batch=())
HASH_ONLY = replace(LAYOUT, group="h", ring=())
KEY = ("a|b{é}", 7)
TILE = Tile(5, 2, 1_600_000_000, (2**53 + 1, None))
RANK = Rank(1_600_000_000, (3, "x\0y"))


@pytest.fixture
def store(server: RedisProcess) -> Iterator[OnlineStore]:
    with OnlineStore(server.url, timeout_s=0.3) as store:
        yield store


def fill(server: RedisProcess) -> None:
    for layout in (LAYOUT, RING_ONLY):
        server.client.set(layout.key(KEY, "R"), encode_ring(layout, {"e/5m": [TILE]}))
    for layout in (LAYOUT, HASH_ONLY):
        rank = encode_rank(RANK.event_time_us, layout.lookups[0].columns, RANK.values)
        server.client.hset(layout.key(KEY, "X"), "l:last", rank)


def calls(server: RedisProcess) -> int:
    return int(server.client.info("stats")["total_reads_processed"])


def test_any_number_of_groups_and_entities_is_one_round_trip(server: RedisProcess, store: OnlineStore) -> None:
    fill(server)
    wanted = [(layout, key) for layout in (LAYOUT, RING_ONLY, HASH_ONLY) for key in (KEY, ("absent", 0))]
    store.ping()
    before = calls(server)
    states = store.read(wanted)
    assert calls(server) - before == 2  # ours, and the question itself
    assert [state.exists for state in states] == [True, False] * 3
    assert states[0].ring == {"e/5m": (TILE,)}
    assert states[0].lookups == {"last": RANK}
    assert states[0].batch == {"1h": (), "1d": ()}
    assert states[1].ring == {"e/5m": ()}
    assert states[2].ring == {"e/5m": (TILE,)}
    assert states[4].lookups == {"last": RANK}
    assert store.read([]) == []


def test_the_asynchronous_store_reads_the_same(server: RedisProcess, store: OnlineStore) -> None:
    fill(server)
    store.set_current("g", "v1")

    async def read() -> None:
        other = AsyncOnlineStore(server.url)
        await other.ping()
        assert await other.read([(LAYOUT, KEY), (HASH_ONLY, KEY)]) == store.read([(LAYOUT, KEY), (HASH_ONLY, KEY)])
        assert await other.read([]) == []
        assert await other.current(["g", "h"]) == {"g": "v1"}
        await other.close()

    asyncio.run(read())


def test_the_pointer_to_the_current_version(store: OnlineStore) -> None:
    assert store.current(["g"]) == {}
    store.set_current("g", "v1")
    store.set_current("g", "v2")
    assert store.current(["g", "h"]) == {"g": "v2"}
    assert store.current([]) == {}


def test_marks_of_versions_that_no_reader_follows_are_forgotten(store: OnlineStore) -> None:
    layouts = {version: replace(LAYOUT, version=version) for version in ("v1", "v2", "v3")}
    other = replace(LAYOUT, group="g2", version="v1")
    for layout in (*layouts.values(), other):
        for tier in ("1h", "1d"):
            store.mark_batch(layout, tier, 20)
    store.set_current("g", "v1")
    store.set_current("g", "v2")
    assert {field for field in store.meta().marks if field.startswith("g@")} == {
        "g@v1/1h", "g@v1/1d", "g@v2/1h", "g@v2/1d",
    }  # fmt: skip
    store.mark_batch(layouts["v3"], "1h", 20)
    store.set_current("g", "v3")
    store.set_current("g", "v3")
    assert set(store.meta().marks) == {"g@v2/1h", "g@v2/1d", "g@v3/1h", "g2@v1/1h", "g2@v1/1d"}


def test_simultaneous_runs_lose_no_mark(server: RedisProcess, store: OnlineStore) -> None:
    rounds, together = range(2, 400, 2), Barrier(3)

    def run(offset: int) -> None:
        with OnlineStore(server.url) as own:
            for start in rounds:
                together.wait(10)
                own.mark_batch(LAYOUT, "1d", start + offset)
                together.wait(10)

    threads = [Thread(target=run, args=(offset,)) for offset in (0, 1)]
    for thread in threads:
        thread.start()
    found = []
    for _ in rounds:
        together.wait(10)
        together.wait(10)
        found.append(store.meta().marks["g@v1/1d"])
    for thread in threads:
        thread.join()
    assert [marks for marks in found if marks[0] != marks[1] + 1] == []


@pytest.mark.parametrize("order", list(permutations([10, 20, 30])))
def test_the_two_newest_marks_stay_in_any_order_and_any_repeats(store: OnlineStore, order: tuple[int, ...]) -> None:
    for as_of in (*order, *order):
        store.mark_batch(LAYOUT, "1h", 1_796_040_000_000_000 + as_of)
    assert store.meta().batch_marks("g", "v1") == {"1h": (1_796_040_000_000_030, 1_796_040_000_000_020)}


@pytest.mark.parametrize("order", list(permutations([10, 20, 30])))
def test_the_two_newest_snapshots_stay_in_any_order(store: OnlineStore, order: tuple[int, ...]) -> None:
    for as_of in order:
        store.write_batch(LAYOUT, "1h", as_of, [(KEY, (as_of, "é"))])
    found = store.read([(LAYOUT, KEY)])[0].batch["1h"]
    assert found == (Snapshot(30, (30, "é")), Snapshot(20, (20, "é")))


def test_snapshots_overwrite_refuse_and_skip(server: RedisProcess, store: OnlineStore) -> None:
    rows = [((f"u{i}", i), (i, None)) for i in range(450)]
    assert store.write_batch(LAYOUT, "1h", 20, rows) == BatchWrite(written=450)
    assert store.write_batch(LAYOUT, "1h", 30, rows[:1]) == BatchWrite(written=1)
    assert store.write_batch(LAYOUT, "1h", 20, [(rows[0][0], (5, "again"))]) == BatchWrite(written=1)
    assert store.write_batch(LAYOUT, "1h", 10, rows[:1]) == BatchWrite(older=1)
    assert store.write_batch(LAYOUT, "1d", 10, [(rows[0][0], (True,))]) == BatchWrite(written=1)
    state = store.read([(LAYOUT, rows[0][0])])[0]
    assert state.batch["1h"] == (Snapshot(30, (0, None)), Snapshot(20, (5, "again")))
    assert state.batch["1d"] == (Snapshot(10, (True,)),)
    assert store.read([(LAYOUT, rows[449][0])])[0].batch["1h"] == (Snapshot(20, (449, None)),)
    server.client.set(LAYOUT.key(("wrong", 1), "X"), "a string")
    server.client.hset(LAYOUT.key(("newer", 1), "X"), "b:1h", b"\2future")
    server.client.script_flush()
    mixed = [(("wrong", 1), (1, None)), (("newer", 1), (1, None)), (("fine", 1), (1, None))]
    assert store.write_batch(LAYOUT, "1h", 20, mixed) == BatchWrite(written=1, wrong=2)
    assert store.write_batch(LAYOUT, "1h", 20, []) == BatchWrite()


def test_expiry_is_absolute_and_only_moves_later(server: RedisProcess, store: OnlineStore) -> None:
    layout = replace(LAYOUT, expire_after_us=1_000)
    far = 4_000_000_000_000_000
    key = layout.key(KEY, "X")
    store.write_batch(layout, "1h", far + 1, [(KEY, (1, None))])
    assert server.client.pexpiretime(key) == 4_000_000_000_002
    store.write_batch(layout, "1h", far - 10_000_000, [(KEY, (1, None))])
    assert server.client.pexpiretime(key) == 4_000_000_000_002
    store.write_batch(LAYOUT, "1h", far, [(("for", 1), (1, None))])
    assert server.client.pexpiretime(LAYOUT.key(("for", 1), "X")) == -1


def test_foreign_bytes_are_errors_that_name_the_group(server: RedisProcess, store: OnlineStore) -> None:
    server.client.set(RING_ONLY.key(KEY, "R"), b"\1" + bytes(RING_ONLY.total_size - 1))
    with pytest.raises(CodecError, match=r"group 'r'.*another definition"):
        store.read([(RING_ONLY, KEY)])
    server.client.set(RING_ONLY.key(KEY, "R"), b"\7")
    with pytest.raises(StateError, match="format version 7"):
        store.read([(RING_ONLY, KEY)])
    server.client.set(HASH_ONLY.key(KEY, "X"), "a string")
    with pytest.raises(CodecError, match=r"h@v1:.*WRONGTYPE"):
        store.read([(HASH_ONLY, KEY)])
    server.client.flushall()
    fill(server)
    assert store.read([(LAYOUT, KEY)])[0].exists  # the connection is still good


def test_a_timeout_does_not_shift_later_replies(server: RedisProcess, store: OnlineStore) -> None:
    fill(server)
    absent = ("absent", 1)
    assert not store.read([(LAYOUT, absent)])[0].exists
    server.freeze()
    try:
        with pytest.raises(DependencyError, match="does not answer"):
            store.read([(LAYOUT, KEY)])
    finally:
        server.thaw()
    assert not store.read([(LAYOUT, absent)])[0].exists
    assert store.read([(LAYOUT, KEY)])[0].lookups == {"last": RANK}


def test_a_cancelled_read_does_not_shift_later_replies(server: RedisProcess) -> None:
    fill(server)

    async def scenario() -> None:
        store = AsyncOnlineStore(server.url, timeout_s=5.0)
        await store.ping()
        server.freeze()
        task = asyncio.create_task(store.read([(LAYOUT, KEY)]))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        server.thaw()
        assert not (await store.read([(LAYOUT, ("absent", 1))]))[0].exists
        await store.close()
        impatient = AsyncOnlineStore(server.url, timeout_s=0.1)
        await impatient.ping()
        server.freeze()
        try:
            with pytest.raises(DependencyError, match="does not answer"):
                await impatient.read([(LAYOUT, KEY)])
        finally:
            server.thaw()
        assert (await impatient.read([(LAYOUT, KEY)]))[0].exists
        await impatient.close()

    asyncio.run(scenario())


def test_no_server_names_the_address_without_the_password() -> None:
    with (
        OnlineStore("redis://user:secret@127.0.0.1:1/0", timeout_s=0.2) as store,
        pytest.raises(DependencyError) as error,
    ):
        store.read([(LAYOUT, KEY)])
    assert "127.0.0.1:1/0" in str(error.value)
    assert "secret" not in str(error.value)


def test_connections_survive_a_server_that_closed_them(server: RedisProcess, store: OnlineStore) -> None:
    fill(server)
    store.ping()
    server.client.client_kill_filter(_type="normal", skipme=True)
    assert until(lambda: store.read([(LAYOUT, KEY)])[0].exists, 5)
