"""What the topics of a run hold at its end, counted from Kafka itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import orjson

from featuredsl.settings import Settings
from jobs import kafka
from schemas import topics

HEARTBEAT = b'{"heartbeat"'


def keys(settings: Settings, name: str) -> Counter[str]:
    """How many records carry each key; heartbeats are left out."""
    topic = topics.topic(settings.prefix, name)
    found: Counter[str] = Counter()
    for record in kafka.read_all(settings.kafka, topic):
        if record.value is not None and not record.value.startswith(HEARTBEAT):
            found[(record.key or b"").decode()] += 1
    return found


class _Slot(msgspec.Struct):
    cost: float


class _Example(msgspec.Struct):
    slots: tuple[_Slot, ...] = ()


def examples(settings: Settings) -> tuple[Counter[str], int]:
    """How many training examples each decision has, and how many examples carry a reward."""
    decoder = msgspec.json.Decoder(_Example)
    found: Counter[str] = Counter()
    rewarded = 0
    for record in kafka.read_all(settings.kafka, topics.topic(settings.prefix, topics.CCB_EXAMPLES)):
        if record.value is not None and not record.value.startswith(HEARTBEAT):
            found[(record.key or b"").decode()] += 1
            rewarded += any(slot.cost < 0 for slot in decoder.decode(record.value).slots)
    return found, rewarded


def records(settings: Settings, name: str) -> Iterator[dict[str, Any]]:
    """The records of a small topic as JSON objects."""
    for record in kafka.read_all(settings.kafka, topics.topic(settings.prefix, name)):
        if record.value is not None:
            yield orjson.loads(record.value)


def dead_letters(settings: Settings, name: str) -> dict[tuple[int, int], str]:
    """Reason by (partition, offset) of the records of a topic that some job refused.

    Two jobs that read one topic refuse the same record twice: it counts once.
    """
    topic = topics.dead_letter(topics.topic(settings.prefix, name))
    return {
        (letter["partition"], letter["offset"]): letter["reason"]
        for letter in (orjson.loads(record.value or b"{}") for record in kafka.read_all(settings.kafka, topic))
    }
