"""The `ccb_example` record: a decision with its labels, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from featuredsl.ccb.encode import ActionWriter, action_line, training_text
from featuredsl.ccb.preprocess import IDENTITY
from featuredsl.ccb.types import Action, DecisionRequest, Example, Slot, SlotLabel
from featuredsl.ccb.validate import check_labels, check_request
from schemas.records import event_time_us, validate


def to_record(example: Example, write_action: ActionWriter = action_line) -> dict[str, Any]:
    """The JSON object of an example, with the text under the identity vocabulary."""
    request = example.request
    return {
        "event_id": example.event_id,
        "ts": example.ts_us // 1000,
        "model": example.model,
        "model_version": example.model_version,
        "weight": example.weight,
        "vw": training_text(example, IDENTITY, write_action),
        "slots": [
            {
                "slot_id": slot.slot_id,
                "chosen": label.chosen,
                "probability": label.probability,
                "cost": label.cost,
            }
            for slot, label in zip(request.slots, example.labels, strict=True)
        ],
        "decision": {
            "context": dict(request.context),
            "candidates": [_action(action) for action in request.candidates],
            "slots": [_slot(slot) for slot in request.slots],
        },
    }


def from_record(record: Mapping[str, Any]) -> Example:
    """Inverse of `to_record`; raises `schemas.records.RecordError` for a record that is not an example."""
    validate("ccb_example", dict(record))
    decision = record["decision"]
    request = DecisionRequest(
        context=decision["context"],
        candidates=tuple(Action(item["action_id"], item.get("features") or {}) for item in decision["candidates"]),
        slots=tuple(_read_slot(item) for item in decision["slots"]),
    )
    labels = _labels(record["slots"])
    check_request(request)
    check_labels(request, labels)
    return Example(
        event_id=record["event_id"],
        ts_us=event_time_us(record["ts"]),
        request=request,
        labels=labels,
        weight=float(record.get("weight") or 1.0),
        model=record.get("model"),
        model_version=record.get("model_version"),
    )


def _labels(slots: Sequence[Mapping[str, Any]]) -> tuple[SlotLabel, ...]:
    return tuple(SlotLabel(item["chosen"], float(item["cost"]), float(item["probability"])) for item in slots)


def _action(action: Action) -> dict[str, Any]:
    return {"action_id": action.action_id, "features": dict(action.features)}


def _slot(slot: Slot) -> dict[str, Any]:
    record: dict[str, Any] = {"slot_id": slot.slot_id, "features": dict(slot.features)}
    if slot.include:
        record["include"] = list(slot.include)
    if slot.exclude:
        record["exclude"] = list(slot.exclude)
    return record


def _read_slot(item: Mapping[str, Any]) -> Slot:
    return Slot(
        item["slot_id"],
        item.get("features") or {},
        tuple(item.get("include") or ()),
        tuple(item.get("exclude") or ()),
    )
