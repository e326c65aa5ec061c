"""Sends the replay's records to Kafka and counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import orjson
from confluent_kafka import KafkaError, Message

from examples.open_bandit.events import Record, heartbeat
from featuredsl.errors import DependencyError
from jobs import kafka, kafka_offsets
from schemas import topics

ANY_PARTITION = -1
FLUSH_S = 30.0
_QUEUE_FULL_WAIT_S = 1.0


class Sender:
    """Keyed records, heartbeats and deliberately broken lines, in order for each partition.

    Delivery failures surface in `flush`: nothing is lost silently.
    """

    def __init__(self, bootstrap: str, prefix: str, names: Iterable[str]) -> None:
        self._topics = {name: topics.topic(prefix, name) for name in names}
        self._partitions = {
            name: [p.partition for p in kafka_offsets.partitions_of(bootstrap, [topic])]
            for name, topic in self._topics.items()
        }
        self._producer = kafka.producer(bootstrap)
        self._failure: KafkaError | None = None
        self.sent: Counter[str] = Counter()
        self.broken: Counter[str] = Counter()
        self.heartbeats: Counter[str] = Counter()

    def send(self, name: str, record: Mapping[str, object]) -> None:
        """Queue one record of the topic `name`, keyed as the topic's records are."""
        key = _path(record, topics.KEYS[name])
        self._produce(name, orjson.dumps(record), key=str(key).encode())
        self.sent[name] += 1

    def send_broken(self, name: str, record: Record) -> None:
        """Queue a record whose second half is missing, as a torn write would leave it."""
        text = orjson.dumps(record)
        self._produce(name, text[: len(text) // 2], key=b"broken")
        self.broken[name] += 1

    def beat(self, names: Iterable[str], ts_us: int) -> None:
        """Queue a heartbeat for every partition of the topics."""
        payload = orjson.dumps(heartbeat(ts_us))
        for name in names:
            for partition in self._partitions[name]:
                self._produce(name, payload, key=b"heartbeat", partition=partition)
                self.heartbeats[name] += 1

    def flush(self) -> None:
        """Wait until everything queued is acknowledged. Raises DependencyError when something was not."""
        left = self._producer.flush(FLUSH_S)
        if self._failure is not None or left:
            reason = self._failure.str() if self._failure else f"{left} records not acknowledged in {FLUSH_S:g} s"
            msg = f"Kafka did not take the replay's records: {reason}"
            raise DependencyError(msg)

    def close(self) -> None:
        """Let go of the connection to Kafka; nothing can be sent afterwards."""
        del self._producer

    def _produce(self, name: str, value: bytes, key: bytes, partition: int | None = None) -> None:
        where = ANY_PARTITION if partition is None else partition
        while True:
            try:
                self._producer.produce(self._topics[name], value, key, partition=where, on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(_QUEUE_FULL_WAIT_S)
                continue
            self._producer.poll(0)
            return

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self._failure is None:
            self._failure = error


def _path(record: Mapping[str, object], path: Iterable[str]) -> object:
    value: object = record
    for step in path:
        if not isinstance(value, Mapping):
            break
        value = value[step]
    return value
