"""Online reads of 1, 10, 100 entities of five groups of ten windows, against a raw MGET of the same bytes and Feast.

Sides take turns, read for read, on one Redis; CPU is that of the client, which other work on the machine disturbs less.
The reader's memory for hot keys is off unless said. Feast has its own environment and process, and its own copies of as
many values in the same Redis.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from benchmarks.online_data import AT_US, FEATURES, fill, registry, server
from benchmarks.peers import peer_python
from benchmarks.rows import row
from featuredsl.online.store import OnlineStore
from featuredsl.reader import FeatureReader, Key, ReadOptions
from featuredsl.registry import Registry

PEERS = {"feast": "0.67.0"}
FEAST = f"feast[redis]=={PEERS['feast']}"
GROUPS = 5
ENTITIES = 1_000
SIZES = (1, 10, 100)
READS = {"quick": {1: 1_000, 10: 300, 100: 60}, "full": {1: 10_000, 10: 3_000, 100: 600}}
EQUAL_READS = 10_000
COLD = ReadOptions(cache_ttl_s=0.0)
Times = list[float]


@dataclass
class Side:
    """What the reads of one side took: seconds of each, CPU seconds of all."""

    times: Times = field(default_factory=list)
    cpu: float = 0.0

    def cpu_ms(self) -> float:
        """CPU milliseconds of a read."""
        return self.cpu / len(self.times) * 1e3


def run(mode: str) -> list[dict[str, Any]]:
    """Rows of the report."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="featuredsl-bench-") as name, server(Path(name)) as url:
        folder = Path(name)
        five, hundred = registry(folder / "five", GROUPS), registry(folder / "hundred", 100)
        client = redis.Redis.from_url(url)
        empty = int(client.info("memory")["used_memory"])
        for group in five.groups:
            fill(client, five.layout(group), ENTITIES)
        memory = (int(client.info("memory")["used_memory"]) - empty) / ENTITIES / GROUPS
        with OnlineStore(url) as store:
            feast = _feast(url, mode)
            rows += _sizes(store, client, five, mode, feast)
            rows += _registered(folder, url, store, five, hundred, mode)
            rows += _equal_reads(store, five)
            rows.append(row("Redis memory of an entity and group of 10 windows of 1h", "bytes", memory))
            rows.append(row("memory of a state that a reader keeps", "bytes", _kept(store, five)))
        client.close()
    return rows


def _keys(found: Registry, users: Sequence[int]) -> list[Key]:
    return [(group, (user,)) for user in users for group in found.groups]


def _turns(sides: Sequence[Callable[[list[int]], object]], size: int, reads: int) -> list[Side]:
    """What the reads of each side took; all sides read the same entities in turn."""
    rng = random.Random(size)
    spent = [Side() for _ in sides]
    for number in range(reads + 20):
        users = rng.sample(range(ENTITIES), size)
        for i in range(len(sides)):
            at = (i + number) % len(sides)
            begun, cpu = time.perf_counter(), time.process_time()
            sides[at](users)
            if number >= 20:
                spent[at].cpu += time.process_time() - cpu
                spent[at].times.append(time.perf_counter() - begun)
    return spent


def _p(side: Side, share: float) -> float:
    times = side.times
    return sorted(times)[min(int(len(times) * share), len(times) - 1)] * 1e3


def _sizes(
    store: OnlineStore, client: redis.Redis, found: Registry, mode: str, feast: dict[str, Any] | None
) -> list[dict[str, Any]]:
    handle = FeatureReader(store, found, COLD).prepare(*found.groups)
    layouts = [found.layout(group) for group in found.groups]
    rows = []
    for size in SIZES:

        def ours(users: list[int]) -> object:
            return handle.get(_keys(found, users), AT_US)

        def seen(users: list[int]) -> object:
            return [value.value for row in handle.get(_keys(found, users), AT_US) for value in row.values()]

        def raw(users: list[int]) -> object:
            return client.mget([layout.key((user,), "R") for user in users for layout in layouts])

        mine, looked, bare = _turns([ours, seen, raw], size, READS[mode][size])
        name = f"read of {size} entities x {GROUPS} groups x {FEATURES} features"
        p50, bare50 = _p(mine, 0.5), _p(bare, 0.5)
        looked50 = _p(looked, 0.5)
        unseen = ("<= 1.5x", p50 <= 1.5 * bare50) if size == 100 else None
        seen_too = ("+ <= 0.2 ms", looked50 - bare50 <= 0.2) if size == 1 else None
        rows.append(row(f"{name}, p50", "ms", p50, ("raw MGET of the same bytes, redis-py", bare50), unseen))
        rows.append(row(f"{name}, p99", "ms", _p(mine, 0.99), ("raw MGET", _p(bare, 0.99))))
        rows.append(row(f"{name}", "ms of CPU", mine.cpu_ms(), ("raw MGET", bare.cpu_ms())))
        rows.append(row(f"{name}, every value looked at, p50", "ms", looked50, ("raw MGET", bare50), seen_too))
        rows.append(row(f"{name}, every value looked at", "ms of CPU", looked.cpu_ms(), ("raw MGET", bare.cpu_ms())))
        if feast is not None:
            rows += _against_feast(f"{name}, every value looked at", looked, feast[str(size)])
    return rows


def _against_feast(name: str, looked: Side, theirs: dict[str, float]) -> list[dict[str, Any]]:
    """Feast's answer holds every value, so ours counts once every value is looked at."""
    p50, p99, cpu = _p(looked, 0.5), _p(looked, 0.99), looked.cpu_ms()
    speed = theirs["p50"] / p50
    target, whose = ("speed >= 5", speed >= 5), f"Feast {PEERS['feast']}"
    return [
        row(f"{name}, p50", "ms", p50, (whose, theirs["p50"]), target, ratio=speed),
        row(f"{name}, p99", "ms", p99, (whose, theirs["p99"]), ratio=theirs["p99"] / p99),
        row(name, "ms of CPU", cpu, (whose, theirs["cpu"]), ratio=theirs["cpu"] / cpu),
    ]


def _registered(
    folder: Path, url: str, store: OnlineStore, five: Registry, hundred: Registry, mode: str
) -> list[dict[str, Any]]:
    """A read of one group where it is the only one, and among a hundred that all have a version in use."""
    one = registry(folder / "one", 1)
    stores = []
    for name, found in (("one.", one), ("hundred.", hundred)):
        own = OnlineStore(url, namespace=name)
        for group in found.groups:
            own.set_current(group, five.store_versions["g0"] if group == "g0" else found.store_versions[group])
            own.mark_batch(found.layout(group), "1h", AT_US)
        stores.append(own)
    handles = [FeatureReader(own, found, COLD).prepare("g0") for own, found in zip(stores, (one, hundred), strict=True)]
    sides = [lambda users, handle=handle: handle.get([("g0", (users[0],))], AT_US) for handle in handles]
    alone, among = _turns(sides, 1, READS[mode][1] * 2)
    for own in stores:
        own.close()
    growth = _p(among, 0.5) / _p(alone, 0.5)
    return [
        row(
            "read of one group with 100 registered, p50", "ms", _p(among, 0.5), ("with 1 registered", _p(alone, 0.5)),
            ("<= 1.1x", growth <= 1.1),
        ),
        row(
            "read of one group with 100 registered, p99", "ms", _p(among, 0.99), ("with 1 registered", _p(alone, 0.99)),
        ),
    ]  # fmt: skip


def _equal_reads(store: OnlineStore, found: Registry) -> list[dict[str, Any]]:
    """The same read again and again, by a reader with its memory for hot keys and by one without."""
    rows = []
    for name, options in (("hot keys off", COLD), ("hot keys on", ReadOptions())):
        handle = FeatureReader(store, found, options).prepare(*found.groups)
        keys, times = _keys(found, [1]), []
        for _ in range(EQUAL_READS):
            begun = time.perf_counter()
            handle.get(keys, AT_US)
            times.append(time.perf_counter() - begun)
        last, first = statistics.median(times[-1_000:]), statistics.median(times[:1_000])
        metric = f"equal reads, the last 1,000 of {EQUAL_READS:,}, {name}, p50"
        rows.append(row(metric, "ms", last * 1e3, ("the first 1,000", first * 1e3), ("<= 1.2x", last <= 1.2 * first)))
    return rows


def _kept(store: OnlineStore, found: Registry) -> float:
    reader = FeatureReader(store, found, ReadOptions())
    reader.get(_keys(found, [0]), AT_US)
    tracemalloc.start()
    for user in range(1, ENTITIES):
        reader.get(_keys(found, [user]), AT_US)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / (ENTITIES - 1) / GROUPS


def _feast(url: str, mode: str) -> dict[str, Any] | None:
    python = peer_python("feast-redis", FEAST)
    if python is None:
        return None
    address = url.removeprefix("redis://").removesuffix("/0")
    plan = json.dumps({"address": address, "groups": GROUPS, "features": FEATURES, "entities": ENTITIES,
                       "reads": {size: reads // 4 for size, reads in READS[mode].items()}})  # fmt: skip
    done = subprocess.run(
        [str(python.absolute()), str(Path("benchmarks/online_feast.py").absolute()), plan],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"Feast: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
