"""Kafka for jobs, commands and tests: topics, a producer, bounded and unbounded reads (confluent-kafka)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType

from featuredsl.errors import DependencyError
from jobs.kafka_client import (
    ADMIN_TIMEOUT_S,
    MAX_MESSAGE_BYTES,
    POLL_S,
    admin,
    at_end,
    consumer_options,
    failed,
    metadata,
    unreachable,
)
from jobs.kafka_offsets import Offsets, end_offsets

PARTITIONS = 2


@dataclass(frozen=True, slots=True)
class Record:
    """One Kafka record; `timestamp_ms` is the record's own time (append or create time)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def ensure_topics(
    bootstrap: str, names: Iterable[str], partitions: int = PARTITIONS, compacted: Iterable[str] = ()
) -> list[str]:
    """Create the topics that are missing, and return their names.

    Records are kept for ever (`retention.ms=-1`), because replayed events carry old times; names in
    `compacted` keep the newest record of each key. An existing topic stays as it is.
    """
    squeezed = set(compacted)
    wanted = dict.fromkeys([*names, *squeezed])
    client = admin(bootstrap)
    present = metadata(client, bootstrap)
    new = [_new_topic(name, partitions, name in squeezed) for name in wanted if name not in present]
    if not new:
        return []
    for name, future in client.create_topics(new, operation_timeout=ADMIN_TIMEOUT_S).items():
        try:
            future.result(ADMIN_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                msg = f"cannot create the topic {name!r} on {bootstrap}: {error.args[0].str()}"
                raise DependencyError(msg) from error
    return [topic.topic for topic in new]


def delete_topics(bootstrap: str, names: Sequence[str]) -> None:
    """Delete topics; those that are gone already are no error."""
    if not names:
        return
    client = admin(bootstrap)
    for name, future in client.delete_topics(list(names), operation_timeout=ADMIN_TIMEOUT_S).items():
        try:
            future.result(ADMIN_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                msg = f"cannot delete the topic {name!r} on {bootstrap}: {error.args[0].str()}"
                raise DependencyError(msg) from error


def producer(bootstrap: str, **options: object) -> Producer:
    """An idempotent producer (`acks=all`); `options` are librdkafka's. Call `flush()` before leaving it."""
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
            "compression.type": "lz4",
            "message.max.bytes": MAX_MESSAGE_BYTES,
            "log_level": 3,
            **options,
        }
    )


def topic_names(bootstrap: str) -> list[str]:
    """Names of all topics, sorted."""
    return sorted(metadata(admin(bootstrap), bootstrap))


def read_all(
    bootstrap: str, topic: str, until: Offsets | None = None, start: Offsets | None = None
) -> Iterator[Record]:
    """Every committed record of a topic up to `until` (default: the end offsets at the time of the call).

    `until` and `start` map (topic, partition) to an offset; `start` defaults to the beginning. Order holds
    within a partition only. Raises DependencyError when the broker does not answer.
    """
    stop_at = dict(end_offsets(bootstrap, [topic]) if until is None else until)
    begin = start or {}
    reader = Consumer(consumer_options(bootstrap, "featuredsl-read") | {"enable.partition.eof": True})
    try:
        todo = {number for (name, number), end in stop_at.items() if name == topic and end > 0}
        reader.assign([TopicPartition(topic, n, begin.get((topic, n), OFFSET_BEGINNING)) for n in sorted(todo)])
        while todo:
            for message in reader.consume(1000, POLL_S):
                if at_end(message):
                    todo.discard(message.partition())
                    continue
                if failed(message, bootstrap):
                    continue
                record = _record(message)
                end = stop_at[topic, record.partition]
                if record.offset < end:
                    yield record
                if record.offset >= end - 1:
                    todo.discard(record.partition)
    finally:
        reader.close()


def consume(bootstrap: str, topics: Iterable[str], group: str, stop: Callable[[], bool]) -> Iterator[Record | None]:
    """Follow topics as a consumer group from its committed offsets (else the beginning).

    Yields None about five times a second when nothing arrives, so that the caller can act on time; ends when
    `stop()` is true. A record counts as done when the caller asks for the next one; done records are
    committed at least every 200 records and at the end: after a crash some are delivered again, none is lost.
    """
    reader = Consumer(consumer_options(bootstrap, group) | {"auto.offset.reset": "earliest"})
    pending = 0
    try:
        reader.subscribe(list(topics))
        while not stop():
            message = reader.poll(POLL_S)
            if message is None or failed(message, bootstrap):
                pending = _commit(reader, pending)
                yield None
                continue
            yield _record(message)
            reader.store_offsets(message)
            pending += 1
            if pending >= 200:
                pending = _commit(reader, pending)
    finally:
        _commit(reader, pending)
        reader.close()


def _commit(reader: Consumer, pending: int) -> int:
    if pending:
        reader.commit(asynchronous=False)
    return 0


def _new_topic(name: str, partitions: int, compacted: bool) -> NewTopic:
    config = {"retention.ms": "-1", "max.message.bytes": str(MAX_MESSAGE_BYTES)}
    if compacted:
        config["cleanup.policy"] = "compact"
    return NewTopic(name, num_partitions=partitions, replication_factor=1, config=config)


def topic_config(bootstrap: str, topic: str) -> dict[str, str]:
    """The configuration of a topic, as the broker reports it."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    client = admin(bootstrap)
    try:
        entries = client.describe_configs([resource])[resource].result(ADMIN_TIMEOUT_S)
    except KafkaException as error:
        raise unreachable(bootstrap, error) from error
    return {name: entry.value for name, entry in entries.items()}


def _record(message: Message) -> Record:
    return Record(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp_ms=message.timestamp()[1],
        key=_bytes(message.key()),
        value=_bytes(message.value()),
        headers=_headers(message.headers()),
    )


def _headers(found: Any) -> tuple[tuple[str, bytes | None], ...]:
    return tuple((name, _bytes(value)) for name, value in found or ())


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
