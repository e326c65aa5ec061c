"""The log of a service: records go to Kafka through a bounded queue that never blocks a request."""

from __future__ import annotations

import logging
from typing import Any, Protocol

import orjson
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from schemas import topics
from serving import records
from serving.config import LogConfig
from serving.metrics import Metrics
from serving.records import Answer
from serving.wire import RewardBody

_QUEUE_KBYTES = 65_536

log = logging.getLogger(__name__)


class Sink(Protocol):
    """Takes keyed records for topics without blocking."""

    def send(self, name: str, key: str, record: dict[str, Any]) -> bool:
        """False when the record was dropped."""
        ...


class KafkaSink:
    """Kafka behind librdkafka's queue. Drops are counted by reason, never raised."""

    def __init__(self, bootstrap: str, prefix: str, queue_records: int, metrics: Metrics) -> None:
        self._prefix = prefix
        self._metrics = metrics
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 20,
                "compression.type": "lz4",
                "queue.buffering.max.messages": queue_records,
                "queue.buffering.max.kbytes": _QUEUE_KBYTES,
                "message.timeout.ms": 60_000,
                "delivery.report.only.error": True,
                "on_delivery": self._delivered,
                "log_level": 2,
            }
        )

    def send(self, name: str, key: str, record: dict[str, Any]) -> bool:
        """Queue one record for the topic `name`."""
        try:
            self._producer.produce(topics.topic(self._prefix, name), orjson.dumps(record), key.encode())
        except BufferError:
            return self._drop(name, "queue_full")
        except KafkaException as error:
            log.warning("a record for %s was refused: %s", name, error.args[0])
            return self._drop(name, "refused")
        self._metrics.log_records.labels(name).inc()
        return True

    def poll(self) -> None:
        """Serve delivery reports; call a few times a second."""
        self._producer.poll(0)
        self._metrics.log_queue.set(len(self._producer))

    @property
    def waiting(self) -> int:
        """Records not yet confirmed by Kafka."""
        return len(self._producer)

    def flush(self, timeout_s: float) -> int:
        """Wait until Kafka has everything; what is left after `timeout_s` counts as dropped."""
        left = int(self._producer.flush(timeout_s))
        if left:
            log.error("%d log records were not delivered within %g s", left, timeout_s)
            self._metrics.log_dropped.labels("all", "not_flushed").inc(left)
        return left

    def _drop(self, name: str, reason: str) -> bool:
        self._metrics.log_dropped.labels(name, reason).inc()
        return False

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            name = (message.topic() or "").removeprefix(self._prefix)
            self._metrics.log_dropped.labels(name, "not_delivered").inc()


class Recorder:
    """Decides which records of a decision or reward are written. Without a sink nothing is."""

    def __init__(self, sink: Sink | None, config: LogConfig) -> None:
        self._sink = sink
        self._config = config

    def decision(self, answer: Answer) -> None:
        """Write the sampled prediction and, where configured, the impression and its exposures."""
        if self._sink is None:
            return
        key = answer.body.request_id
        probability = 1.0 if answer.error else self._config.sampling
        if self._config.predictions and records.is_sampled(key, probability):
            self._sink.send(topics.PREDICTIONS, key, records.prediction(answer, probability))
        if not self._config.impressions:
            return
        shown = records.impression(answer)
        if shown is not None:
            self._sink.send(topics.IMPRESSIONS, key, shown)
            for exposure in records.exposures(answer):
                self._sink.send(topics.EXPOSURES, key, exposure)

    def reward(self, body: RewardBody, ts_ms: int) -> bool:
        """Write the outcome and, for a slot, the click. False when one of them was dropped."""
        if self._sink is None:
            return False
        accepted = self._sink.send(topics.OUTCOMES, body.request_id, records.outcome(body, ts_ms))
        clicked = records.click(body, ts_ms)
        if clicked is not None:
            accepted = self._sink.send(topics.CLICKS, body.request_id, clicked) and accepted
        return accepted
