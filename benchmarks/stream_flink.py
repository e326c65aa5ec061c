"""Flink's sides of the stream benchmark: the generated job, and programs against which it is measured."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import redis

from benchmarks.stream_data import GROUP, TILE_MS, TOPIC
from benchmarks.stream_stack import redis_cpu, service_cpu
from featuredsl.compilers.flink import GroupTarget, StreamConfig
from featuredsl.compilers.flink import statements as compile_statements
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.tiles import longest_reach_us, store_layout
from jobs.flink.handle import JobHandle
from jobs.flink.rest import call
from jobs.flink.starting import MODULE
from jobs.flink.submit import submit
from jobs.flink.tuning import Tuning

SQL_MODULE = "jobs.flink.sql_job"
TUNING = Tuning(parallelism=2)
VOLUME = Tuning(parallelism=2, mini_batch_ms=5_000)
"""Fewer writes for freshness, as for a backlog."""
WARM_SHARE = 0.5
"""The first events of a side are not measured: the code of each job is compiled anew, for some ten seconds."""
POLL_S = 0.2
LIMIT_S = 180.0
_WITH = re.compile(r"\) WITH \(\n  'connector' = 'featuredsl-redis'.*?\n\)$", re.DOTALL)
HAND = """INSERT INTO `hole`
SELECT `user_id`, FLOOR(`ts` / {tile}), COUNT(*), SUM(`amount`) FROM `payments`
GROUP BY `user_id`, FLOOR(`ts` / {tile})"""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a side took for so many events, from the first measured one until all is written. CPU is that of the side
    and of Redis."""

    events: int
    wall: float
    cpu: float
    redis_cpu: float
    state_bytes: int = 0

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.wall

    @property
    def cpu_per_million(self) -> float:
        """CPU seconds per million events, Redis apart."""
        return self.cpu / self.events * 1e6


def generated(settings: Settings, group: str, tuning: Tuning = TUNING) -> JobHandle:
    """The feature job of a group, as `featuredsl run stream` submits it."""
    return submit(MODULE, _config(settings, group, group, tuning), settings)


def blackhole(settings: Settings, group: str, tuning: Tuning = TUNING) -> JobHandle:
    """The same statements, but what goes to Redis goes nowhere."""
    statements = [to_blackhole(text) for text in _statements(settings, group, "blackhole")]
    return _by_hand(settings, "blackhole", statements, tuning)


def without_progress(settings: Settings, group: str) -> JobHandle:
    """The generated statements but those that count events by outcome."""
    return _by_hand(settings, "uncounted", without_progress_of(_statements(settings, group, "uncounted")))


def plain(settings: Settings, group: str) -> JobHandle:
    """What one would write without us: Flink's own JSON format, one aggregation, into a black hole."""
    source = (
        "CREATE TABLE `payments` (`user_id` STRING, `amount` DOUBLE, `ts` BIGINT) WITH ('connector' = 'kafka', "
        f"'topic' = '{TOPIC}', 'properties.bootstrap.servers' = '{settings.kafka}', "
        "'properties.group.id' = 'plain', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json')"
    )
    hole = (
        "CREATE TABLE `hole` (`k` STRING, `tile` BIGINT, `n` BIGINT, `total` DOUBLE, "
        "PRIMARY KEY (`k`, `tile`) NOT ENFORCED) WITH ('connector' = 'blackhole')"
    )
    return _by_hand(settings, "plain", [source, hole, HAND.format(tile=TILE_MS)])


def to_blackhole(statement: str) -> str:
    """A table of the Redis sink as a black hole; any other statement as it is."""
    return _WITH.sub(") WITH (\n  'connector' = 'blackhole'\n)", statement)


def without_progress_of(statements: Sequence[str]) -> list[str]:
    """The statements but the tables and inserts of the counts."""
    heads = ("CREATE TABLE `payments__progress`", "INSERT INTO `payments__progress`")
    return [text for text in statements if not text.startswith(heads)]


def _statements(settings: Settings, group: str, name: str) -> list[str]:
    registry = Registry.load(settings.registry)
    version = registry.store_versions[group]
    target = GroupTarget(registry.groups[group], store_layout(registry.groups[group], version))
    return compile_statements([target], StreamConfig(settings.kafka, settings.redis, "", name))


def _by_hand(settings: Settings, name: str, statements: list[str], tuning: Tuning = TUNING) -> JobHandle:
    return submit(SQL_MODULE, _config(settings, GROUP, name, tuning) | {"statements": statements}, settings)


def _config(settings: Settings, group: str, name: str, tuning: Tuning) -> dict[str, Any]:
    registry = Registry.load(settings.registry)
    return {
        "name": name,
        "kafka": settings.kafka,
        "redis": settings.redis,
        "prefix": "",
        "group_id": name,
        "topics": [TOPIC],
        "registry": str(settings.registry),
        "versions": {group: registry.store_versions[group]},
        "state_ttl_ms": 2 * longest_reach_us(registry.groups[group]) // 1000,
        **tuning.config(),
    }


def measure(
    settings: Settings, client: redis.Redis, start: Callable[[Settings, str], JobHandle], group: str, events: int
) -> Spent:
    """Run one side over the whole topic, from an empty Redis. The end is a completed checkpoint: sinks have written."""
    client.flushall()
    job = start(settings, group)
    try:
        job.wait_running()
        read = _Read(settings.flink, job.job_id)
        deadline = time.monotonic() + LIMIT_S
        _until_read(job, read, int(WARM_SHARE * events), deadline)
        begin = _marks(settings, client)
        first = read.position()
        _until_read(job, read, events, deadline)
        job.checkpoint()
        end = _marks(settings, client)
        return Spent(events - first, *(b - a for a, b in zip(begin, end, strict=True)), _state_bytes(job))
    finally:
        job.cancel()


def _until_read(job: JobHandle, read: _Read, events: int, deadline: float) -> None:
    """Wait until the job has read so many events. Raises RuntimeError at a time of the monotonic clock."""
    while (position := read.position()) < events:
        job.check()
        if time.monotonic() > deadline:
            raise RuntimeError(f"{job.name} read {position} of {events} events in {LIMIT_S:g} s")
        time.sleep(POLL_S)


def _marks(settings: Settings, client: redis.Redis) -> tuple[float, float, float]:
    return time.perf_counter(), service_cpu(settings, "flink", "flink-taskmanager"), redis_cpu(client)


def _state_bytes(job: JobHandle) -> int:
    found = call(job.url, f"/jobs/{job.job_id}/checkpoints")["latest"]["completed"]
    return int(found["state_size"])


class _Read:
    """How many events the source of a job has handed on."""

    def __init__(self, url: str, job_id: str) -> None:
        self._url, self._job = url, f"/jobs/{job_id}"
        self._queries: list[str] = []

    def position(self) -> int:
        """Events; 0 before the source shows its metrics."""
        if len(self._queries) == 0:
            self._queries = self._find()
        values = [int(metric["value"]) for query in self._queries for metric in call(self._url, query)]
        return sum(value + 1 for value in values)

    def _find(self) -> list[str]:
        queries, found = [], 0
        for vertex in call(self._url, self._job)["vertices"]:
            path = f"{self._job}/vertices/{vertex['id']}/metrics"
            names = [metric["id"] for metric in call(self._url, path)]
            wanted = [quote(name) for name in names if name.endswith(".currentOffset")]
            if wanted:
                queries.append(f"{path}?get={','.join(wanted)}")
                found += len(wanted)
        return queries if found == TUNING.parallelism else []
