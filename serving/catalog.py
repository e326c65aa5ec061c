"""The product catalog in memory: requests name actions by id, the service knows their features."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Any, TypeAlias

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from featuredsl.ccb.types import Action
from featuredsl.errors import DependencyError, InputError
from schemas.records import RecordError, is_heartbeat, parse, validate
from serving.metrics import Metrics
from serving.wire import CandidateBody, candidate_id

_CACHED_SETS = 1_024
_POLL_S = 0.2
_BATCH = 500
Candidates: TypeAlias = tuple[str | CandidateBody, ...]

log = logging.getLogger(__name__)


class Catalog:
    """Actions by id. One thread may update while another resolves."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._actions: dict[str, Action] = {}
        self._sets: dict[Candidates, tuple[tuple[Action, ...], int]] = {}

    def __len__(self) -> int:
        return len(self._actions)

    def resolve(self, candidates: Candidates) -> tuple[tuple[Action, ...], int]:
        """The candidates as actions, and how many of those without own features the catalog does not know.

        Sets of bare ids give the identical tuple again until the catalog changes.
        """
        sets = self._sets  # a change replaces it after the actions, so a stale answer never enters the new one
        try:
            known = sets.get(candidates)
        except TypeError:  # a candidate in long form is not hashable
            return self._resolve_bodies(candidates)
        if known is None:
            known = self._build(candidates)
            if len(sets) >= _CACHED_SETS:
                sets.clear()
            sets[candidates] = known
        return known

    def _resolve_bodies(self, candidates: Candidates) -> tuple[tuple[Action, ...], int]:
        if any(isinstance(item, CandidateBody) and item.features for item in candidates):
            return self._build(candidates)
        return self.resolve(tuple(candidate_id(item) for item in candidates))

    def apply(self, key: bytes | None, payload: bytes | None) -> None:
        """Take over a catalog record; without a payload the action of `key` is gone. Bad ones are counted."""
        if payload is None:
            self._change((key or b"").decode("utf-8", "replace"), None)
            return
        try:
            record = parse(payload)
            if is_heartbeat(record):
                return
            validate("catalog", record)
        except RecordError as error:
            self._metrics.catalog_rejected.labels(error.reason).inc()
            log.warning("catalog record refused: %s", error)
            return
        self._change(record["action_id"], _features(record))

    def load_file(self, path: Path) -> None:
        """Read a JSON Lines file of catalog records. Raises InputError when it has none."""
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            msg = f"cannot read the catalog {path}: {error.strerror}"
            raise InputError(msg) from error
        for line in lines:
            if line.strip():
                self.apply(None, line)
        if not self._actions:
            msg = f'the catalog {path} holds no valid record; a line is {{"action_id", "ts", "features"}}'
            raise InputError(msg)

    def _build(self, candidates: Candidates) -> tuple[tuple[Action, ...], int]:
        actions: list[Action] = []
        unknown = 0
        for item in candidates:
            if isinstance(item, CandidateBody) and item.features:
                actions.append(Action(item.action_id, item.features))
                continue
            name = candidate_id(item)
            action = self._actions.get(name)
            unknown += action is None
            actions.append(action or Action(name))
        return tuple(actions), unknown

    def _change(self, action_id: str, features: dict[str, Any] | None) -> None:
        if features is None:
            self._actions.pop(action_id, None)
        else:
            self._actions[action_id] = Action(action_id, features)
        self._sets = {}
        self._metrics.catalog_actions.set(len(self._actions))


def _features(record: dict[str, Any]) -> dict[str, Any] | None:
    """Scalar features of a catalog record; None when it says that the action is gone."""
    features = record.get("features")
    if features is None:
        return None
    return {name: value for name, value in features.items() if value is None or isinstance(value, str | int | float)}


class CatalogFollower:
    """A thread that reads the compacted catalog topic from its beginning and follows it."""

    def __init__(self, bootstrap: str, topic: str, catalog: Catalog) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._catalog = catalog
        self._stop = threading.Event()
        self._caught_up = threading.Event()
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._run, name="catalog", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def wait(self, timeout_s: float) -> None:
        """Block until everything present at the start has been read. Raises DependencyError in vain."""
        if not self._caught_up.wait(timeout_s) or self._failure:
            reason = self._failure or f"not read within {timeout_s:g} s"
            msg = f"catalog topic {self._topic!r} on {self._bootstrap}: {reason}"
            raise DependencyError(msg)

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10.0)

    def _run(self) -> None:
        try:
            self._follow()
        except KafkaException as error:
            self._failure = str(error.args[0])
            log.error("the catalog is no longer followed: %s", self._failure)
        self._caught_up.set()

    def _follow(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "featuredsl-catalog",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 100,
                "log_level": 3,
            }
        )
        try:
            numbers = self._partitions(consumer)
            consumer.assign([TopicPartition(self._topic, number, OFFSET_BEGINNING) for number in numbers])
            unread = set(numbers)
            while not self._stop.is_set():
                for message in consumer.consume(_BATCH, _POLL_S):
                    self._take(message, unread)
                if not unread:
                    self._caught_up.set()
        finally:
            consumer.close()

    def _partitions(self, consumer: Consumer) -> list[int]:
        deadline = time.monotonic() + 10.0
        while True:
            found = consumer.list_topics(self._topic, timeout=10.0).topics.get(self._topic)
            if found is not None and found.error is None and found.partitions:
                return sorted(found.partitions)
            if time.monotonic() > deadline or self._stop.wait(_POLL_S):
                raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))

    def _take(self, message: Message, unread: set[int]) -> None:
        error = message.error()
        if error is None:
            self._catalog.apply(_bytes(message.key()), _bytes(message.value()))
        elif error.code() == KafkaError._PARTITION_EOF:
            unread.discard(message.partition() or 0)
        elif error.fatal():
            raise KafkaException(error)


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
