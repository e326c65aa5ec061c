"""The events and definitions of the stream benchmarks; no side knows another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jobs.kafka import ensure_topics, producer

TOPIC, GROUP = "payments", "activity"
PARTITIONS = 2
TILE_MS = 300_000
SPAN_MS = 12 * TILE_MS
_GROUP = """from featuredsl import EventSource, feature, feature_group

payments = EventSource("payments", event_time="ts", schema={"user_id": str, "amount": float, "item_id": str})


@feature_group(name="NAME", entity="user_id")
class Group:
    @feature(freshness="TIER", window="1h")
    def n(e: payments) -> int:
        return e.count()

    @feature(freshness="TIER", window="1h")
    def total(e: payments) -> float:
        return e.amount.sum()
"""


def definitions(folder: Path, name: str, tier: str) -> Path:
    """A file with one group: a count and a sum over an hour, in tiles of five minutes."""
    file = folder / f"{name}.py"
    file.write_text(_GROUP.replace("NAME", name).replace("TIER", tier), encoding="utf-8")
    return file


@dataclass(frozen=True, slots=True)
class Events:
    """`count` events of `entities` users in equal steps over the hour that begins at `start_ms`, in random order of
    users; of them the first `taken`."""

    count: int
    entities: int
    start_ms: int
    taken: int

    def users(self) -> np.ndarray:
        """The user of each event."""
        return np.random.default_rng(5).integers(0, self.entities, self.count)[: self.taken]

    def cents(self) -> np.ndarray:
        """The amount of each event."""
        return np.random.default_rng(6).integers(1, 100_000, self.count)[: self.taken]

    def times_ms(self) -> np.ndarray:
        """The time of each event."""
        return self.start_ms + np.arange(self.taken, dtype=np.int64) * SPAN_MS // self.count

    def records(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Partition, key and JSON of each; a user has one partition."""
        columns = (self.users().tolist(), self.times_ms().tolist(), self.cents().tolist())
        for i, (user, ts, cents) in enumerate(zip(*columns, strict=True)):
            key = b"u%06d" % user
            item = i % 5_000
            text = b'{"user_id":"%b","ts":%d,"amount":%d.%02d,"item_id":"i%05d"}'
            yield user % PARTITIONS, key, text % (key, ts, cents // 100, cents % 100, item)

    def expected(self) -> dict[tuple[str, int], tuple[int, float]]:
        """User and tile to count and sum."""
        tiles = self.times_ms() // TILE_MS
        users, cents, first = self.users(), self.cents(), int(tiles.min())
        place = users * int(tiles.max() - first + 1) + tiles - first
        count, total = np.bincount(place), np.bincount(place, weights=cents)
        width = int(tiles.max() - first + 1)
        return {
            (f"u{at // width:06d}", first + at % width): (int(count[at]), float(total[at]) / 100)
            for at in np.flatnonzero(count).tolist()
        }


def produce(kafka: str, topic: str, events: Events) -> None:
    """The events as a topic."""
    ensure_topics(kafka, [topic, f"{topic}.dlq", f"{topic}.late"], PARTITIONS)
    out = producer(kafka, **{"queue.buffering.max.messages": 500_000, "linger.ms": 20})
    for number, (partition, key, text) in enumerate(events.records()):
        while True:
            try:
                out.produce(topic, text, key, partition=partition)
                break
            except BufferError:
                out.poll(0.1)
        if number % 10_000 == 0:
            out.poll(0)
    out.flush(60)
