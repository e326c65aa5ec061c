"""The drift job on a real cluster: a log with a shift, read twice; events, one trigger, dead letters, alerts.

Oracles: numpy on the raw values for the counts of an event's bins, the PSI formula on those counts.
"""

from __future__ import annotations

import base64
import io
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from featuredsl.settings import Settings
from jobs.alert_sinks import ConsoleSink
from jobs.alerts import Dispatcher, run_alerts
from jobs.flink.drift_cli import start_drift
from jobs.flink.handle import JobHandle
from jobs.kafka import ensure_topics, producer, read_all
from monitors.alerts.routing import Route, Throttle
from schemas.topics import PREDICTIONS
from tests.support.stack import TestStack

HOUR_MS = 3_600_000
START_MS = 490_000 * HOUR_MS
BASELINE, STABLE, SHIFTED, ROWS = 24, 2, 8, 120
HOURS = BASELINE + STABLE + SHIFTED
WAIT_S = 300.0
pytestmark = pytest.mark.timeout(900)
BAD = [b"{not json", b'{"request_id": "r", "ts": 1760000000000, "model": "m"}', b"\xff\xfe", b"[1]"]


@dataclass
class Log:
    """What was sent: the raw values of x by hour, and a record that came too late."""

    settings: Settings
    x: dict[int, list[float]]
    late: bytes

    def read(self, name: str) -> list[dict[str, Any]]:
        topic = self.settings.prefix + name
        return [json.loads(record.value or b"") for record in read_all(self.settings.kafka, topic)]

    def run(self, name: str, then: Callable[[], None] | None = None) -> None:
        """Submit the job under a name of its own, let it read everything, `then` and what that added, end it."""
        job: JobHandle = start_drift(
            self.settings,
            {
                "name": f"{self.settings.prefix}{name}",
                "group_id": f"{self.settings.prefix}{name}",
                "baseline": {"from_ms": START_MS, "to_ms": START_MS + BASELINE * HOUR_MS},
            },
        )
        try:
            job.wait_lag_zero(WAIT_S)
            if then is not None:
                then()
                job.wait_lag_zero(WAIT_S)
        finally:
            job.cancel()


def prediction(hour: int, number: int, x: float, colour: str) -> bytes:
    record = {
        "request_id": f"{hour}-{number}",
        "ts": START_MS + hour * HOUR_MS + number * (HOUR_MS // ROWS),
        "model": "ranker",
        "model_version": "1" if hour < 30 else "2",
        "features": {"x": x, "colour": colour, "nested": {"flag": number % 2 == 0}, "gone": None},
        "prediction": [{"slot_id": "1", "chosen": "a", "probability": 0.25, "score": 1.5}],
        "latency_ms": 2.0,
        "error": None,
        "fallback": [],
        "sample_probability": 1.0,
    }
    return json.dumps(record).encode()


@pytest.fixture(scope="module")
def log(stack: TestStack) -> Log:
    settings = stack.need("kafka", "flink")
    topic = settings.prefix + PREDICTIONS
    ensure_topics(settings.kafka, [topic], partitions=1)
    rng = np.random.default_rng(4)
    sent = Log(settings, {}, prediction(BASELINE, 0, 1.0, "red"))
    out = producer(settings.kafka)
    for hour in range(HOURS):
        shift = 8.0 if hour >= BASELINE + STABLE else 0.0
        sent.x[hour] = [float(value) for value in rng.normal(20 + shift, 2, ROWS)]
        for number, x in enumerate(sent.x[hour]):
            row = prediction(hour, number, x, str(rng.choice(["red", "green", "blue"])))
            out.produce(topic, row)
    heartbeat = {"heartbeat": True, "ts": START_MS + (HOURS + 1) * HOUR_MS}
    for value in [*BAD, json.dumps(heartbeat).encode()]:
        out.produce(topic, value)
    out.flush(30)

    def send_late() -> None:
        out.produce(topic, sent.late)
        out.flush(30)

    sent.run("first", send_late)
    return sent


def psi_events(log: Log) -> list[dict[str, Any]]:
    return [e["data"] for e in log.read("drift_events") if e["data"]["check"] == "psi"]


def test_the_shift_is_told_by_all_three_statistics_and_nothing_else_is(log: Log) -> None:
    events = log.read("drift_events")
    firing = {(e["data"]["feature"], e["data"]["check"]) for e in events if e["type"] == "featuredsl.drift.firing"}
    assert firing == {("x", "psi"), ("x", "ks"), ("x", "wasserstein")}
    first = min(e["data"]["window_start"] for e in events)
    assert first == psi_events(log)[0]["window_start"]
    assert psi_events(log)[0]["traffic"]["predictions"] == ROWS
    assert len(psi_events(log)) == SHIFTED


def test_the_bins_and_the_psi_of_an_event_are_those_of_the_raw_values(log: Log) -> None:
    data = psi_events(log)[0]
    hour = BASELINE + STABLE
    season = [h for h in range(BASELINE) if (h - hour) % 24 in (0, 1, 23)]
    edges = np.array([row["to"] for row in data["bins"] if row["to"] is not None])
    size = len(edges) + 1
    raw = np.concatenate([log.x[h] for h in season]), np.array(log.x[hour])
    counts = [np.bincount(np.searchsorted(edges, part, side="left"), minlength=size) for part in raw]
    assert [row["baseline"] for row in data["bins"]] == counts[0].tolist()
    assert [row["current"] for row in data["bins"]] == counts[1].tolist()
    p, q = (np.maximum(part / part.sum(), 0.001) for part in counts)
    assert data["value"] == pytest.approx(float(np.sum((q - p) * np.log(q / p))))


def test_six_breached_hours_give_exactly_one_trigger(log: Log) -> None:
    [trigger] = log.read("retrain_triggers")
    assert (trigger["model"], trigger["reason"], trigger["decision"]) == ("ranker", "DRIFT", "accepted")
    assert trigger["first_breach_hour"] == START_MS + (BASELINE + STABLE) * HOUR_MS
    assert trigger["ts"] == trigger["first_breach_hour"] + 6 * HOUR_MS
    assert set(trigger["evidence"]) <= {e["id"] for e in log.read("drift_events")}


def test_what_is_not_counted_is_a_dead_letter(log: Log) -> None:
    letters = log.read(f"{PREDICTIONS}.dlq")
    reasons = ["bad_json", "bad_type", "bad_utf8", "late", "missing_field", "not_object"]
    assert Counter(one["reason"] for one in letters) <= Counter(reasons)
    assert len(letters) == len(BAD) + 1
    assert {base64.b64decode(one["payload"]) for one in letters} == {*BAD, log.late}
    assert {one["topic"] for one in letters} == {log.settings.prefix + PREDICTIONS}


def test_reading_the_log_again_gives_the_same_ids_and_alerts_tell_them_once(log: Log) -> None:
    events, triggers = log.read("drift_events"), log.read("retrain_triggers")
    log.run("again")
    repeated = Counter(e["id"] for e in log.read("drift_events"))
    assert repeated == Counter({e["id"]: 2 for e in events})
    assert [t["trigger_id"] for t in log.read("retrain_triggers")] == [triggers[0]["trigger_id"]] * 2
    out = io.StringIO()
    dispatcher = Dispatcher([ConsoleSink(out)], [Route("console")], Throttle(), out.write)
    total = 2 * (len(events) + len(triggers))

    def done() -> bool:
        return sum(dispatcher.counts.values()) >= total

    run_alerts(log.settings, dispatcher, done)
    lines = out.getvalue().splitlines()
    assert sum(line.startswith("[FIRING]") for line in lines) == 3
    assert sum(line.startswith("[RETRAIN] accepted") for line in lines) == 1
    assert dispatcher.counts["bad"] == 0
