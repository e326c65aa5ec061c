"""Every reason code of decisions, one impression each."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from featuredsl.ccb.validate import REASONS, read_impression, read_request
from schemas.records import RecordError

GOOD: dict[str, Any] = {
    "event_id": "e1",
    "ts": 1_700_000_000_000,
    "model": "m",
    "model_version": "3",
    "context": {"user": "new", "hour": 3},
    "candidates": [{"action_id": "a", "features": {"p": 1.0}}, {"action_id": "b"}, {"action_id": "c"}],
    "slots": [
        {"slot_id": "1", "chosen": "a", "probability": 0.5, "propensities": {"a": 0.5, "b": 0.25, "c": 0.25}},
        {"slot_id": "2", "chosen": "b", "probability": 0.5},
    ],
    "drop_probability": 0.9,
}


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    record = copy.deepcopy(GOOD)
    change(record)
    return record


def slot(**fields: Any) -> Callable[[dict[str, Any]], object]:
    return lambda record: record["slots"][0].update(fields)


def top(**fields: Any) -> Callable[[dict[str, Any]], object]:
    return lambda record: record.update(fields)


CASES: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("missing_field", lambda r: r.pop("event_id")),
    ("missing_field", lambda r: r["slots"][0].pop("probability")),
    ("bad_type", top(event_id=7)),
    ("bad_type", top(context=[])),
    ("bad_type", slot(probability="0.5")),
    ("bad_type", lambda r: r["context"].update(nested={"a": 1})),
    ("empty", top(event_id="")),
    ("bad_time", top(ts=1_700_000_000)),
    ("bad_time", top(ts="2024-01-01T00:00:00")),
    ("no_candidates", top(candidates=[])),
    ("no_slots", top(slots=[])),
    ("duplicate_candidate", lambda r: r["candidates"].append({"action_id": "a"})),
    ("duplicate_slot", lambda r: r["slots"][1].update(slot_id="1")),
    ("too_many_slots", lambda r: r.update(candidates=r["candidates"][:1])),
    ("unknown_action", slot(chosen="z")),
    ("repeated_action", lambda r: r["slots"][1].update(chosen="a")),
    ("action_not_allowed", slot(exclude=["a"])),
    ("action_not_allowed", slot(include=["b"])),
    ("no_allowed_action", slot(include=["z"])),
    ("bad_probability", slot(probability=0)),
    ("bad_probability", slot(probability=-0.1)),
    ("bad_probability", slot(probability=1.5)),
    ("bad_probability", slot(probability=float("nan"))),
    ("bad_probability", slot(probability=1e-46)),
    ("bad_propensities", slot(propensities={"a": 0.5, "b": 0.2})),
    ("bad_propensities", slot(propensities={"a": 0.5, "z": 0.5})),
    ("bad_propensities", slot(propensities={"a": 0.4, "b": 0.6})),
    ("bad_propensities", slot(propensities={"a": 0.5, "b": -0.5, "c": 1.0})),
    ("bad_propensities", slot(propensities={"b": 1.0})),
    ("bad_drop_probability", top(drop_probability=1.0)),
    ("bad_drop_probability", top(drop_probability=-0.1)),
    ("not_finite", lambda r: r["context"].update(x=float("inf"))),
    ("not_finite", lambda r: r["candidates"][0]["features"].update(p=float("nan"))),
]


@pytest.mark.parametrize(("reason", "change"), CASES)
def test_a_bad_impression_is_refused_with_its_reason(reason: str, change: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(RecordError) as caught:
        read_impression(changed(change))
    assert caught.value.reason == reason
    assert caught.value.detail


def test_every_reason_of_an_impression_has_a_case() -> None:
    labels_only = {"bad_cost", "bad_label"}
    assert set(REASONS) - labels_only <= {reason for reason, _ in CASES}


def test_a_good_impression_keeps_everything() -> None:
    impression = read_impression(GOOD)
    assert impression.ts_us == 1_700_000_000_000_000
    assert [item.chosen for item in impression.shown] == ["a", "b"]
    assert impression.weight == pytest.approx(10.0)
    assert impression.request.candidates[0].features == {"p": 1.0}


@pytest.mark.parametrize("total", [0.99995, 1.00005])
def test_propensities_may_miss_one_by_rounding(total: float) -> None:
    record = changed(slot(propensities={"a": 0.5, "b": total - 0.5}))
    assert read_impression(record).shown[0].probability == 0.5


def test_a_request_needs_no_labels() -> None:
    record = {"context": {}, "candidates": [{"action_id": "a"}], "slots": [{"slot_id": "1"}], "seed": "s"}
    assert read_request(record).seed == "s"
    with pytest.raises(RecordError, match="missing_field"):
        read_request({"context": {}, "candidates": []})
