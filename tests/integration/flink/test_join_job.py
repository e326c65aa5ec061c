"""The join job on a real cluster, against the brute-force truth of `join_oracle`."""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import vowpalwabbit

from jobs.flink.handle import JobHandle
from jobs.flink.submit import submit
from jobs.kafka import ensure_topics, producer, read_all
from jobs.wait import wait_until
from schemas.records import validate
from schemas.topics import CATALOG, COMPACTED, JOIN_INPUTS, every_topic
from tests.support.join_oracle import HOUR, LATE, SPAN, WINDOW, Scenario, Truth, build, truth
from tests.support.stack import TestStack

pytestmark = pytest.mark.timeout(900)

DECISIONS = 2_000
PARTITIONS = 2


@dataclass
class Run:
    """A finished run of the job: what was sent, what must come, and where it is."""

    kafka: str
    prefix: str
    job: JobHandle
    scenario: Scenario
    truth: Truth

    def records(self, name: str) -> list[Any]:
        return [json.loads(r.value) for r in read_all(self.kafka, self.prefix + name) if r.value is not None]

    def counts(self) -> dict[str, int]:
        newest = {r.key: json.loads(r.value or b"{}") for r in read_all(self.kafka, f"{self.prefix}join_counts")}
        return {value["name"]: value["n"] for value in newest.values()}


def heartbeat(kafka: str, prefix: str, ts: int) -> None:
    """One for each partition; with a key, because a compacted topic takes no record without."""
    out = producer(kafka)
    payload = json.dumps({"heartbeat": True, "ts": ts}).encode()
    for name in JOIN_INPUTS:
        for partition in range(PARTITIONS):
            out.produce(prefix + name, payload, key=b"heartbeat", partition=partition)
    out.flush(30)


def send(kafka: str, prefix: str, scenario: Scenario) -> None:
    """Everything in the order of sending. Activations are so rare that only heartbeats move their event time."""
    out = producer(kafka)
    for name, rows in scenario.sent.items():
        for _, payload in sorted(rows, key=lambda row: row[0]):
            out.produce(prefix + name, payload, key=key_of(name, payload))
    out.flush(60)


def key_of(name: str, payload: bytes) -> bytes:
    try:
        record = json.loads(payload)
        return str(record["action_id" if name == CATALOG else "event_id"]).encode()
    except (ValueError, KeyError, TypeError):
        return b"broken"


@pytest.fixture(scope="module")
def run(stack: TestStack) -> Iterator[Run]:
    settings = stack.need("kafka", "flink")
    kafka, prefix = settings.require("kafka"), f"join-{uuid.uuid4().hex[:8]}."
    ensure_topics(kafka, every_topic(prefix), PARTITIONS, [prefix + name for name in COMPACTED])
    start = (int(time.time()) - 5 * 86_400) * 1000
    scenario = build(start, DECISIONS, seed=7)
    topics = [prefix + name for name in JOIN_INPUTS]
    config = {"kafka": kafka, "prefix": prefix, "group_id": f"{prefix}join", "topics": topics, "name": f"{prefix}join"}
    job = submit("jobs.flink.join_job", config, settings)
    made = Run(kafka, prefix, job, scenario, truth(scenario))
    try:
        job.wait_running()
        send(kafka, prefix, scenario)
        heartbeat(kafka, prefix, start + SPAN + HOUR)
        await_examples(made, len(made.truth.examples))
        heartbeat(kafka, prefix, start + SPAN + WINDOW + LATE + 26 * HOUR)
        job.wait_lag_zero(240, topics)
        await_examples(made, len(made.truth.examples))
        yield made
    finally:
        job.cancel()


def await_examples(made: Run, wanted: int) -> None:
    def missing() -> str | None:
        made.job.check()
        found = len(made.records("ccb_examples"))
        return None if found >= wanted else f"{found} of {wanted} examples"

    wait_until(missing, 240, "examples are missing", 1.0)


def test_every_decision_has_exactly_one_example(run: Run) -> None:
    ids = Counter(record["event_id"] for record in run.records("ccb_examples"))
    assert set(ids) == set(run.truth.examples)
    assert set(ids.values()) == {1}


def test_labels_context_and_item_features_are_the_true_ones(run: Run) -> None:
    for record in run.records("ccb_examples"):
        validate("ccb_example", record)
        expected = run.truth.examples[record["event_id"]]
        decision = record["decision"]
        features = {action["action_id"]: action["features"] for action in decision["candidates"]}
        found = {
            "ts": record["ts"],
            "model": record["model"],
            "costs": [slot["cost"] for slot in record["slots"]],
            "context": decision["context"],
            "features": features,
        }
        assert found == expected, record["event_id"]


def test_vowpal_wabbit_learns_from_every_example(run: Run) -> None:
    with vowpalwabbit.Workspace("--ccb_explore_adf --quiet --strict_parse -q CA") as workspace:
        for record in run.records("ccb_examples"):
            workspace.learn(record["vw"])
        assert workspace.get_prediction_type() is not None


def test_refused_records_are_dead_letters_with_their_reason_and_bytes(run: Run) -> None:
    letters = Counter()
    for name in JOIN_INPUTS:
        for letter in run.records(f"{name}.dlq"):
            validate("dead_letter", letter)
            assert letter["topic"] == run.prefix + name
            letters[name, letter["reason"], base64.b64decode(letter["payload"])] += 1
    assert letters == Counter(run.scenario.refused)


def test_late_clicks_go_aside(run: Run) -> None:
    found = Counter((r["event_id"], r["slot_id"], r["ts"]) for r in run.records("late_clicks"))
    assert found == Counter(run.truth.late)


def test_counts_add_up(run: Run) -> None:
    counts = Counter(run.counts())
    expected = run.truth.counts
    assert {name: counts[name] for name in expected} == dict(expected)
    assert counts["late_clicks"] == len(run.truth.late)
    parts = ("examples", "inactive", "duplicates", "invalid_impressions", "rejected", "too_late")
    assert counts["impressions"] == sum(counts[name] for name in parts)
    assert run.job.exceptions() == []
