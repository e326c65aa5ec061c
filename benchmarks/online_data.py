"""Groups, and what a feature job would have stored for their entities, for the benchmark of online reads."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from featuredsl.online.codec import Tile, encode_ring
from featuredsl.online.layout import StoreLayout
from featuredsl.registry import Registry, apply
from localstack.process import free_ports
from localstack.redis_server import probe_redis, redis_binary

AT_US = 4_102_444_800_000_000
FEATURES = 10
_HEAD = """from featuredsl import EventSource, feature, feature_group

events = EventSource("events", event_time="ts",
                     schema={"user": int, "price": float, "n": int, "country": str, "code": int})
"""
_GROUP = """

@feature_group(name="gNUM", entity="user")
class GroupNUM:
    @feature(freshness="realtime", window="1h")
    def clicks(e: events) -> int:
        return e.filter(e.code != NUM).count()

    @feature(freshness="realtime", window="1h")
    def spend(e: events) -> float:
        return e.price.sum()

    @feature(freshness="realtime", window="1h")
    def mean(e: events) -> float:
        return e.price.mean()

    @feature(freshness="realtime", window="1h")
    def dearest(e: events) -> float:
        return e.price.max()

    @feature(freshness="realtime", window="1h")
    def cheapest(e: events) -> float:
        return e.price.min()

    @feature(freshness="realtime", window="1h")
    def units(e: events) -> int:
        return e.n.sum()

    @feature(freshness="realtime", window="1h")
    def most(e: events) -> int:
        return e.n.max()

    @feature(freshness="realtime", window="1h")
    def least(e: events) -> int:
        return e.n.min()

    @feature(freshness="realtime", window="1h")
    def home_clicks(e: events) -> int:
        return e.filter(e.country == "JP").count()

    @feature(freshness="realtime", window="1h")
    def home_spend(e: events) -> float:
        return e.filter(e.country == "JP").price.sum()
"""


def registry(folder: Path, groups: int) -> Registry:
    """So many applied groups of ten windows each."""
    folder.mkdir()
    file = folder / "definitions.py"
    file.write_text(_HEAD + "".join(_GROUP.replace("NUM", str(number)) for number in range(groups)), encoding="utf-8")
    apply(folder / "registry", file)
    return Registry.load(folder / "registry")


def fill(client: redis.Redis, layout: StoreLayout, entities: int) -> None:
    """Every tile of the last hour of every entity."""
    rng = random.Random(5)
    (tier,) = layout.ring
    last = AT_US // tier.hop_us - 1
    with client.pipeline(transaction=False) as pipeline:
        for user in range(entities):
            tiles = [
                Tile(i, 3, i * tier.hop_us + user, tuple(
                    rng.randint(1, 9) if column.dtype == "int" else rng.random() * 100 for column in tier.columns
                ))
                for i in range(last - tier.slots + 2, last + 1)
            ]  # fmt: skip
            pipeline.set(layout.key((user,), "R"), encode_ring(layout, {tier.name: tiles}))
        pipeline.execute()


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """The address of a Redis server of our own."""
    (port,) = free_ports(1)
    binary, env = redis_binary(Path("build/jars").absolute())
    command = [binary, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--save", ""]
    process = subprocess.Popen(command, env=dict(env), stdout=subprocess.DEVNULL)
    url = f"redis://127.0.0.1:{port}/0"
    try:
        for _ in range(100):
            if probe_redis(url) is None:
                break
            time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()
