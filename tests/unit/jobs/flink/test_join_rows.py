"""What the join job computes in Python, and what its configuration refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from featuredsl.errors import InputError
from jobs.flink.join_config import INPUTS, StreamJoinConfig
from jobs.flink.join_rows import check_record, label_decision
from jobs.flink.join_sql import statements

T0 = 1_700_000_000_000
RULES = json.dumps({"window_ms": 1_800_000, "late_ms": 0, "reward": "click"})
BASE = {"kafka": "k", "prefix": "", "group_id": "g"}


def payload(**more: Any) -> str:
    record = {
        "event_id": "e",
        "ts": T0,
        "context": {"user": "u"},
        "candidates": [{"action_id": "a"}, {"action_id": "b", "features": {"p": 2}}],
        "slots": [{"slot_id": "1", "chosen": "b", "probability": 0.5}],
        **more,
    }
    return json.dumps(record)


@pytest.mark.parametrize(
    ("kind", "raw", "reason"),
    [
        ("impression", payload(), None),
        ("impression", None, None),
        ("impression", payload(slots=[]), "no_slots"),
        ("impression", payload(context=7), "bad_type"),
        ("catalog", json.dumps({"action_id": "a", "ts": T0, "features": None}), None),
        ("catalog", json.dumps({"action_id": "a", "ts": T0, "features": "text"}), "bad_type"),
        ("catalog", json.dumps({"action_id": "a", "ts": T0, "features": {"x": [1]}}), "bad_type"),
    ],
)
def test_check_names_the_reason(kind: str, raw: str | None, reason: str | None) -> None:
    found = check_record(kind, raw)
    assert (None if found is None else found.split(": ")[0]) == reason


def test_label_joins_everything() -> None:
    clicks = json.dumps([["1", T0 * 1000 + 5, None], ["9", T0 * 1000 + 5, None]])
    auction = json.dumps({"event_id": "e", "ts": T0, "floor_price": 1.5})
    catalog = json.dumps({"a": {"p": 1}, "b": {"p": 1, "q": "x"}})
    kind, body, clicked, stray = label_decision(payload(), clicks, auction, None, catalog, RULES)
    assert (kind, clicked, stray) == ("example", True, 1)
    example = json.loads(body)
    assert example["slots"] == [{"slot_id": "1", "chosen": "b", "probability": 0.5, "cost": -1.0}]
    assert example["decision"]["context"] == {"auction_floor_price": 1.5, "user": "u"}
    assert [item["features"] for item in example["decision"]["candidates"]] == [{"p": 1}, {"p": 2, "q": "x"}]
    assert "ccb slot 1:-1:0.5 |S slot_id=1" in example["vw"]


def test_label_of_a_decision_that_was_never_seen_or_cannot_be_learned() -> None:
    waiting = payload(activation_required=True)
    assert label_decision(waiting, "[]", None, None, "{}", RULES)[0] == "inactive"
    assert label_decision(waiting, "[]", None, T0 * 1000, "{}", RULES)[0] == "example"
    costly = json.dumps({"window_ms": 1_800_000, "late_ms": 0, "reward": "sum"})
    clicks = json.dumps([["1", T0 * 1000, 1e9]])
    kind, body, clicked, _ = label_decision(payload(), clicks, None, None, "{}", costly)
    assert (kind, body.split(": ")[0], clicked) == ("rejected", "bad_cost", False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kafka": None}, "lacks kafka"),
        ({"inputs": ["impressions"]}, "clicks are needed"),
        ({"inputs": ["impressions", "clicks", "news"]}, "known: impressions"),
        ({"reward": "mean"}, "unknown reward"),
        ({"window_ms": 0}, "window must be positive"),
        ({"delivery": "maybe"}, "unknown delivery"),
        ({"parallelism": 0}, "parallelism must be positive"),
    ],
)
def test_wrong_configurations_are_refused(change: dict[str, Any], message: str) -> None:
    config = {name: value for name, value in {**BASE, **change}.items() if value is not None}
    with pytest.raises(InputError, match=message):
        StreamJoinConfig.read(config)


def test_texts_of_the_configuration_are_quoted() -> None:
    program = "\n".join(statements({**BASE, "kafka": "a'b", "group_id": "it's"}))
    assert "'properties.bootstrap.servers' = 'a''b'" in program
    assert "'properties.group.id' = 'it''s'" in program


def test_every_input_has_a_source_a_dead_letter_topic_and_counts() -> None:
    program = statements(BASE)
    for name in INPUTS:
        assert sum(f"CREATE TEMPORARY TABLE `{name}_in`" in text for text in program) == 1
        assert sum(f"INSERT INTO `{name}_dlq`" in text for text in program) == 1
        assert f"SELECT 'invalid_{name}', 1" in program[-1]
