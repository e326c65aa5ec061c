"""Retrain triggers on Kafka: making one by hand, and following those of a model."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from featuredsl.errors import DependencyError
from jobs import kafka
from schemas.records import RecordError, read
from schemas.topics import RETRAIN_TRIGGERS, topic

FLUSH_S = 15.0


@dataclass(frozen=True, slots=True)
class Trigger:
    """An accepted request to retrain a model."""

    trigger_id: str
    model: str
    reason: str
    evidence: tuple[str, ...] = ()


def send_manual(bootstrap: str, prefix: str, model: str, at_ms: int, evidence: Sequence[str] = ()) -> Trigger:
    """Put a MANUAL trigger on the topic (manual ones are never limited); returns it."""
    trigger = Trigger(f"manual-{model}-{uuid.uuid4().hex[:12]}", model, "MANUAL", tuple(evidence))
    record = {
        "trigger_id": trigger.trigger_id,
        "ts": at_ms,
        "model": model,
        "reason": trigger.reason,
        "decision": "accepted",
        "cooldown_until": None,
        "evidence": list(evidence),
    }
    name = topic(prefix, RETRAIN_TRIGGERS)
    kafka.ensure_topics(bootstrap, [name])
    sender = kafka.producer(bootstrap)
    sender.produce(name, orjson.dumps(record), key=model.encode())
    if sender.flush(FLUSH_S):
        msg = f"Kafka at {bootstrap} did not take the trigger within {FLUSH_S:g} s"
        raise DependencyError(msg)
    return trigger


class TriggerReader:
    """Accepted triggers of one model, each returned once; starts at the beginning of the topic."""

    def __init__(self, bootstrap: str, prefix: str, model: str) -> None:
        self._bootstrap = bootstrap
        self._topic = topic(prefix, RETRAIN_TRIGGERS)
        self._model = model
        self._next: dict[tuple[str, int], int] = {}
        self.rejected = 0

    def poll(self) -> list[Trigger]:
        """Triggers that arrived since the last call, oldest first; records that are not triggers are counted."""
        ends = kafka.end_offsets(self._bootstrap, [self._topic])
        if all(self._next.get(place, 0) >= end for place, end in ends.items()):
            return []
        news = [
            record.value
            for record in kafka.read_all(self._bootstrap, self._topic, until=ends, start=self._next)
            if record.offset >= self._next.get((record.topic, record.partition), 0)
        ]
        self._next = dict(ends)
        return [trigger for value in news if (trigger := self._accepted(value)) is not None]

    def _accepted(self, value: bytes | None) -> Trigger | None:
        try:
            record = read("retrain_trigger", value)
        except RecordError:
            self.rejected += 1
            return None
        if record["model"] != self._model or record["decision"] != "accepted":
            return None
        return Trigger(record["trigger_id"], record["model"], record["reason"], tuple(record.get("evidence") or ()))


def describe(trigger: Trigger) -> str:
    """The trigger as one JSON line."""
    return json.dumps({"trigger_id": trigger.trigger_id, "model": trigger.model, "reason": trigger.reason})
