"""A feature job that ends, starts again, is rebuilt, and gets another definition, while its values are read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import redis
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from featuredsl.cli.main import run
from featuredsl.errors import InputError
from featuredsl.finalize import FeatureValue
from featuredsl.generations import base_of
from featuredsl.online.store import OnlineStore
from featuredsl.reader import FeatureReader
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.times import HOUR, SECOND
from jobs.flink.handle import TERMINAL, JobHandle, find_jobs
from jobs.flink.publishing import publish
from jobs.flink.records import Records
from jobs.flink.starting import job_name
from jobs.flink.stream import start_stream
from jobs.kafka import producer, topic_names
from jobs.landed import History
from tests.support.stack import TestStack

pytestmark = pytest.mark.timeout(900)

SOURCE = """
from featuredsl import EventSource, feature, feature_group, lifetime

visits = EventSource("visits", event_time="ts", schema={"u": str, "x": int})

@feature_group(name="visitor", entity="u")
class Visitor:
    @feature(freshness="realtime", window="1h")
    def n(e: visits) -> int:
        return e.count()

    @feature(freshness="realtime")
    def last(e: visits) -> int:
        return e.latest().x

    @feature(freshness="1h", window=lifetime)
    def ever(e: visits) -> int:
        return e.count()

    @feature(freshness="realtime", window=lifetime)
    def always(e: visits) -> int:
        return e.x.sum()

    @feature(freshness="realtime", window=lifetime)
    def spread(e: visits) -> float:
        return e.x.var()
"""
TOTAL = """
    @feature(freshness="realtime", window="1h")
    def total(e: visits) -> int:
        return e.x.sum()
"""
START_US = (time.time_ns() // 1000 // HOUR - 3) * HOUR
"""Far enough back for the hourly tier, and not so far that values have expired."""


@dataclass
class Life:
    """One group's topic, job and readers."""

    settings: Settings
    folder: Path
    sent: int = 0

    def apply(self, source: str) -> None:
        file = self.folder / "definitions.py"
        file.write_text(source)
        assert run(["apply", str(file)]) == 0

    def send(self, count: int) -> None:
        """Events of key k, a second apart, x = 1, 2, …"""
        out = producer(self.settings.kafka)
        for _ in range(count):
            event = {"u": "k", "x": self.sent + 1, "ts": (START_US + self.sent * SECOND) // 1000}
            out.produce(f"{self.settings.prefix}visits", json.dumps(event).encode())
            self.sent += 1
        out.flush(30)

    def forget(self) -> None:
        """The broker deletes the records that were landed."""
        topic = f"{self.settings.prefix}visits"
        landed = History(self.settings.home, topic).landed()
        admin = AdminClient({"bootstrap.servers": self.settings.kafka})
        begins = [TopicPartition(topic, partition, end) for partition, end in landed.items()]
        for future in admin.delete_records(begins).values():
            future.result(30)

    def refills(self) -> list[str]:
        """The topics with landed records."""
        return [
            name for name in topic_names(self.settings.kafka) if name.startswith(f"{self.settings.prefix}visits.refill")
        ]

    def now(self, x: int) -> None:
        """An event of key m, now: after the horizon of every batch run."""
        out = producer(self.settings.kafka)
        event = {"u": "m", "x": x, "ts": time.time_ns() // 1_000_000}
        out.produce(f"{self.settings.prefix}visits", json.dumps(event).encode())
        out.flush(30)

    def always(self, key: str, at_us: int | None = None) -> tuple[object, object, str]:
        """The lifetimes of a key as of a moment ahead, and the status."""
        with self.store() as store:
            reader = FeatureReader(store, Registry.load(self.settings.registry))
            at_us = at_us or time.time_ns() // 1000 + SECOND
            found = reader.get([("visitor", (key,))], at_us)[0]
        spread = found["spread"].value
        return found["always"].value, spread and round(float(spread), 9), found["always"].status  # type: ignore[arg-type]

    def read(self, at_us: int | None = None) -> dict[str, FeatureValue]:
        with self.store() as store:
            reader = FeatureReader(store, Registry.load(self.settings.registry))
            return reader.get([("visitor", ("k",))], at_us or START_US + self.sent * SECOND)[0]

    def values(self) -> dict[str, object]:
        """The realtime features just after the last event, the hourly one now."""
        found = {name: value.value for name, value in self.read().items() if name in ("n", "last", "total")}
        return found | {"ever": self.read(time.time_ns() // 1000)["ever"].value}

    def batch(self) -> None:
        command = [sys.executable, "-m", "featuredsl.cli.main", "run", "batch"]
        subprocess.run(command, env=os.environ | self.settings.environment(), check=True, capture_output=True)

    def live(self) -> str:
        with self.store() as store:
            return store.current(["visitor"])["visitor"]

    def stored(self) -> tuple[object, ...]:
        """What the stream has written of the key under the version that readers follow, and when its tiles expire (its
        hash lives until the batch runs have forgotten it, too)."""
        ring, fields = (f"visitor@{self.live()}:{{k}}:{suffix}" for suffix in "RX")
        asked = [("GET", ring), ("HGET", fields, "l:last"), ("PEXPIRETIME", ring)]
        with self.store() as store:
            return tuple(store.round_trip(asked))

    def store(self) -> OnlineStore:
        return OnlineStore(self.settings.redis, namespace=self.settings.prefix)

    def plan(self) -> tuple[int, dict[str, object]]:
        """When the compiled plan of the job was written, and what it holds."""
        record = Records(self.settings).read(job_name(self.settings, ["visitor"]))
        assert record is not None
        assert record.plan is not None
        path = Path(record.plan)
        return path.stat().st_mtime_ns, json.loads(path.read_text())

    def running(self) -> list[str]:
        jobs = find_jobs(self.settings.flink, f"{self.settings.prefix}features-visitor")
        return [job_id for job_id, _, state in jobs if state not in TERMINAL]


@pytest.fixture
def life(stack: TestStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    settings = stack.need("kafka", "redis", "flink", "spark")
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    with redis.Redis.from_url(settings.redis) as client:
        for key in client.scan_iter("visitor@*"):  # of the same definition in the life before
            client.delete(key)
    found = Life(settings, tmp_path)
    yield found
    for job_id in found.running():
        JobHandle(job_id, "features", settings.flink).cancel()


@pytest.mark.parametrize("replaced", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_job_goes_on_from_its_checkpoint_and_is_rebuilt_and_replaced_while_readers_read(
    life: Life, replaced: bool
) -> None:
    life.apply(SOURCE)
    first = start_stream(life.settings)
    base = life.live()
    life.send(10)
    first.wait_lag_zero()
    assert life.always("k") == (55, 9.166666667, "DEGRADED")  # of tiles alone: no batch run has been
    life.batch()
    assert life.values() == {"n": 10, "last": 10, "ever": 10}
    assert life.always("k") == (55, 9.166666667, "OK")
    assert life.always("k", START_US + 10 * SECOND) == (55, 9.166666667, "OK")  # before the horizon, nothing between
    assert life.always("k", START_US + 5 * SECOND)[2] == "DEGRADED"
    assert life.always("m") == (None, None, "NOT_FOUND")
    with pytest.raises(InputError, match=r"runs already \(job id .*rebuild"):
        start_stream(life.settings)

    # ended and started again from another home: the same store version and plan, nothing counted twice or lost
    plan = life.plan()
    assert plan[1]["flinkVersion"]
    assert "redis://" not in json.dumps(plan[1])
    first.cancel()
    life.send(5)
    life.now(2**53 + 1)
    second = start_stream(replace(life.settings, home=life.folder / "elsewhere"))
    second.wait_lag_zero()
    assert life.live() == base
    assert life.plan() == plan
    assert life.values() == {"n": 15, "last": 15, "ever": 10}
    assert life.always("m") == (2**53 + 1, None, "OK")  # new since the horizon
    life.now(7)
    second.wait_lag_zero()
    assert life.always("m")[0] == 2**53 + 8
    before = life.stored()

    # a start that another has replaced meanwhile moves no reader
    record = Records(life.settings).read(second.name)
    assert record is not None
    with life.store() as store, pytest.raises(InputError, match=r"another start of .* has replaced the job gone"):
        publish(store, life.settings.prefix, replace(record, job_id="gone"), print)
    with life.store() as store:
        store.round_trip([("DEL", f"featuredsl:{life.settings.prefix}current")])
    with pytest.raises(InputError, match="the online store has lost what it wrote: `featuredsl rebuild visitor`"):
        start_stream(life.settings)
    with life.store() as store:
        store.set_current("visitor", base)

    # values are lost, and the topic has forgotten the events that were landed; a rebuild fills a generation of its own,
    # equal to the byte
    life.forget()
    with life.store() as store:
        store.round_trip([("DEL", *(f"visitor@{base}:{{k}}:{suffix}" for suffix in "RX"))])
    assert life.read()["n"].status == "NOT_FOUND"
    assert run(["rebuild", "visitor"]) == 0
    assert len(refilled := life.refills()) == 1
    rebuilt = life.live()
    assert rebuilt != base == base_of(rebuilt)
    assert life.stored() == before
    assert life.values() == {"n": 15, "last": 15, "ever": 15}
    assert life.always("k") == (120, 20.0, "OK")  # what came late for its tile counts since the run of the rebuild
    assert (life.always("m")[0], life.always("m")[2]) == (2**53 + 8, "OK")
    assert second.state == "CANCELED"

    if not replaced:
        return

    # another definition: readers see the old one until the new one is filled
    life.apply(SOURCE + TOTAL)
    assert life.live() == rebuilt
    assert life.values() == {"n": 15, "last": 15, "ever": 15}
    life.send(1)
    assert run(["run", "stream"]) == 0
    assert base_of(life.live()) != base
    assert life.values() == {"n": 16, "last": 16, "total": 136, "ever": 16}
    assert len(life.running()) == 1
    assert len(life.refills()) == 1
    assert life.refills() != refilled
