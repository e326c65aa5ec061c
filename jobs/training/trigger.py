"""Retrain triggers on Kafka: making one by hand, and following those of a model."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from featuredsl.errors import DependencyError
from jobs import kafka, kafka_offsets
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
    _send(bootstrap, prefix, [trigger], at_ms)
    return trigger


def send_feature_changes(
    bootstrap: str, prefix: str, changed: Mapping[str, Sequence[str]], at_ms: int
) -> tuple[str, ...]:
    """Put a FEATURE_CHANGE trigger on the topic for every model; returns their ids.

    `changed` is model -> `group@version` of what changed. The id is made of both, so sending again is harmless:
    a trigger that was handled is never trained again.
    """
    triggers = []
    for model, evidence in sorted(changed.items()):
        digest = hashlib.sha256("\n".join([model, *sorted(evidence)]).encode()).hexdigest()[:12]
        triggers.append(Trigger(f"feature-change-{model}-{digest}", model, "FEATURE_CHANGE", tuple(sorted(evidence))))
    _send(bootstrap, prefix, triggers, at_ms)
    return tuple(trigger.trigger_id for trigger in triggers)


def _send(bootstrap: str, prefix: str, triggers: Sequence[Trigger], at_ms: int) -> None:
    name = topic(prefix, RETRAIN_TRIGGERS)
    kafka.ensure_topics(bootstrap, [name])
    sender = kafka.producer(bootstrap)
    for trigger in triggers:
        sender.produce(name, orjson.dumps(record_of(trigger, at_ms)), key=trigger.model.encode())
    if sender.flush(FLUSH_S):
        msg = f"Kafka at {bootstrap} did not take the trigger within {FLUSH_S:g} s; try again, or `featuredsl trigger`"
        raise DependencyError(msg)


def record_of(trigger: Trigger, at_ms: int) -> dict[str, object]:
    """The event of an accepted trigger, as in schemas/events/retrain_trigger."""
    return {
        "trigger_id": trigger.trigger_id,
        "ts": at_ms,
        "model": trigger.model,
        "reason": trigger.reason,
        "decision": "accepted",
        "cooldown_until": None,
        "evidence": list(trigger.evidence),
    }


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
        ends = kafka_offsets.end_offsets(self._bootstrap, [self._topic])
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
