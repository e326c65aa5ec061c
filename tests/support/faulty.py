"""For the fault tests: an event log with a recount of what Redis must hold, and parts of the stack to kill."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from featuredsl.online.codec import Tile, encode_rank, encode_ring
from featuredsl.online.layout import StoreLayout
from featuredsl.settings import Settings
from jobs.kafka import producer
from localstack.process import TAG, ProcessRecord, free_ports, spawn
from localstack.redis_server import probe_redis, redis_binary
from localstack.state import StackState
from tests.support.stack import JARS
from tests.support.wait import until

DEFINITIONS = Path(__file__).parents[1] / "faults" / "definitions.py"
HOP_MS = 30_000
SLOTS = 22
KEEP_MS = (7 * 24 + 1) * 3_600_000
USERS = [f"u{number}" for number in range(40)]
Stored = dict[bytes, tuple[object, int]]
Event = Mapping[str, Any]


@dataclass
class EventLog:
    """Everything sent to the topic: good events, and how many records of each reason must be dead letters."""

    settings: Settings
    topic: str
    start_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000 // HOP_MS * HOP_MS)
    rng: random.Random = field(default_factory=lambda: random.Random(7))
    good: list[Event] = field(default_factory=list)
    bad: Counter[str] = field(default_factory=Counter)
    heartbeats: int = 0
    late: int = 0
    """How many of the good events are counted as late."""

    def event(self, **given: Any) -> Event:
        """An event of the last nine minutes before the start."""
        made = {
            "ts": self.start_ms - self.rng.randrange(18 * HOP_MS),
            "u": self.rng.choice(USERS),
            "q": self.rng.choice([None, self.rng.randrange(-9, 9), self.rng.randrange(99), 2**53 + 1]),
            "x": self.rng.choice([None, self.rng.random(), -1e300]),
            "s": self.rng.choice([None, "a", "é", "a\0"]),
        }
        return {**made, **given}

    def send(self, events: list[Event], partition: int | None = None) -> None:
        """Send good events, alternating between the two partitions."""
        self.good += events
        self.send_bytes([json.dumps(event).encode() for event in events], partition)

    def send_bad(self, records: list[tuple[bytes | None, str]]) -> None:
        """Send records that must become dead letters of these reasons."""
        self.bad.update(reason for _, reason in records)
        self.send_bytes([payload for payload, _ in records])

    def send_bytes(self, payloads: list[bytes | None], partition: int | None = None, **given: Any) -> None:
        """Send records as they are; `given` are key and headers."""
        out = producer(self.settings.kafka)
        for number, payload in enumerate(payloads):
            out.produce(self.topic, payload, partition=number % 2 if partition is None else partition, **given)
            out.poll(0)
        assert out.flush(300) == 0

    def random(self, count: int) -> list[Event]:
        """Events in no order, a tenth of them twice."""
        events = [self.event() for _ in range(count)]
        return events + self.rng.sample(events, count // 10)


def recount(layout: StoreLayout, events: list[Event]) -> Stored:
    """What Redis must hold, with the times of expiry in milliseconds: brute force over all events."""
    by_user: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_user[event["u"]].append(event)
    stored: Stored = {}
    for user, mine in by_user.items():
        slots: dict[int, list[Event]] = {}
        for event in mine:
            tile = event["ts"] // HOP_MS
            held = slots.get(tile % SLOTS)
            if held is None or held[0]["ts"] // HOP_MS < tile:
                slots[tile % SLOTS] = [event]
            elif held[0]["ts"] // HOP_MS == tile:
                held.append(event)
        newest = max(held[0]["ts"] // HOP_MS for held in slots.values())
        ring = encode_ring(layout, {"taps/30s": [_tile(held) for held in slots.values()]})
        stored[layout.key((user,), "R").encode()] = (ring, (newest + 1) * HOP_MS + KEEP_MS)
        last = max(mine, key=_order)
        values = (last["q"], user, last["q"], last["x"], last["s"])
        rank = encode_rank(last["ts"] * 1000, layout.lookups[0].columns, values).encode()
        stored[layout.key((user,), "X").encode()] = ({b"l:last": rank}, last["ts"] + KEEP_MS)
    return stored


def _tile(events: list[Event]) -> Tile:
    q = [event["q"] for event in events if event["q"] is not None]
    x = [event["x"] for event in events if event["x"] is not None]
    newest = max(event["ts"] for event in events) * 1000
    return Tile(
        events[0]["ts"] // HOP_MS, len(events), newest, (len(events), sum(q) if q else None, max(x, default=None))
    )


def _order(event: Event) -> tuple[Any, ...]:
    q, x, s = event["q"], event["x"], event["s"]
    return (event["ts"], q is not None, q or 0, x is not None, x or 0.0, s is not None, (s or "").encode())


@dataclass
class RedisServer:
    """A Redis without persistence on a port of its own; it may die and come back empty at the same address."""

    folder: Path
    port: int = field(default_factory=lambda: free_ports(1)[0])
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def client(self) -> Any:
        return redis.Redis.from_url(self.url)

    def start(self) -> None:
        binary, env = redis_binary(JARS)
        command = [binary, "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder), "--save", ""]
        self.process = subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.DEVNULL)
        until(lambda: probe_redis(self.url) is None, 20, f"Redis at {self.url}")

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait()

    def stored(self, prefix: str) -> Stored:
        """Every key under a prefix with its value and its time of expiry."""
        content: Stored = {}
        client = self.client
        for key in client.scan_iter(match=f"{prefix}*", count=10_000):
            value = client.get(key) if client.type(key) == b"string" else client.hgetall(key)
            content[key] = (value, client.pexpiretime(key))
        return content


@dataclass
class StackProcess:
    """One process of the local stack, with all that is needed to start it again as it was."""

    home: Path
    part: str
    record: ProcessRecord
    command: list[str]
    env: dict[str, str]

    @classmethod
    def find(cls, home: Path, part: str, name: str) -> StackProcess:
        """The running process of that name."""
        (record,) = [r for r in StackState.read(home).processes[part] if r.name == name and r.alive]
        proc = Path("/proc") / str(record.pid)
        command = [text.decode() for text in (proc / "cmdline").read_bytes().split(b"\0")[:-1]]
        pairs = [text.decode().partition("=") for text in (proc / "environ").read_bytes().split(b"\0") if text]
        env = {key: value for key, _, value in pairs if key != TAG}
        return cls(home, part, record, command, env)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        os.kill(self.record.pid, signal.SIGKILL)
        until(lambda: not self.record.alive, 20, f"{self.record.name} is gone")

    def restart(self) -> None:
        """The same command at the same addresses; the stack's file knows the new process."""
        self.record = spawn(self.record.name, self.command, self.env, Path(self.record.log))
        state = StackState.read(self.home)
        state.processes[self.part] = [record for record in state.processes[self.part] if record.alive]
        state.started(self.part, self.record)
