"""The peers of the stream benchmark: processes of their own over a topic of the first events, to the same Redis."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

from benchmarks.limited import DidNotFinish
from benchmarks.peers import peer_python
from benchmarks.stream_flink import POLL_S, WARM_SHARE, Spent
from benchmarks.stream_stack import process_cpu, redis_cpu
from localstack.process import free_ports

_REDIS = "redis[hiredis]==5.3.1"
VERSIONS = {"bytewax": "0.21.1", "quixstreams": "3.28.1"}
REQUIREMENTS = {
    "bytewax": (f"bytewax[kafka]=={VERSIONS['bytewax']}", "orjson==3.13.0", _REDIS),
    "quixstreams": (f"quixstreams=={VERSIONS['quixstreams']}", _REDIS),
}
PROCESSES = 2
LIMIT_S = 90.0
DONE, PREFIX = "peer-done", "peer:"
Tiles = Mapping[tuple[str, int], tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Work:
    """The topic, its number of events, and the services."""

    topic: str
    events: int
    kafka: str
    redis: str

    def environment(self) -> dict[str, str]:
        """For the peer's processes."""
        return os.environ | {"BENCH_TOPIC": self.topic, "BENCH_KAFKA": self.kafka, "BENCH_REDIS": self.redis}


def interpreter(name: str) -> Path | None:
    """The peer's Python, made when missing; None where that is not possible."""
    found = peer_python(name, *REQUIREMENTS[name])
    return None if found is None else found.absolute()


def measure(name: str, python: Path, work: Work, client: redis.Redis) -> Spent:
    """Run a peer from an empty Redis until it has written all events; measured after the first half."""
    client.flushall()
    with _processes(_commands(name, python), work) as processes:
        first = _reach(client, processes, WARM_SHARE * work.events)
        begin = _marks(processes, client)
        done = _reach(client, processes, work.events)
        end = _marks(processes, client)
    return Spent(done - first, *(b - a for a, b in zip(begin, end, strict=True)))


def _commands(name: str, python: Path) -> list[list[str]]:
    script = str(Path(f"benchmarks/stream_{'quix' if name == 'quixstreams' else name}.py").absolute())
    if name == "quixstreams":
        return [[str(python), script]] * PROCESSES
    addresses = ";".join(f"127.0.0.1:{port}" for port in free_ports(PROCESSES))
    run = [str(python), "-m", "bytewax.run", f"{script}:flow", "-a", addresses, "-i"]
    return [[*run, str(number)] for number in range(PROCESSES)]


@contextmanager
def _processes(commands: Sequence[Sequence[str]], work: Work) -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            process = subprocess.Popen(
                command, env=work.environment(), stderr=subprocess.DEVNULL, start_new_session=True
            )
            started.append(process)
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def _reach(client: redis.Redis, processes: Sequence[subprocess.Popen[bytes]], events: float) -> int:
    """Wait until so many events are written; returns how many are. Raises DidNotFinish."""
    deadline = time.monotonic() + LIMIT_S
    while (done := int(client.get(DONE) or 0)) < events:
        ended = [process.args for process in processes if process.poll() is not None]
        if ended:
            raise RuntimeError(f"{done} of {events} events were written; ended by themselves: {ended}")
        if time.monotonic() > deadline:
            raise DidNotFinish(f"{done:,} events in {LIMIT_S:g} s")
        time.sleep(POLL_S)
    return done


def _marks(processes: Sequence[subprocess.Popen[bytes]], client: redis.Redis) -> tuple[float, float, float]:
    return time.perf_counter(), sum(process_cpu(process.pid) for process in processes), redis_cpu(client)


def written(client: redis.Redis) -> dict[tuple[str, int], tuple[int, float]]:
    """User and tile to the count and sum that a peer wrote."""
    found = {}
    for key in client.scan_iter(f"{PREFIX}*", count=1_000):
        user = key.decode().removeprefix(PREFIX)[1:-1]
        for tile, value in client.hgetall(key).items():
            count, total = value.decode().split(";")
            found[user, int(tile)] = (int(count), float(total))
    return found


def differences(expected: Tiles, found: Tiles) -> list[str]:
    """The tiles that are missing, extra or not what they should be."""
    wrong = []
    for place in expected.keys() | found.keys():
        right, value = expected.get(place), found.get(place)
        close = right and value and right[0] == value[0] and abs(right[1] - value[1]) <= 1e-9 * abs(right[1])
        if not close:
            wrong.append(f"{place}: {value} instead of {right}")
    return wrong
