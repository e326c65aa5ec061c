"""Alerts: texts, payloads, routing, repetitions, metrics."""

from __future__ import annotations

import json
from typing import Any

import pytest

from featuredsl.errors import InputError
from monitors.alerts.messages import line, pagerduty, slack
from monitors.alerts.metrics import AlertMetrics
from monitors.alerts.routing import Route, Throttle

TRIGGER = {
    "trigger_id": "t1",
    "ts": 1,
    "model": "m",
    "reason": "DRIFT",
    "decision": "suppressed",
    "detail": "one a day",
    "subject": "m/*/x",
}


def event(kind: str = "firing", hours: int = 1, severity: str = "critical", **more: Any) -> dict[str, Any]:
    data = {
        "dedup_key": "k",
        "model": "m",
        "model_version": "*",
        "feature": "x",
        "check": "psi",
        "severity": severity,
        "value": 0.5123456,
        "threshold": 0.2,
        "lower": 0.31,
        "window_start": f"2026-01-05T{hours:02}:00:00.000000Z",
        "window_end": "later",
        "duration_hours": hours,
        "peak": 0.6,
        "links": {"runbook_url": "https://example.com/psi"},
    }
    return {
        "specversion": "1.0",
        "id": f"{kind}-{hours}",
        "source": "featuredsl/drift",
        "type": f"featuredsl.drift.{kind}",
        "subject": "m/*/x",
        "time": "2026-01-05T01:00:00.000000Z",
        "data": data | more,
    }


def test_a_line_says_what_where_and_how_much() -> None:
    assert line(event()) == (
        "[FIRING] critical m/*/x psi 0.5123 (threshold 0.2, at least 0.31) 2026-01-05T01:00:00.000000Z"
    )
    assert line(event("resolved", 3)).endswith("for 3 h, peak 0.6")
    assert line(event(co_moving=["y", "z"])).endswith("with 2 more: y, z")
    assert line(TRIGGER) == "[RETRAIN] suppressed m DRIFT t1 because of m/*/x (one a day)"


def test_payloads_are_strict_json_of_the_receivers_form() -> None:
    chat = slack(event())
    json.dumps(chat, allow_nan=False)
    assert chat["attachments"][0]["color"] == "#d9480f"
    assert "<https://example.com/psi|runbook>" in chat["attachments"][0]["text"]
    page = pagerduty(event(severity="page"), "R")
    assert (page["event_action"], page["dedup_key"], page["payload"]["severity"]) == ("trigger", "k", "critical")
    assert pagerduty(event("resolved"), "R")["event_action"] == "resolve"


@pytest.mark.parametrize(
    ("route", "taken"),
    [
        (Route("s"), True),
        (Route("s", "warning"), True),
        (Route("s", "page"), False),
        (Route("s", model="n*"), False),
        (Route("s", feature="x", check="psi"), True),
        (Route("s", check="ks"), False),
    ],
)
def test_routes(route: Route, taken: bool) -> None:
    assert route.takes(event()) is taken


def test_triggers_have_a_switch_of_their_own() -> None:
    assert Route("s", "page").takes(TRIGGER)
    assert not Route("s", triggers=False).takes(TRIGGER)


def test_a_route_with_an_unknown_severity_is_refused() -> None:
    with pytest.raises(InputError, match="fatal"):
        Route("s", "fatal")


def test_the_same_event_passes_once() -> None:
    throttle = Throttle()
    assert [throttle.passes(event()), throttle.passes(event())] == [True, False]
    assert [throttle.passes(TRIGGER), throttle.passes(TRIGGER)] == [True, False]


def test_updates_pass_on_escalation_and_as_reminders() -> None:
    throttle = Throttle(reminder_hours=6)
    assert throttle.passes(event("firing", 1, "warning"))
    assert not throttle.passes(event("update", 2, "warning"))
    assert throttle.passes(event("update", 3, "page"))
    assert not throttle.passes(event("update", 4, "warning"))
    assert [h for h in range(5, 20) if throttle.passes(event("update", h, "page"))] == [9, 15]
    assert throttle.passes(event("resolved", 20))
    assert throttle.passes(event("firing", 21, "warning"))


def test_only_so_many_ids_are_kept() -> None:
    throttle = Throttle(capacity=2)
    for hour in (1, 2, 3):
        throttle.passes(event("nodata", hour))
    assert throttle.passes(event("nodata", 1))
    assert not throttle.passes(event("nodata", 3))


def test_metrics_show_what_fires_now() -> None:
    metrics = AlertMetrics()
    metrics.add(event(feature='a"b'))
    metrics.add(event("update", 2, feature='a"b'))
    metrics.add(TRIGGER)
    text = metrics.render()
    labels = 'model="m",model_version="*",feature="a\\"b",check="psi",severity="critical"'
    assert f"featuredsl_drift_firing{{{labels}}} 1" in text
    assert 'featuredsl_drift_events_total{kind="update"} 1' in text
    assert 'featuredsl_retrain_triggers_total{decision="suppressed"} 1' in text
    metrics.add(event("resolved", 3))
    assert "featuredsl_drift_firing{" not in metrics.render()
