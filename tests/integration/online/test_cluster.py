"""The online store on a real Redis Cluster: one leg for each node, slots that move, a master that dies."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis.crc

from featuredsl.errors import DependencyError, InputError
from featuredsl.online.cluster import key_slot
from featuredsl.online.codec import Snapshot, Tile, encode_ring
from featuredsl.online.layout import BatchTier, Column, RingTier, StoreLayout
from featuredsl.online.meta import StoreMeta
from featuredsl.online.store import AsyncOnlineStore, BatchWrite, OnlineStore
from jobs.flink.admission import check_eviction
from tests.integration.online.test_session_script import FAR, record, write
from tests.integration.online.test_sink_scripts import FAR as TILE
from tests.integration.online.test_sink_scripts import tile, write_tiles
from tests.support.redis_cluster import MASTERS, RedisCluster, redis_cluster

LAYOUT = StoreLayout(
    "g",
    "v1",
    (Column("u", "int"),),
    (RingTier("e/5m", 300_000_000, 4, (Column("n", "int"),)),),
    (),
    (BatchTier("1h", (Column("n", "int"),)),),
    0,
)
USERS = 300


@pytest.fixture(scope="module")
def cluster_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    with redis_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def cluster(cluster_of_module: RedisCluster) -> RedisCluster:
    cluster_of_module.flush()
    return cluster_of_module


def fill(cluster: RedisCluster) -> None:
    for user in range(USERS):
        key = LAYOUT.key((user,), "R")
        cluster.client(key).set(key, encode_ring(LAYOUT, {"e/5m": [Tile(5, 1, 1_600_000_000, (user,))]}))


def seen(states: list[object]) -> list[int]:
    return [state.ring["e/5m"][0].values[0] for state in states]  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", range(MASTERS))
def test_the_eviction_policy_of_every_node_is_looked_at(cluster: RedisCluster, number: int) -> None:
    node = cluster.nodes[number].client
    with OnlineStore(cluster.url) as store:
        check_eviction(store, cluster.url)
        assert len(store.everywhere("PING")) == MASTERS
        node.config_set("maxmemory-policy", "allkeys-lru")
        try:
            with pytest.raises(InputError, match="maxmemory-policy allkeys-lru"):
                check_eviction(store, cluster.url)
        finally:
            node.config_set("maxmemory-policy", "noeviction")


def test_slots_of_keys() -> None:
    rng = random.Random(2)
    keys = ["g@v:{a|b}:R", "{}x", "x{y", "{a}{b}", "", "é{ü}", "a}b{c}"]
    keys += ["".join(rng.choices("ab{}:é", k=8)) for _ in range(300)]
    assert [key_slot(key) for key in keys] == [redis.crc.key_slot(key.encode()) for key in keys]


def test_reads_and_writes_are_one_leg_for_each_node(cluster: RedisCluster) -> None:
    fill(cluster)
    users = list(range(USERS))
    with OnlineStore(cluster.url) as store:
        store.ping()
        store.read([(LAYOUT, (user,)) for user in users])
        before = [node.client.info("stats")["total_reads_processed"] for node in cluster.nodes[:MASTERS]]
        assert seen(store.read([(LAYOUT, (user,)) for user in users])) == users
        after = [node.client.info("stats")["total_reads_processed"] for node in cluster.nodes[:MASTERS]]
        # a leg of a hundred commands may be taken by the server in a few pieces; a command at a time would be a hundred
        assert all(1 < b - a < 12 for a, b in zip(before, after, strict=True)), (before, after)
        rows = [((user,), (user * 2,)) for user in users]
        assert store.write_batch(LAYOUT, "1h", 20, rows) == BatchWrite(written=USERS)
        assert store.write_batch(LAYOUT, "1h", 30, rows[:7]) == BatchWrite(written=7)
        assert store.write_batch(LAYOUT, "1h", 10, rows) == BatchWrite(written=USERS - 7, older=7)
        found = store.read([(LAYOUT, (user,)) for user in users])
        assert [state.batch["1h"][-1] for state in found[7:]] == [Snapshot(10, (user * 2,)) for user in users[7:]]
        store.set_current("g", "v1")
        store.mark_batch(LAYOUT, "1h", 20)
        assert store.meta() == StoreMeta({"g": "v1"}, {"g@v1/1h": (20,)})
        assert store.current(["g", "h"]) == {"g": "v1"}


def test_the_asynchronous_store_reads_the_same(cluster: RedisCluster) -> None:
    fill(cluster)

    async def scenario() -> None:
        store = AsyncOnlineStore(cluster.url, timeout_s=30.0)
        users = list(range(USERS))
        many = (store.read([(LAYOUT, (user,)) for user in users[i:]]) for i in range(20))
        assert [seen(states) for states in await asyncio.gather(*many)] == [users[i:] for i in range(20)]
        assert await store.meta() == StoreMeta({}, {})
        await store.close()

    asyncio.run(scenario())


def test_reads_and_writes_go_on_while_a_slot_moves(cluster: RedisCluster) -> None:
    fill(cluster)
    moving = 7
    key = LAYOUT.key((moving,), "R")
    slot, source = key_slot(key), cluster.owner(key)
    target = (source + 1) % MASTERS
    users = list(range(USERS))
    done = threading.Event()

    def reading(store: OnlineStore) -> int:
        count = 0
        while not done.is_set() or count < 10:
            assert seen(store.read([(LAYOUT, (user,)) for user in users])) == users
            count += 1
        return count

    first, second = (OnlineStore(cluster.url, timeout_s=20.0) for _ in range(2))
    with first as store, second as other, ThreadPoolExecutor(2) as pool:
        store.ping()
        runs = [pool.submit(reading, one) for one in (store, other)]
        try:
            cluster.start_moving(slot, source, target)
            assert store.write_batch(LAYOUT, "1h", 10, [((moving,), (1,))]).written == 1
            assert cluster.move_keys(slot, source, target) >= 1
            assert other.write_batch(LAYOUT, "1h", 20, [((user,), (2,)) for user in users]).written == USERS
            cluster.finish_moving(slot, target)
            assert store.read([(LAYOUT, (moving,))])[0].batch["1h"] == (Snapshot(20, (2,)), Snapshot(10, (1,)))
        finally:
            done.set()
        assert all(run.result() >= 10 for run in runs)
        cluster.start_moving(slot, target, source)
        cluster.move_keys(slot, target, source)
        cluster.finish_moving(slot, source)
        assert seen(store.read([(LAYOUT, (user,)) for user in users])) == users


def test_tiles_and_sessions_are_written_while_the_other_key_has_moved_on(cluster: RedisCluster) -> None:
    """Each script looks at the other key of the entity, too."""
    ring, of_sessions = "g@v1:{u}:R", "g@v1:{u}:X"
    slot, source = key_slot(ring), cluster.owner(ring)
    node, target = cluster.nodes[source], (source + 1) % MASTERS
    session = record(FAR, FAR, 1)
    assert write(node, [("u", session)], keep_us=1) == [1, 0, 0]
    try:
        cluster.start_moving(slot, source, target)
        assert write(node, [("u", session)], keep_us=1) == [1, 0, 0]
        stay(cluster, slot)
        assert write_tiles(node, "a", [("u", tile(TILE, 1))], keep_us=1, with_hash=1) == [1, 0, 0]
        assert node.client.pexpiretime(of_sessions) == node.client.pexpiretime(ring)
        node.client.delete(of_sessions)
        cluster.start_moving(slot, source, target)
        assert write_tiles(node, "a", [("u", tile(TILE + 1, 1))], keep_us=1, with_hash=1) == [1, 0, 0]
    finally:
        stay(cluster, slot)


def stay(cluster: RedisCluster, slot: int) -> None:
    for node in cluster.nodes[:MASTERS]:
        node.client.execute_command("CLUSTER SETSLOT", slot, "STABLE")


def test_a_script_that_a_node_forgot_is_sent_again(cluster: RedisCluster) -> None:
    with OnlineStore(cluster.url) as store:
        rows = [((user,), (1,)) for user in range(50)]
        store.write_batch(LAYOUT, "1h", 10, rows)
        cluster.nodes[1].client.script_flush()
        assert store.write_batch(LAYOUT, "1h", 20, rows) == BatchWrite(written=50)


def test_a_node_that_hangs_ends_at_the_deadline(cluster: RedisCluster) -> None:
    fill(cluster)
    with OnlineStore(cluster.url, timeout_s=0.3) as store:
        store.read([(LAYOUT, (user,)) for user in range(USERS)])
        cluster.nodes[2].freeze()
        try:
            with pytest.raises(DependencyError, match="does not answer"):
                store.read([(LAYOUT, (user,)) for user in range(USERS)])
        finally:
            cluster.nodes[2].thaw()
        assert seen(store.read([(LAYOUT, (user,)) for user in range(USERS)])) == list(range(USERS))


def test_a_replica_takes_over(tmp_path_factory: pytest.TempPathFactory) -> None:
    with redis_cluster(tmp_path_factory.mktemp("failover")) as cluster:
        fill(cluster)
        assert int(cluster.nodes[0].client.execute_command("WAIT", 1, 5000)) == 1
        users = list(range(USERS))
        with OnlineStore(cluster.url, timeout_s=10.0) as store:
            assert seen(store.read([(LAYOUT, (user,)) for user in users])) == users
            cluster.promote()
            assert seen(store.read([(LAYOUT, (user,)) for user in users])) == users
            assert store.write_batch(LAYOUT, "1h", 10, [((u,), (u,)) for u in users]) == BatchWrite(written=USERS)


def test_no_cluster_at_all() -> None:
    with (
        OnlineStore("redis+cluster://u:secret@127.0.0.1:1,127.0.0.1:2", timeout_s=0.3) as store,
        pytest.raises(DependencyError, match="does not answer") as caught,
    ):
        store.ping()
    assert "secret" not in str(caught.value)
