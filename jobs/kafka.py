"""Kafka for jobs, commands and tests: topics, a producer, bounded and unbounded reads (confluent-kafka)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from featuredsl.errors import DependencyError, InputError

PARTITIONS = 2
_COORDINATOR_MOVES = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)
_LEADER_MOVES = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
)
"""What a broker answers for a topic that was made a moment ago."""
ADMIN_TIMEOUT_S = 15.0
POLL_S = 0.2
MAX_MESSAGE_BYTES = 8 * 1024 * 1024
Offsets = Mapping[tuple[str, int], int]


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
    admin = _admin(bootstrap)
    present = _metadata(admin, bootstrap)
    new = [_new_topic(name, partitions, name in squeezed) for name in wanted if name not in present]
    if not new:
        return []
    for name, future in admin.create_topics(new, operation_timeout=ADMIN_TIMEOUT_S).items():
        try:
            future.result(ADMIN_TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                msg = f"cannot create the topic {name!r} on {bootstrap}: {error.args[0].str()}"
                raise DependencyError(msg) from error
    return [topic.topic for topic in new]


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


def partitions_of(bootstrap: str, topics: Iterable[str]) -> list[TopicPartition]:
    """All partitions of the topics. Raises InputError for a topic that does not exist."""
    present = _metadata(_admin(bootstrap), bootstrap)
    result: list[TopicPartition] = []
    for topic in topics:
        if topic not in present:
            msg = f"no topic {topic!r} on {bootstrap}; topics are {', '.join(sorted(present)) or 'none'}"
            raise InputError(msg)
        result += [TopicPartition(topic, number) for number in range(present[topic])]
    return result


def topic_names(bootstrap: str) -> list[str]:
    """Names of all topics, sorted."""
    return sorted(_metadata(_admin(bootstrap), bootstrap))


def end_offsets(bootstrap: str, topics: Iterable[str]) -> dict[tuple[str, int], int]:
    """The offset after the last readable (committed) record of every partition."""
    partitions = partitions_of(bootstrap, topics)
    deadline = time.monotonic() + ADMIN_TIMEOUT_S
    while True:
        try:
            return _end_offsets(bootstrap, partitions)
        except KafkaException as error:
            moving = error.args[0].code() in _LEADER_MOVES
            if not moving or time.monotonic() > deadline:
                raise _unreachable(bootstrap, error) from error
            time.sleep(POLL_S)


def _end_offsets(bootstrap: str, partitions: Iterable[TopicPartition]) -> dict[tuple[str, int], int]:
    # The client is kept in a variable: when it is collected, its open requests never end.
    admin = _admin(bootstrap)
    request = {partition: OffsetSpec.latest() for partition in partitions}
    futures = admin.list_offsets(
        request, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ADMIN_TIMEOUT_S
    )
    found = {(p.topic, p.partition): future.result(ADMIN_TIMEOUT_S) for p, future in futures.items()}
    return {place: result.offset for place, result in found.items()}


def committed_offsets(bootstrap: str, group: str, topics: Iterable[str]) -> dict[tuple[str, int], int]:
    """The offsets that a consumer group has committed; a partition without a commit is -1."""
    partitions = partitions_of(bootstrap, topics)
    reader = Consumer(_consumer_options(bootstrap, group))
    try:
        found = _committed(reader, partitions)
        return {(p.topic, p.partition): max(p.offset, -1) for p in found}
    except KafkaException as error:
        raise _unreachable(bootstrap, error) from error
    finally:
        reader.close()


def _committed(reader: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
    """Committed offsets; a coordinator that is only just being chosen is asked again."""
    deadline = time.monotonic() + ADMIN_TIMEOUT_S
    while True:
        try:
            return list(reader.committed(partitions, timeout=ADMIN_TIMEOUT_S))
        except KafkaException as error:
            if error.args[0].code() not in _COORDINATOR_MOVES or time.monotonic() > deadline:
                raise
            time.sleep(POLL_S)


def read_all(
    bootstrap: str, topic: str, until: Offsets | None = None, start: Offsets | None = None
) -> Iterator[Record]:
    """Every committed record of a topic up to `until` (default: the end offsets at the time of the call).

    `until` and `start` map (topic, partition) to an offset; `start` defaults to the beginning. Order holds
    within a partition only. Raises DependencyError when the broker does not answer.
    """
    stop_at = dict(end_offsets(bootstrap, [topic]) if until is None else until)
    begin = start or {}
    reader = Consumer(_consumer_options(bootstrap, "featuredsl-read") | {"enable.partition.eof": True})
    try:
        todo = {number for (name, number), end in stop_at.items() if name == topic and end > 0}
        reader.assign([TopicPartition(topic, n, begin.get((topic, n), OFFSET_BEGINNING)) for n in sorted(todo)])
        while todo:
            for message in reader.consume(1000, POLL_S):
                if _at_end(message):
                    todo.discard(message.partition())
                    continue
                if _failed(message, bootstrap):
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
    reader = Consumer(_consumer_options(bootstrap, group) | {"auto.offset.reset": "earliest"})
    pending = 0
    try:
        reader.subscribe(list(topics))
        while not stop():
            message = reader.poll(POLL_S)
            if message is None or _failed(message, bootstrap):
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


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})


def _metadata(admin: AdminClient, bootstrap: str) -> dict[str, int]:
    try:
        topics = admin.list_topics(timeout=ADMIN_TIMEOUT_S).topics
    except KafkaException as error:
        raise _unreachable(bootstrap, error) from error
    return {name: len(topic.partitions) for name, topic in topics.items()}


def _new_topic(name: str, partitions: int, compacted: bool) -> NewTopic:
    config = {"retention.ms": "-1", "max.message.bytes": str(MAX_MESSAGE_BYTES)}
    if compacted:
        config["cleanup.policy"] = "compact"
    return NewTopic(name, num_partitions=partitions, replication_factor=1, config=config)


def topic_config(bootstrap: str, topic: str) -> dict[str, str]:
    """The configuration of a topic, as the broker reports it."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = _admin(bootstrap)
    try:
        entries = admin.describe_configs([resource])[resource].result(ADMIN_TIMEOUT_S)
    except KafkaException as error:
        raise _unreachable(bootstrap, error) from error
    return {name: entry.value for name, entry in entries.items()}


def _consumer_options(bootstrap: str, group: str) -> dict[str, object]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "fetch.message.max.bytes": MAX_MESSAGE_BYTES,
        "fetch.wait.max.ms": 50,
        "log_level": 2,
    }


def _at_end(message: Message) -> bool:
    """True for the end-of-partition event: it comes even where the last offsets hold no readable record."""
    error = message.error()
    return error is not None and error.code() == KafkaError._PARTITION_EOF


def _failed(message: Message, bootstrap: str) -> bool:
    """False for a record; True for a transient client event; raises for an error that will not pass."""
    error = message.error()
    if error is None:
        return False
    if error.fatal() or error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._ALL_BROKERS_DOWN):
        raise _unreachable(bootstrap, KafkaException(error))
    return True


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


def _unreachable(bootstrap: str, error: KafkaException) -> DependencyError:
    return DependencyError(f"Kafka at {bootstrap} does not answer: {error.args[0].str()}")
