"""Offsets of Kafka partitions: their ends, the last readable record, what a group has committed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from featuredsl.errors import DependencyError, InputError
from jobs.kafka_client import ADMIN_TIMEOUT_S, POLL_S, admin, at_end, consumer_options, failed, metadata, unreachable

Offsets = Mapping[tuple[str, int], int]
_TAIL = 16
"""How many offsets before an end are looked at first; a transaction ends with one marker."""
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


def partitions_of(bootstrap: str, topics: Iterable[str]) -> list[TopicPartition]:
    """All partitions of the topics. Raises InputError for a topic that does not exist."""
    present = metadata(admin(bootstrap), bootstrap)
    result: list[TopicPartition] = []
    for topic in topics:
        if topic not in present:
            msg = f"no topic {topic!r} on {bootstrap}; topics are {', '.join(sorted(present)) or 'none'}"
            raise InputError(msg)
        result += [TopicPartition(topic, number) for number in range(present[topic])]
    return result


def end_offsets(bootstrap: str, topics: Iterable[str]) -> dict[tuple[str, int], int]:
    """The offset after the last readable (committed) record of every partition."""
    return _listed(bootstrap, topics, OffsetSpec.latest())


def begin_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """The offset of the first record that every partition still has; its end when it has none."""
    return {partition: at for (_, partition), at in _listed(bootstrap, [topic], OffsetSpec.earliest()).items()}


def _listed(bootstrap: str, topics: Iterable[str], spec: OffsetSpec) -> dict[tuple[str, int], int]:
    partitions = partitions_of(bootstrap, topics)
    deadline = time.monotonic() + ADMIN_TIMEOUT_S
    while True:
        try:
            return _asked(bootstrap, partitions, spec)
        except KafkaException as error:
            moving = error.args[0].code() in _LEADER_MOVES
            if not moving or time.monotonic() > deadline:
                raise unreachable(bootstrap, error) from error
            time.sleep(POLL_S)


def _asked(bootstrap: str, partitions: Iterable[TopicPartition], spec: OffsetSpec) -> dict[tuple[str, int], int]:
    # The client is kept in a variable: when it is collected, its open requests never end.
    client = admin(bootstrap)
    futures = client.list_offsets(
        dict.fromkeys(partitions, spec), isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ADMIN_TIMEOUT_S
    )
    return {(p.topic, p.partition): future.result(ADMIN_TIMEOUT_S).offset for p, future in futures.items()}


def readable_ends(bootstrap: str, ends: Offsets) -> dict[tuple[str, int], int]:
    """The offset after the last record before each end: an end may follow the marker of a transaction, or records
    that were compacted away or aborted, which no consumer ever reads."""
    reader = Consumer(consumer_options(bootstrap, "featuredsl-read") | {"enable.partition.eof": True})
    try:
        return {place: _last_record(reader, place, end, bootstrap) for place, end in ends.items()}
    finally:
        reader.close()


def _last_record(reader: Consumer, place: tuple[str, int], end: int, bootstrap: str) -> int:
    topic, partition = place
    behind = _TAIL
    while end > 0:
        start = end - behind if behind < end else OFFSET_BEGINNING
        reader.assign([TopicPartition(topic, partition, start)])
        last = _last_read(reader, end, bootstrap)
        if last is not None:
            return last + 1
        if start == OFFSET_BEGINNING:
            return 0
        behind *= 16
    return 0


def _last_read(reader: Consumer, end: int, bootstrap: str) -> int | None:
    """The offset of the last record before `end` of the partition that the reader is at; None when there is none."""
    last: int | None = None
    deadline = time.monotonic() + ADMIN_TIMEOUT_S
    while time.monotonic() < deadline:
        for message in reader.consume(1000, POLL_S):
            deadline = time.monotonic() + ADMIN_TIMEOUT_S
            offset = message.offset()
            if at_end(message) or (offset is not None and not failed(message, bootstrap) and offset >= end):
                return last
            if message.error() is None and offset is not None:
                last = offset
                if offset == end - 1:
                    return last
    raise DependencyError(f"Kafka at {bootstrap} sends nothing of a partition that ends at {end}; try again")


def committed_offsets(bootstrap: str, group: str, topics: Iterable[str]) -> dict[tuple[str, int], int]:
    """The offsets that a consumer group has committed; a partition without a commit is -1."""
    partitions = partitions_of(bootstrap, topics)
    reader = Consumer(consumer_options(bootstrap, group))
    try:
        found = _committed(reader, partitions)
        return {(p.topic, p.partition): max(p.offset, -1) for p in found}
    except KafkaException as error:
        raise unreachable(bootstrap, error) from error
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
