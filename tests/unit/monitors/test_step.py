"""The monitor step over synthetic weeks: baselines, incidents, triggers, silence, state."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from featuredsl.errors import StateError
from monitors.buckets import label, representative
from monitors.compare import compare_values
from monitors.policy import HOUR_US, BaselinePlan, MonitorConfig, Policy
from monitors.state import ModelState, dumps, loads
from monitors.step import Hour, Output, step

START = 480_000 * HOUR_US
BASELINE = 96
ROWS = 200
PLAN = BaselinePlan(START, START + BASELINE * HOUR_US)


def values(hour: int, shift: float = 0.0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(hour).normal(10 + shift, 1, ROWS)


def hour_of(hour: int, shift: float = 0.0, errors: int = 0) -> Hour:
    """Feature x moves by `shift`, colour and size stay."""
    rng = np.random.default_rng(10_000 + hour)
    counts = {
        ("x", "*"): Counter(label(float(v)) for v in values(hour, shift)),
        ("size", "*"): Counter(label(float(v)) for v in rng.exponential(5, ROWS)),
        ("colour", "*"): Counter(label(str(v)) for v in rng.choice(["red", "green", "blue"], ROWS)),
        ("$error", "*"): Counter({"snone": ROWS - errors, "stimeout": errors}),
        ("$latency_ms", "*"): Counter({label(10.0): ROWS - 2, label(1000.0): 2}),
        ("$fallback", "*"): Counter({"snone": ROWS}),
    }
    return Hour("m", START + hour * HOUR_US, counts)


def run(hours: Iterator[Hour] | list[Hour], config: MonitorConfig, state: bytes | None = None) -> tuple[bytes, Output]:
    """Run through the byte form of the state, as the job does."""
    events: list[dict[str, Any]] = []
    triggers: list[dict[str, Any]] = []
    notes: list[str] = []
    data = state
    for hour in hours:
        after, output = step(loads(data), hour, config)
        data = dumps(after)
        events += output.events
        triggers += output.triggers
        notes += output.notes
    assert data is not None
    return data, Output(tuple(events), tuple(triggers), tuple(notes))


@pytest.fixture(scope="module")
def learned() -> bytes:
    return run([hour_of(h) for h in range(BASELINE)], MonitorConfig(PLAN))[0]


CONFIG = MonitorConfig(PLAN)


def test_a_stable_day_is_silent_and_each_baseline_is_frozen_once(learned: bytes) -> None:
    _, output = run([hour_of(BASELINE + h) for h in range(24)], CONFIG, learned)
    assert output.events == ()
    assert output.triggers == ()
    assert sum("baseline frozen" in note for note in output.notes) == 6


def test_a_shift_fires_once_per_check_and_asks_for_one_retraining(learned: bytes) -> None:
    _, output = run([hour_of(BASELINE + h, 3.0) for h in range(12)], CONFIG, learned)
    kinds = Counter((e["type"].rpartition(".")[2], e["data"]["check"], e["data"]["feature"]) for e in output.events)
    assert {key for key in kinds if key[0] == "firing"} == {
        ("firing", "psi", "x"),
        ("firing", "ks", "x"),
        ("firing", "wasserstein", "x"),
    }
    assert kinds["update", "psi", "x"] == 11
    assert len({e["data"]["dedup_key"] for e in output.events if e["data"]["check"] == "psi"}) == 1
    assert len({e["id"] for e in output.events}) == len(output.events)
    [trigger] = output.triggers
    assert trigger["decision"] == "accepted"
    assert trigger["first_breach_hour"] == PLAN.to_us // 1000
    assert trigger["ts"] == (PLAN.to_us + 6 * HOUR_US) // 1000
    assert set(trigger["evidence"]) <= {e["id"] for e in output.events}


def test_the_psi_of_an_event_is_that_of_the_raw_values(learned: bytes) -> None:
    _, output = run([hour_of(BASELINE, 3.0)], CONFIG, learned)
    data = next(e["data"] for e in output.events if e["data"]["check"] == "psi")
    near = [values(h) for h in range(BASELINE) if h % 24 in (23, 0, 1)]
    raw = np.concatenate(near), values(BASELINE, 3.0)
    rounded = [[representative(int(label(float(v))[1:])) for v in part] for part in raw]
    oracle = compare_values(*rounded).psi
    assert oracle is not None
    assert data["value"] == pytest.approx(oracle.value)
    assert data["n_baseline"] == len(rounded[0])
    assert sum(row["psi"] for row in data["bins"]) == pytest.approx(data["value"])


def test_events_are_strict_json_with_their_hour(learned: bytes) -> None:
    _, output = run([hour_of(BASELINE, 3.0)], CONFIG, learned)
    for event in output.events:
        text = json.dumps(event, allow_nan=False)
        assert len(text) < 256 * 1024
        assert event["specversion"] == "1.0"
        assert event["subject"] == "m/*/x"
        assert event["data"]["traffic"]["latency_ms"]["p50"] == pytest.approx(10, rel=0.01)
        assert event["data"]["traffic"]["predictions"] == ROWS


def test_the_shift_ends_and_the_incident_resolves(learned: bytes) -> None:
    hours = [hour_of(BASELINE + h, 3.0 if h < 4 else 0.0) for h in range(8)]
    _, output = run(hours, CONFIG, learned)
    last = [e for e in output.events if e["data"]["check"] == "psi"][-1]
    assert last["type"] == "featuredsl.drift.resolved"
    assert last["data"]["breached_hours"] == 4
    assert last["data"]["peak"] > 1
    assert output.triggers == ()


def test_errors_page(learned: bytes) -> None:
    _, output = run([hour_of(BASELINE, errors=5)], CONFIG, learned)
    [event] = output.events
    assert event["data"]["check"] == "error_rate"
    assert event["data"]["severity"] == "page"


def test_a_feature_that_stops_and_a_model_that_stops_are_told_once(learned: bytes) -> None:
    gone = []
    for h in range(5):
        hour = hour_of(BASELINE + h)
        gone.append(Hour("m", hour.start_us, {key: c for key, c in hour.counts.items() if key[0] != "size"}))
    state, output = run(gone, CONFIG, learned)
    assert [(e["type"], e["data"]["feature"]) for e in output.events] == [("featuredsl.drift.nodata", "size")]
    _, back = run([hour_of(BASELINE + 5)], CONFIG, state)
    assert [(e["type"], e["data"]["feature"]) for e in back.events] == [("featuredsl.drift.resolved", "size")]
    silent = [Hour("m", START + (BASELINE + h) * HOUR_US, {}) for h in range(6)]
    _, quiet = run(silent, CONFIG, learned)
    assert [(e["type"], e["data"]["feature"]) for e in quiet.events] == [("featuredsl.drift.nodata", "$traffic")]


def test_hours_without_enough_rows_neither_count_nor_resolve(learned: bytes) -> None:
    def thin(hour: int) -> Hour:
        return Hour("m", START + hour * HOUR_US, {("x", "*"): Counter(label(float(v)) for v in values(hour)[:20])})

    hours = [hour_of(BASELINE + h, 3.0) for h in range(3)] + [thin(BASELINE + 3)]
    hours += [hour_of(BASELINE + 4 + h, 3.0) for h in range(3)]
    _, output = run(hours, CONFIG, learned)
    assert not [e for e in output.events if e["type"].endswith("resolved")]
    assert [t["ts"] for t in output.triggers] == [(PLAN.to_us + 7 * HOUR_US) // 1000]


def test_a_nan_feature_is_told_and_its_neighbours_are_still_judged(learned: bytes) -> None:
    broken = hour_of(BASELINE, 3.0)
    _, output = run([Hour("m", broken.start_us, {**broken.counts, ("size", "*"): {"m": ROWS}})], CONFIG, learned)
    told = {(e["data"]["check"], e["data"]["feature"]) for e in output.events}
    assert told >= {("missing_rate", "size"), ("psi", "x")}


def test_an_hour_is_judged_once(learned: bytes) -> None:
    state, _ = run([hour_of(BASELINE, 3.0)], CONFIG, learned)
    again, output = run([hour_of(BASELINE, 3.0)], CONFIG, state)
    assert again == state
    assert output.events == ()


def test_replay_gives_the_same_bytes(learned: bytes) -> None:
    hours = [hour_of(BASELINE + h, 3.0) for h in range(7)]
    assert run(hours, CONFIG, learned) == run(hours, CONFIG, learned)


def test_a_late_series_gets_a_baseline_of_its_own(learned: bytes) -> None:
    extra = Hour("m", START + 200 * HOUR_US, {("new", "*"): {label(1.0): 300}})
    state, output = run([extra], CONFIG, learned)
    assert output.events == ()
    assert loads(state).series["new", "*"].baseline_to_us == extra.start_us + BASELINE * HOUR_US


def test_raw_thresholds_alarm_where_evidence_is_missing() -> None:
    plan = MonitorConfig(PLAN, policy=Policy(kind="thresholds"))
    state, _ = run([hour_of(h) for h in range(BASELINE)], plan)
    thin = Hour("m", PLAN.to_us, {("x", "*"): Counter(label(float(v)) for v in values(3)[:50])})
    _, raw = run([thin], plan, state)
    _, calibrated = run([thin], CONFIG, state)
    assert [e["data"]["check"] for e in raw.events] == ["psi"]
    assert calibrated.events == ()


def test_state_of_another_version_is_refused() -> None:
    assert loads(None) == ModelState()
    with pytest.raises(StateError, match="version 99"):
        loads(b'{"version": 99}')
    with pytest.raises(StateError):
        loads(b"\x00damaged")
