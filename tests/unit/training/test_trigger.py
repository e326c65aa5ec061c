"""Triggers that a changed feature asks for: one a model, valid, and the same again for the same change."""

from __future__ import annotations

import orjson
import pytest

from featuredsl.errors import DependencyError
from jobs import kafka
from jobs.training.trigger import send_feature_changes
from schemas.records import read


class Producer:
    """Stands in for Kafka's."""

    def __init__(self, left: int = 0) -> None:
        self.sent: list[tuple[str, bytes, bytes]] = []
        self._left = left

    def produce(self, topic: str, value: bytes, key: bytes) -> None:
        self.sent.append((topic, value, key))

    def flush(self, timeout: float) -> int:
        return self._left


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Producer:
    made = Producer()
    monkeypatch.setattr(kafka, "ensure_topics", lambda bootstrap, names: None)
    monkeypatch.setattr(kafka, "producer", lambda bootstrap: made)
    return made


def test_one_trigger_for_each_model(producer: Producer) -> None:
    changed = {"b": ["g@2", "f@1"], "a": ["g@2"]}
    ids = send_feature_changes("broker:1", "p.", changed, 1_767_322_800_000)
    assert send_feature_changes("broker:1", "p.", {"b": ["f@1", "g@2"]}, 1_767_322_900_000) == (ids[1],)
    assert len(set(ids)) == 2
    assert [key for _, _, key in producer.sent] == [b"a", b"b", b"b"]
    record = read("retrain_trigger", producer.sent[1][1])
    assert record == orjson.loads(producer.sent[1][1])
    assert (record["model"], record["reason"], record["decision"]) == ("b", "FEATURE_CHANGE", "accepted")
    assert (record["ts"], record["evidence"], record["trigger_id"]) == (1_767_322_800_000, ["f@1", "g@2"], ids[1])
    assert {topic for topic, _, _ in producer.sent} == {"p.retrain_triggers"}


def test_another_change_has_another_id(producer: Producer) -> None:
    (first,) = send_feature_changes("broker:1", "", {"a": ["g@2"]}, 1)
    (second,) = send_feature_changes("broker:1", "", {"a": ["g@3"]}, 1)
    assert first != second


def test_a_broker_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "ensure_topics", lambda bootstrap, names: None)
    monkeypatch.setattr(kafka, "producer", lambda bootstrap: Producer(left=1))
    with pytest.raises(DependencyError, match="did not take the trigger"):
        send_feature_changes("broker:1", "", {"a": ["g@2"]}, 1)
