"""For the fault tests: visits of `closed_groups`, sent to a topic of two partitions, and what the tier 5m must say."""

from __future__ import annotations

import base64
import json
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import redis

from featuredsl.finalize import FeatureValue
from featuredsl.online.meta import MetaKeys, parse_closed
from featuredsl.online.store import OnlineStore
from featuredsl.reader import FeatureReader, Registry
from featuredsl.settings import Settings
from featuredsl.times import MINUTE, SECOND
from jobs.kafka import producer, read_all
from tests.support.closed_oracle import START, Event, expected, heartbeat, random_visits, visit

GROUP = "minutes"
USERS = "abcde"
BOTH = (0, 1)
LATE_USER = "e"
"""The only one with late events: a job that reads the topic again may count them."""
PER_MINUTE = 40


@dataclass
class ClosedLog:
    """Visits in time, late ones, and late ones that a window refused after a restart. Times are relative to `START`:
    up to `end` events were sent, up to `closed` both partitions have let the minutes close."""

    settings: Settings
    topic: str
    rng: random.Random = field(default_factory=lambda: random.Random(11))
    counted: list[Event] = field(default_factory=list)
    late: list[Event] = field(default_factory=list)
    refused: list[Event] = field(default_factory=list)
    heartbeats: int = 0
    end: int = 0
    closed: int = 0
    users: str = USERS

    def minutes(self, count: int, partitions: Sequence[int] = BOTH) -> None:
        """Send visits of the next minutes to these partitions, and nothing that closes the last of them."""
        begin, self.end = self.end, self.end + count * MINUTE
        events = random_visits(self.rng, begin, self.end, PER_MINUTE * count, USERS)
        self.counted += events
        self._send([(event, self.rng.choice(partitions)) for event in events])

    def close(self, partitions: Sequence[int] = BOTH) -> None:
        """A heartbeat for each of these partitions, at which what was sent is closed if the others are as far."""
        self._send([(heartbeat(self.end + 30 * SECOND), partition) for partition in partitions])
        self.heartbeats += len(partitions)
        if set(partitions) == set(BOTH):
            self.closed = self.end

    def send_late(self, count: int) -> None:
        """Visits of closed minutes, from one microsecond before the last one's end on back."""
        ages = [1, *(self.rng.randrange(1, 20 * MINUTE) for _ in range(count - 1))]
        events = [visit(self.closed - age, LATE_USER, 1000 + self.sent_late + i, "late") for i, age in enumerate(ages)]
        self.late += events
        self._send([(event, self.rng.choice(BOTH)) for event in events])

    @property
    def sent_late(self) -> int:
        """How many late visits were sent."""
        return len(self.late) + len(self.refused)

    def forget_late(self) -> None:
        """A job that begins anew may have counted events that were late."""
        self.users = USERS.replace(LATE_USER, "")

    def wrong(self, redis_url: str) -> list[tuple[str, str, Any, FeatureValue]]:
        """What readers get as of the last closed minute that is not the value counted from all events in time."""
        with OnlineStore(redis_url, namespace=self.settings.prefix) as store:
            reader = FeatureReader(store, Registry.load(self.settings.registry))
            at = START + self.closed + 30 * SECOND
            rows = reader.get([(GROUP, (user,)) for user in self.users], at)
        as_of = START + self.closed
        return [
            (user, name, value, row[name])
            for user, row in zip(self.users, rows, strict=True)
            for name, value in expected(self.counted, user, as_of).items()
            if (row[name].value, row[name].as_of_us) != (value, as_of) or row[name].status not in ("OK", "NULL")
        ]

    def late_letters(self) -> list[Event]:
        """The events on the topic of late ones; one that a restart sent twice counts once."""
        letters = [json.loads(r.value or b"") for r in read_all(self.settings.require("kafka"), f"{self.topic}.late")]
        places = {(letter["partition"], letter["offset"]): letter["payload"] for letter in letters}
        return [json.loads(base64.b64decode(payload)) for payload in places.values()]

    def _send(self, events: Sequence[tuple[Event, int]]) -> None:
        out = producer(self.settings.require("kafka"))
        for event, partition in events:
            out.produce(self.topic, json.dumps(event).encode(), partition=partition)
            out.poll(0)
        assert out.flush(60) == 0


class MarksWatch:
    """Looks all the time how far the tiers are marked as closed, and keeps every mark that went back or vanished."""

    def __init__(self, redis_url: str, namespace: str) -> None:
        self.wrong: list[tuple[str, int, bytes | None]] = []
        self.seen: dict[str, int] = {}
        self._client: Any = redis.Redis.from_url(redis_url, socket_timeout=1)
        self._key = MetaKeys(namespace).closed
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def forget(self) -> None:
        """Redis is emptied."""
        with self._lock:
            self.seen.clear()

    def of(self, version: str) -> dict[str, int]:
        """The newest look at a store version, relative to `START`."""
        self.look()
        prefix = f"{GROUP}@{version}/"
        return {name: us - START for name, us in self.seen.items() if name.startswith(prefix)}

    def look(self) -> None:
        """Compare with the look before."""
        with self._lock:
            stored = {name.decode(): value for name, value in self._client.hgetall(self._key).items()}
            for name, before in self.seen.items():
                (now,) = parse_closed(stored.get(name)) or (None,)
                if now is None or now < before:
                    self.wrong.append((name, before, stored.get(name)))
            self.seen |= {name: found[0] for name, value in stored.items() if (found := parse_closed(value))}

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            try:
                self.look()
            except redis.RedisError:
                continue
