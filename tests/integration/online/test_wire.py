"""No reply ever reaches another's request: threads with short deadlines, cancelled tasks, a server that stops."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from featuredsl.errors import DependencyError
from featuredsl.online.codec import Tile, encode_ring
from featuredsl.online.layout import Column, RingTier, StoreLayout
from featuredsl.online.store import AsyncOnlineStore, OnlineStore
from tests.support.redis_process import RedisProcess

LAYOUT = StoreLayout(
    "g", "v1", (Column("u", "int"),), (RingTier("e/5m", 300_000_000, 4, (Column("n", "int"),)),), (), (), 0
)
USERS = 200


def fill(server: RedisProcess) -> None:
    for user in range(USERS):
        ring = encode_ring(LAYOUT, {"e/5m": [Tile(5, 1, 1_600_000_000, (user,))]})
        server.client.set(LAYOUT.key((user,), "R"), ring)


def seen(states: list[object]) -> list[int]:
    return [state.ring["e/5m"][0].values[0] for state in states]  # type: ignore[attr-defined]


def test_threads_with_short_deadlines_get_their_own_replies(server: RedisProcess) -> None:
    fill(server)
    done = threading.Event()
    outcomes = {"right": 0, "late": 0}

    def freezing() -> None:
        while not done.is_set():
            server.freeze()
            time.sleep(0.003)
            server.thaw()
            time.sleep(0.01)

    with OnlineStore(server.url) as store, ThreadPoolExecutor(9) as pool:

        def reading(seed: int) -> tuple[int, int]:
            rng, right, late = random.Random(seed), 0, 0
            for _ in range(300):
                users = rng.sample(range(USERS), rng.randint(1, 5))
                deadline = rng.choice([0.0005, 0.001, 0.003, 1.0])
                try:
                    states = store.run(store.operations.read([(LAYOUT, (user,)) for user in users]), deadline)
                except DependencyError:
                    late += 1
                    continue
                assert seen(states) == users
                right += 1
            return right, late

        freezer = pool.submit(freezing)
        try:
            for right, late in pool.map(reading, range(8)):
                outcomes["right"] += right
                outcomes["late"] += late
        finally:
            done.set()
            freezer.result()
    assert outcomes["right"] + outcomes["late"] == 2_400
    assert min(outcomes.values()) > 20, outcomes


def test_cancelled_calls_leave_nothing_behind(server: RedisProcess) -> None:
    fill(server)
    rng = random.Random(1)

    async def scenario() -> tuple[int, int]:
        store = AsyncOnlineStore(server.url, timeout_s=5.0)
        cancelled = right = 0
        for _ in range(100):
            asked = [rng.sample(range(USERS), 3) for _ in range(4)]
            server.freeze()
            tasks = [asyncio.create_task(store.read([(LAYOUT, (user,)) for user in users])) for users in asked]
            await asyncio.sleep(rng.choice([0, 0, 0.0005, 0.002]))
            doomed = rng.sample(tasks, 2)
            for task in doomed:
                task.cancel()
            server.thaw()
            for users, task in zip(asked, tasks, strict=True):
                try:
                    states = await task
                except asyncio.CancelledError:
                    cancelled += 1
                    continue
                assert seen(states) == users
                right += 1
        await store.close()
        return cancelled, right

    assert asyncio.run(scenario()) == (200, 200)


def test_a_slow_trickle_does_not_stretch_the_deadline() -> None:
    """A server that sends a byte now and then: the deadline is of the whole call, not of each wait."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def trickle() -> None:
        connection, _ = listener.accept()
        with connection:
            while not stop.is_set():
                try:
                    connection.sendall(b"+")
                except OSError:
                    return
                time.sleep(0.05)

    thread = threading.Thread(target=trickle)
    thread.start()
    begun = time.monotonic()
    try:
        with (
            OnlineStore(f"redis://127.0.0.1:{listener.getsockname()[1]}", timeout_s=0.4) as store,
            pytest.raises(DependencyError, match=r"timed out|within the deadline"),
        ):
            store.ping()
        assert 0.35 < time.monotonic() - begun < 2.0
    finally:
        stop.set()
        thread.join()
        listener.close()


def test_a_forked_process_does_not_use_the_connections_of_its_parent(server: RedisProcess) -> None:
    fill(server)
    with OnlineStore(server.url) as store:
        assert seen(store.read([(LAYOUT, (1,))])) == [1]
        child = os.fork()
        if child == 0:
            right = all(seen(store.read([(LAYOUT, (2,))])) == [2] for _ in range(200))
            os._exit(0 if right else 1)
        right = all(seen(store.read([(LAYOUT, (3,))])) == [3] for _ in range(200))
        _, status = os.waitpid(child, 0)
        assert right
        assert status == 0
