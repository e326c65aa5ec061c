"""Events a second through the generated feature job to Redis, against black holes, Bytewax and Quix Streams.

All Flink sides read the same topic on the same session cluster, in turn, each from an empty Redis; the first half of
the events is not measured, nor is anything of the first job, in which the JVM is young. A side ends with a checkpoint:
what it has read is written. Peers do the same count and sum by user and tile over the first events of the topic, in two
processes each; what they wrote is checked. CPU is that of the TaskManager or of the peer's processes; that of Redis,
the broker and the JobManager is apart.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import redis

from benchmarks.limited import DidNotFinish
from benchmarks.rows import row
from benchmarks.stream_data import GROUP, SPAN_MS, TILE_MS, TOPIC, Events, definitions, produce
from benchmarks.stream_flink import VOLUME, Spent, blackhole, generated, plain, without_progress
from benchmarks.stream_flink import measure as measure_job
from benchmarks.stream_peers import VERSIONS, Work, differences, interpreter, written
from benchmarks.stream_peers import measure as measure_peer
from benchmarks.stream_stack import load_note, stack
from featuredsl.online.store import OnlineStore
from featuredsl.reader import FeatureReader
from featuredsl.registry import Registry, apply
from featuredsl.settings import Settings

PEERS = VERSIONS
ENTITIES = 20_000
EVENTS = {"quick": 1_000_000, "full": 4_000_000}
TAKEN = {"quick": 150_000, "full": 600_000}
TURNS = {"quick": 2, "full": 3}
BUDGET_S = {"quick": 210.0, "full": 1_800.0}
"""No further job is started after so long, but the first of ours and of the black hole."""
NEEDED = ("ours", "blackhole")
CHECKED = 500
PEER_METRIC = "count and sum by user and tile, Kafka to Redis"
CLOSED = "closed"
JOBS = {
    "ours": generated,
    "blackhole": blackhole,
    "plain": plain,
    "uncounted": without_progress,
    "volume": partial(generated, tuning=VOLUME),
    "volume hole": partial(blackhole, tuning=VOLUME),
}
Side = Callable[[], Spent]


def run(mode: str) -> list[dict[str, Any]]:
    """Rows of the report. Raises RuntimeError when a side does not give the right values."""
    start_ms = int(time.time() * 1000) // TILE_MS * TILE_MS - SPAN_MS
    events = Events(EVENTS[mode], ENTITIES, start_ms, EVENTS[mode])
    until = time.monotonic() + BUDGET_S[mode]
    rows: list[dict[str, Any]] = []
    with stack("kafka", "redis", "flink") as settings, redis.Redis.from_url(settings.redis) as client:
        _apply(settings)
        produce(settings.kafka, TOPIC, events)
        empty = int(client.info("memory")["used_memory"])
        job = partial(measure_job, settings, client)
        job(generated, GROUP, events.count)
        _check(settings, events)
        memory = (int(client.info("memory")["used_memory"]) - empty) / ENTITIES
        sides: dict[str, Side] = {name: partial(job, start, GROUP, events.count) for name, start in JOBS.items()}
        sides["closed"] = partial(job, generated, CLOSED, events.count)
        spent = in_turn(sides, TURNS[mode], until)
        rows += [*against_jobs(spent), row("Redis memory of an entity", "bytes", memory)]
        rows += _peers(settings, client, mode, events, spent["ours"])
    return rows


def _apply(settings: Settings) -> None:
    folder = settings.home / "definitions"
    folder.mkdir()
    for name, tier in ((GROUP, "realtime"), (CLOSED, "5m")):
        apply(settings.registry, definitions(folder, name, tier))


def in_turn(sides: Mapping[str, Side], turns: int, until: float) -> dict[str, Spent]:
    """All sides one after the other, then again the needed ones alone, until that monotonic time; medians."""
    found: dict[str, list[Spent]] = {name: [] for name in sides}
    for turn in range(turns):
        names = list(sides if turn == 0 else NEEDED)
        for name in names[:: -1 if turn % 2 else 1]:
            if time.monotonic() > until and (found[name] or name not in NEEDED):
                continue
            one = sides[name]()
            found[name].append(one)
            print(f"{name}: {one.rate:,.0f} events/s, {one.cpu_per_million:.1f} s of CPU per million, {load_note()}")
    return {name: median_of(many) for name, many in found.items() if many}


def median_of(many: Sequence[Spent]) -> Spent:
    """Medians of each figure."""

    def middle(values: Sequence[float]) -> float:
        return statistics.median(values)

    return Spent(
        events=many[0].events,
        wall=middle([one.wall / one.events for one in many]) * many[0].events,
        cpu=middle([one.cpu / one.events for one in many]) * many[0].events,
        redis_cpu=middle([one.redis_cpu / one.events for one in many]) * many[0].events,
        state_bytes=int(middle([one.state_bytes for one in many])),
    )


def against_jobs(spent: Mapping[str, Spent]) -> list[dict[str, Any]]:
    """The generated job against the other programs: throughput, where more is better, and CPU."""
    ours, hole = spent["ours"], spent["blackhole"]
    speed = ours.rate / hole.rate
    rows = [
        row("generated job to Redis", "events/s", ours.rate, ("same SQL, black hole", hole.rate),
            (">= 0.95", speed >= 0.95)),
    ]  # fmt: skip
    for name, what in (
        ("blackhole", "same SQL, black hole"),
        ("plain", "hand-written, Flink's JSON, black hole"),
        ("uncounted", "without the counts by outcome"),
        ("closed", "tier 5m"),
    ):
        other = spent.get(name)
        if other is None:
            continue
        if name != "blackhole":
            rows.append(row("generated job to Redis", "events/s", ours.rate, (what, other.rate)))
        cpu = (what, other.cpu_per_million)
        rows.append(row("generated job to Redis", "s of CPU per million", ours.cpu_per_million, cpu))
    if "volume" in spent and "volume hole" in spent:
        rows += _volume(spent["volume"], spent["volume hole"])
    redis_cpu = ours.redis_cpu / ours.events * 1e6
    rows.append(row("Redis under the generated job", "s of CPU per million", redis_cpu))
    rows.append(row("state of the generated job, per entity", "bytes", ours.state_bytes / ENTITIES))
    return rows


def _volume(ours: Spent, hole: Spent) -> list[dict[str, Any]]:
    metric, what = f"generated job to Redis, --mini-batch {VOLUME.mini_batch_ms}", "same SQL and option, black hole"
    speed = ours.rate / hole.rate
    return [
        row(metric, "events/s", ours.rate, (what, hole.rate), (">= 0.95", speed >= 0.95)),
        row(metric, "s of CPU per million", ours.cpu_per_million, (what, hole.cpu_per_million)),
        row(f"Redis under it, --mini-batch {VOLUME.mini_batch_ms}", "s of CPU per million",
            ours.redis_cpu / ours.events * 1e6),
    ]  # fmt: skip


def _peers(settings: Settings, client: redis.Redis, mode: str, events: Events, ours: Spent) -> list[dict[str, Any]]:
    first = Events(events.count, ENTITIES, events.start_ms, TAKEN[mode])
    work = Work(f"{TOPIC}-first", first.taken, settings.kafka, settings.redis)
    rows: list[dict[str, Any]] = []
    pythons = {name: interpreter(name) for name in VERSIONS}
    if any(pythons.values()):
        produce(settings.kafka, work.topic, first)
    for name, python in pythons.items():
        if python is not None:
            try:
                theirs = measure_peer(name, python, work, client)
            except DidNotFinish as error:
                rows.append(row(PEER_METRIC, "events/s", ours.rate, (f"{name} {VERSIONS[name]}: {error}", None)))
                continue
            if wrong := differences(first.expected(), written(client)):
                raise RuntimeError(f"{name} wrote {len(wrong)} wrong tiles: {wrong[:3]}")
            rows += against_peer(f"{name} {VERSIONS[name]}", ours, theirs)
    return rows


def against_peer(name: str, ours: Spent, theirs: Spent) -> list[dict[str, Any]]:
    """Throughput and CPU against a peer; ratios above one are for us."""
    speed = ours.rate / theirs.rate
    cpu = theirs.cpu_per_million / ours.cpu_per_million
    return [
        row(PEER_METRIC, "events/s", ours.rate, (name, theirs.rate), (">= 5", speed >= 5)),
        row(PEER_METRIC, "s of CPU per million", ours.cpu_per_million, (name, theirs.cpu_per_million), ratio=cpu),
    ]


def _check(settings: Settings, events: Events) -> None:
    """Reads at the end of the hour give the counts and sums of the events."""
    registry = Registry.load(settings.registry)
    right: dict[str, tuple[int, float]] = {}
    for (user, _), (count, total) in events.expected().items():
        before = right.get(user, (0, 0.0))
        right[user] = (before[0] + count, before[1] + total)
    users = sorted(right)[:: len(right) // CHECKED]
    with OnlineStore(settings.redis) as store:
        store.set_current(GROUP, registry.store_versions[GROUP])
        found = FeatureReader(store, registry).get([(GROUP, (u,)) for u in users], (events.start_ms + SPAN_MS) * 1000)
    for user, values in zip(users, found, strict=True):
        count, total = right[user]
        if values["n"].value != count or abs(values["total"].value - total) > 1e-9 * total:
            raise RuntimeError(f"{user} has {values}, not {right[user]}")
