"""Heartbeats for quiet topics: event time of a 5m tier moves only where records of it come."""

from __future__ import annotations

import json
from collections.abc import Iterable

from confluent_kafka import KafkaError, Message

from featuredsl.compilers.flink_sources import tables_read
from featuredsl.errors import DependencyError
from featuredsl.plan import GroupPlan
from featuredsl.tiles import timed_streams
from featuredsl.times import format_time
from jobs.kafka import producer
from jobs.kafka_offsets import partitions_of

FLUSH_S = 10.0


def beaten(plans: Iterable[GroupPlan], *, sources: bool) -> list[str]:
    """The topics, without a prefix, of the tables that streams of the groups join; with `sources` also those of the
    sources that need event time."""
    plans = list(plans)
    found = [records.topic for plan in plans for records in tables_read(plan)]
    found += [source.topic for source in timed_streams(plans)] if sources else []
    return list(dict.fromkeys(found))


def heartbeat(now_ms: int) -> bytes:
    """The record. Its time is a text, which also a source takes whose own time is called `ts`, whatever its unit."""
    return json.dumps({"heartbeat": True, "ts": format_time(now_ms * 1000)}).encode()


def beat(kafka: str, topics: Iterable[str], now_ms: int) -> int:
    """Send a heartbeat of that time to every partition of the topics; how many they are.

    Raises InputError for a topic that does not exist, DependencyError when Kafka does not take them.
    """
    out = producer(kafka)
    body = heartbeat(now_ms)
    refused: list[str] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            refused.append(f"{message.topic()} partition {message.partition()}: {error.str()}")

    places = partitions_of(kafka, topics)
    for place in places:
        out.produce(place.topic, body, partition=place.partition, on_delivery=delivered)
    if left := out.flush(FLUSH_S):
        msg = f"Kafka at {kafka} did not take {left} of {len(places)} heartbeats within {FLUSH_S:.0f} s"
        raise DependencyError(msg)
    if refused:
        msg = f"Kafka at {kafka} refused {len(refused)} of {len(places)} heartbeats, first {refused[0]}"
        raise DependencyError(msg)
    return len(places)
