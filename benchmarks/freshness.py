"""Event produced to value readable by the reader: p50 and p99 at a steady rate, on the local stack on this machine.

A process of its own produces events of 20,000 users at 2,000 a second, with the time of day as their event time. The
prober produces events of users that only it writes, 25 a second, and reads those that it waits for every 2 ms, all in
one read, until their count includes the event: from just before the event is given to the producer to the return of the
read that shows it. So figures hold the producer's linger (5 ms, the default of our producer), Kafka, the job from the
wheel with its default options, Redis and up to one period of polling.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.load import percentile
from benchmarks.rows import row
from benchmarks.stream_data import GROUP, TOPIC, definitions
from benchmarks.stream_stack import load_note, process_cpu, service_cpu, stack
from featuredsl.online.store import OnlineStore
from featuredsl.reader import FeatureReader, Handle, ReadOptions
from featuredsl.registry import Registry, apply
from featuredsl.settings import Settings
from jobs.flink.stream import start_stream
from jobs.kafka import producer

RATE, USERS = 2_000, 20_000
PROBES_PER_S, PROBED = 25, 400
POLL_S = 0.002
WARM_S = {"quick": 60.0, "full": 90.0}
SECONDS = {"quick": 20.0, "full": 60.0}
LOST_S = 10.0
TARGET_MS = 75.0


def run(mode: str) -> list[dict[str, Any]]:
    """Rows of the report. Raises RuntimeError when an event does not become readable."""
    with stack("kafka", "redis", "flink") as settings:
        folder = settings.home / "definitions"
        folder.mkdir()
        apply(settings.registry, definitions(folder, GROUP, "realtime"))
        job = start_stream(settings, GROUP)
        try:
            return measure(settings, WARM_S[mode], SECONDS[mode])
        finally:
            job.cancel()


def measure(settings: Settings, warm_s: float, seconds: float) -> list[dict[str, Any]]:
    """Rows for a job that runs: probes after so much warm-up, for so long."""
    command = [sys.executable, "-m", "benchmarks.freshness", settings.kafka, str(warm_s + seconds + 60)]
    generator = subprocess.Popen(command, start_new_session=True)
    try:
        with OnlineStore(settings.redis) as store:
            reader = FeatureReader(store, Registry.load(settings.registry), ReadOptions(cache_ttl_s=0.0))
            prober = Prober(settings.kafka, reader.prepare(GROUP))
            prober.probe(warm_s)
            prober.forget()
            before, begun = _cpu(settings, generator.pid), time.perf_counter()
            prober.probe(seconds)
            after, took = _cpu(settings, generator.pid), time.perf_counter() - begun
        if generator.poll() is not None:
            raise RuntimeError("the generator has ended")
    finally:
        generator.kill()
        generator.wait()
    spent = {name: (after[name] - before[name]) / took for name in before}
    return report(sorted(prober.found), prober.produced, spent)


def report(latencies: Sequence[float], produced: Sequence[float], spent: dict[str, float]) -> list[dict[str, Any]]:
    """Latencies in seconds, sorted, and processors that each part kept busy."""
    metric = f"event produced to value readable at {RATE:,} events/s"
    p99 = percentile(latencies, 0.99) * 1e3
    rows = [
        row(f"{metric}, p50 of {len(latencies)}, {load_note()}", "ms", percentile(latencies, 0.5) * 1e3),
        row(f"{metric}, p90", "ms", percentile(latencies, 0.9) * 1e3),
        row(f"{metric}, p99", "ms", p99, target=(f"<= {TARGET_MS:g} ms", p99 <= TARGET_MS)),
        row(f"{metric}, largest", "ms", latencies[-1] * 1e3),
        row("of it, event to acknowledged by Kafka, p50", "ms", percentile(sorted(produced), 0.5) * 1e3),
        row("of it, event to acknowledged by Kafka, p99", "ms", percentile(sorted(produced), 0.99) * 1e3),
    ]
    return rows + [row(f"processors busy: {name}", "CPUs", cpus) for name, cpus in spent.items()]


@dataclass
class Prober:
    """Produces events of users of its own and reads until they count; seconds of each go to `found`, those until Kafka
    has them to `produced`. One producer throughout: a new one waits half a second for its id."""

    kafka: str
    handle: Handle
    found: list[float] = field(default_factory=list)
    produced: list[float] = field(default_factory=list)
    _name: str = field(default_factory=lambda: f"probe-{secrets.token_hex(4)}")
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _sent: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._out = producer(self.kafka)

    def forget(self) -> None:
        """Leave out what was measured so far."""
        self.found.clear()
        self.produced.clear()

    def probe(self, seconds: float) -> None:
        """Probe at random moments for so long, then wait for the last."""
        rng = random.Random(5)
        now = time.perf_counter()
        end, due = now + seconds, now
        while now < end or self._waiting:
            if due <= now < end:
                self._send()
                due += rng.uniform(0.2, 1.8) / PROBES_PER_S
            self._out.poll(0)
            self._look()
            time.sleep(POLL_S)
            now = time.perf_counter()

    def _send(self) -> None:
        user = f"{self._name}-{next(self._numbers) % PROBED}"
        if user in self._waiting:
            raise RuntimeError(f"an event of {user} is not readable after {PROBED / PROBES_PER_S:g} s")
        self._sent[user] = self._sent.get(user, 0) + 1
        begun = self._waiting[user] = time.perf_counter()

        def acknowledged(*_: object) -> None:
            self.produced.append(time.perf_counter() - begun)

        self._out.produce(TOPIC, event(user), user.encode(), on_delivery=acknowledged)

    def _look(self) -> None:
        """Read the users that are waited for, once."""
        users = list(self._waiting)
        if not users:
            return
        values = self.handle.get([(GROUP, (user,)) for user in users], time.time_ns() // 1000)
        now = time.perf_counter()
        for user, found in zip(users, values, strict=True):
            count, sent = found["n"].value, self._sent[user]
            if count == sent:
                self.found.append(now - self._waiting.pop(user))
            elif count != sent - 1 or now - self._waiting[user] > LOST_S:
                raise RuntimeError(f"{user} counts {count} of {sent} events, {now - self._waiting[user]:.1f} s later")


def event(user: str) -> bytes:
    """An event of now."""
    return json.dumps({"user_id": user, "ts": time.time_ns() // 1_000_000, "amount": 1.5, "item_id": "i1"}).encode()


def generate(kafka: str, seconds: float) -> None:
    """Events at the rate, in small steps, for at most so long."""
    out, rng = producer(kafka), random.Random(6)
    begin, sent = time.perf_counter(), 0
    while (gone := time.perf_counter() - begin) < seconds:
        for _ in range(int(gone * RATE) - sent):
            user = f"u{rng.randrange(USERS):06d}"
            out.produce(TOPIC, event(user), user.encode())
            sent += 1
        out.poll(0)
        time.sleep(0.005)
    out.flush(10)


def _cpu(settings: Settings, generator: int) -> dict[str, float]:
    return {
        "Kafka": service_cpu(settings, "kafka", "kafka"),
        "Flink TaskManager": service_cpu(settings, "flink", "flink-taskmanager"),
        "Flink JobManager": service_cpu(settings, "flink", "flink-jobmanager"),
        "Redis": service_cpu(settings, "redis", "redis"),
        "generator": process_cpu(generator),
        "prober": process_cpu(os.getpid()),
    }


if __name__ == "__main__":
    generate(sys.argv[1], float(sys.argv[2]))
