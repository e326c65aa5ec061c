"""Records that a decision leaves behind, in the shapes of the event contract. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import mmh3

from featuredsl.ccb.decide import DecisionResult
from featuredsl.ccb.types import Action
from serving.wire import DecideBody, RewardBody, Scalar

Record = dict[str, Any]
_SAMPLING_SEED = 0x5EED
_HASH_RANGE = 2**32


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision with everything that explains it. Times in milliseconds; `ts_ms` is the event time."""

    body: DecideBody
    model: str
    version: str
    result: DecisionResult
    ts_ms: int
    context: dict[str, Scalar]
    candidates: tuple[Action, ...]
    features: dict[str, Scalar]
    feature_status: dict[str, str]
    fallback: tuple[str, ...]
    error: str | None
    arm: str
    stages: dict[str, float] = field(default_factory=dict)

    @property
    def latency_ms(self) -> float:
        """Time in the service so far."""
        return self.stages.get("total", 0.0)


def is_sampled(request_id: str, probability: float) -> bool:
    """Whether a request falls into the sampled share; the same for every retry of the request."""
    return mmh3.hash(request_id, _SAMPLING_SEED, signed=False) < probability * _HASH_RANGE


def decision_json(answer: Answer) -> Record:
    """The answer of POST /v1/decide."""
    return {
        "request_id": answer.body.request_id,
        "model": answer.model,
        "model_version": answer.version,
        "slots": [
            {
                "slot_id": slot.slot_id,
                "ranking": [
                    {"action_id": name, "score": score, "probability": probability}
                    for name, score, probability in slot.ranking
                ],
                "chosen": slot.chosen,
                "probability": slot.probability if slot.chosen is not None else None,
            }
            for slot in answer.result.slots
        ],
        "features": answer.features,
        "feature_status": answer.feature_status,
        "fallback": list(answer.fallback),
        "latency_ms": answer.latency_ms,
        "stages": answer.stages,
    }


def prediction(answer: Answer, sample_probability: float) -> Record:
    """The prediction record: features as used, and the picks with their probabilities."""
    picks = [
        {
            "slot_id": slot.slot_id,
            "chosen": slot.chosen,
            "probability": slot.probability,
            "score": slot.ranking[0].score if slot.ranking else None,
        }
        for slot in answer.result.slots
    ]
    record: Record = {
        "request_id": answer.body.request_id,
        "ts": answer.ts_ms,
        "model": answer.model,
        "model_version": answer.version,
        "arm": answer.arm,
        "features": answer.context,
        "prediction": picks,
        "latency_ms": answer.latency_ms,
        "stages": answer.stages,
        "error": answer.error,
        "fallback": list(answer.fallback),
        "sample_probability": sample_probability,
    }
    return _with_parties(record, answer.body)


def impression(answer: Answer) -> Record | None:
    """The impression record of the decision with all probabilities; None when no slot could be filled."""
    slots = [
        {
            "slot_id": body.slot_id,
            "features": body.features,
            "chosen": slot.chosen,
            "probability": slot.probability,
            "propensities": {name: probability for name, _, probability in slot.ranking},
            **({"include": list(body.include)} if body.include else {}),
            **({"exclude": list(body.exclude)} if body.exclude else {}),
        }
        for body, slot in zip(answer.body.slots, answer.result.slots, strict=True)
        if slot.chosen is not None
    ]
    if not slots:
        return None
    record: Record = {
        "event_id": answer.body.request_id,
        "ts": answer.ts_ms,
        "model": answer.model,
        "model_version": answer.version,
        "context": answer.context,
        "candidates": [{"action_id": item.action_id, "features": dict(item.features)} for item in answer.candidates],
        "slots": slots,
    }
    return _with_parties(record, answer.body)


def exposures(answer: Answer) -> list[Record]:
    """One flat record per filled slot: entity keys, context as given, the chosen item and its features."""
    features = {item.action_id: item.features for item in answer.candidates}
    return [
        {
            **features[slot.chosen],
            **answer.body.context,
            **answer.body.entities,
            "action_id": slot.chosen,
            "event_id": answer.body.request_id,
            "slot_id": slot.slot_id,
            "ts": answer.ts_ms,
        }
        for slot in answer.result.slots
        if slot.chosen is not None
    ]


def outcome(body: RewardBody, ts_ms: int) -> Record:
    """The outcome record of a reward."""
    return {"request_id": body.request_id, "ts": ts_ms, "value": body.value, **_slot(body)}


def click(body: RewardBody, ts_ms: int) -> Record | None:
    """The click record of a reward that names a slot and has a value; else None."""
    if body.slot_id is None or not body.value:
        return None
    return {
        **body.columns,
        "event_id": body.request_id,
        "slot_id": body.slot_id,
        "ts": ts_ms,
        "value": body.value,
    }


def _slot(body: RewardBody) -> Record:
    return {} if body.slot_id is None else {"slot_id": body.slot_id}


def _with_parties(record: Record, body: DecideBody) -> Record:
    if body.tenant is not None:
        record["tenant"] = body.tenant
    if body.unit_id is not None:
        record["unit_id"] = body.unit_id
    return record
