"""The freshness rule: when it fires, when it is silent, what it says. Ages are worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from featuredsl.errors import InputError
from featuredsl.times import HOUR, MINUTE, SECOND
from monitors.alerts.messages import line
from monitors.alerts.routing import Throttle
from monitors.freshness import Measured, Objective, State, age_us, objective, step

T0 = 1_800_000_000_000_000
OBJECTIVE = Objective()


def look(newest_s: float | None, waiting: int | None, tier: str = "realtime", detail: str = "") -> Measured:
    newest = None if newest_s is None else T0 + int(newest_s * SECOND)
    return Measured("g", "v1", tier, newest, waiting, detail)


def run(looks: list[tuple[float, Measured]], limits: Objective = OBJECTIVE) -> list[tuple[float, dict[str, Any]]]:
    """(seconds, event) of every event of looks at seconds after T0."""
    state: State = {}
    told: list[tuple[float, dict[str, Any]]] = []
    for at, one in looks:
        state, events = step(state, [one], T0 + int(at * SECOND), limits)
        told += [(at, event) for event in events]
    return told


def test_a_stopped_job_fires_once_and_resolves_once() -> None:
    stopped = [(at, look(0, 10, detail="the job is GONE")) for at in range(0, 60, 5)]
    fresh = [(at, look(at, 0)) for at in range(60, 90, 5)]
    told = run(stopped + fresh)
    assert [(at, event["type"].rpartition(".")[2]) for at, event in told] == [(20, "firing"), (65, "resolved")]
    first, last = told[0][1]["data"], told[1][1]["data"]
    assert first["value"] == 20.0
    assert first["threshold"] == 5.0
    assert first["severity"] == "warning"
    assert first["threshold_reason"] == "realtime: at most 5s old; the job is GONE"
    assert last["value"] == 0.0
    assert last["peak"] == 55.0
    assert first["dedup_key"] == last["dedup_key"]
    assert line(told[0][1]).startswith("[FIRING] warning g/v1/$freshness freshness 20 (threshold 5)")
    throttle = Throttle()
    assert [throttle.passes(event) for _, event in told] == [True, True]


def test_an_alert_of_a_version_that_is_gone_is_resolved_under_its_name() -> None:
    stale = [(at, look(0, 10)) for at in range(0, 30, 5)]
    rebuilt = [(at, replace(look(at, 0), version="v2")) for at in range(30, 60, 5)]
    again = [(at, replace(look(60, 10), version="v2")) for at in range(60, 90, 5)]
    told = [event for _, event in run(stale + rebuilt + again)]
    assert [(event["type"].rpartition(".")[2], event["subject"]) for event in told] == [
        ("firing", "g/v1/$freshness"), ("resolved", "g/v1/$freshness"), ("firing", "g/v2/$freshness"),
    ]  # fmt: skip
    assert told[0]["data"]["dedup_key"] == told[1]["data"]["dedup_key"] != told[2]["data"]["dedup_key"]


def test_no_traffic_is_no_failure() -> None:
    assert run([(at, look(-8 * 3600, 0)) for at in range(0, 100, 5)]) == []
    assert run([(at, look(None, 0)) for at in range(0, 100, 5)]) == []


def test_the_first_event_after_a_quiet_night_is_not_eight_hours_late() -> None:
    night = [(0.0, look(-8 * 3600, 0)), (5.0, look(-8 * 3600, 1)), (10.0, look(9, 0))]
    assert run(night) == []
    state, _ = step({}, [look(-8 * 3600, 1)], T0, OBJECTIVE)
    assert age_us(state["g", "realtime"], look(-8 * 3600, 1), T0 + 3 * SECOND) == 3 * SECOND


def test_steady_traffic_always_has_records_on_their_way() -> None:
    assert run([(at, look(at - 0.2, 40)) for at in range(0, 300, 5)]) == []


def test_one_slow_look_does_not_fire() -> None:
    looks = [(at, look(at - 0.1, 3)) for at in range(0, 30, 5)]
    looks += [(30, look(20, 3)), (35, look(20, 3)), (40, look(39.9, 3)), (45, look(30, 3)), (50, look(49, 3))]
    assert run(looks) == []


def test_severity_grows_with_the_age() -> None:
    looks = [(at, look(0, 1)) for at in (0, 200, 400, 600)]
    assert [event["data"]["severity"] for _, event in run(looks)] == ["critical"]


def test_a_job_that_processes_nothing_is_as_old_as_its_wait() -> None:
    told = run([(at, look(None, 7)) for at in range(0, 40, 5)])
    assert [(at, event["data"]["value"]) for at, event in told] == [(20, 20.0)]
    assert told[0][1]["data"]["window_start"] is None


def test_batch_tiers_are_judged_by_their_last_completed_time() -> None:
    worst = (HOUR + 10 * MINUTE + 10 * MINUTE) // SECOND
    assert run([(worst + n, look(n, None, "1h")) for n in range(5)]) == []
    told = run([(worst + 1 + n, look(0, None, "1h")) for n in range(5)])
    assert [(at, event["data"]["value"]) for at, event in told] == [(worst + 3, worst + 3.0)]
    assert run([(at, look(None, None, "1d")) for at in range(5)]) == []


def test_what_never_ran_ages_from_the_first_look() -> None:
    limit = (27 * HOUR + 10 * MINUTE) // SECOND
    looks = [(5.0, look(None, None, "history")), *((limit + at, look(None, None, "history")) for at in range(3, 10))]
    told = run([*looks, (limit + 20, look(limit, None, "history")), (limit + 21, look(limit, None, "history"))])
    assert [(at, event["type"].rpartition(".")[2]) for at, event in told] == [
        (limit + 8, "firing"),  # 6, 7 and 8 s are over a limit that began at 5 s
        (limit + 21, "resolved"),
    ]
    assert told[0][1]["data"]["value"] == limit + 3
    assert told[0][1]["data"]["window_start"] is None


def test_what_cannot_be_looked_at_stays_as_it_was() -> None:
    state: State = {}
    for at in (0, 10, 20, 30):
        state, _ = step(state, [look(0, 1)], T0 + at * SECOND, OBJECTIVE)
    fired = state["g", "realtime"].firing_since_us
    assert fired == T0 + 30 * SECOND
    state, events = step(state, [], T0 + 40 * SECOND, OBJECTIVE)
    assert state["g", "realtime"].firing_since_us == fired
    assert events == []


def test_a_second_incident_is_news() -> None:
    looks = [(at, look(0, 1)) for at in range(0, 25, 5)]
    looks += [(at, look(at, 0)) for at in range(25, 40, 5)]
    looks += [(at, look(39, 1)) for at in range(40, 80, 5)]
    told = run(looks)
    throttle = Throttle()
    assert [throttle.passes(event) for _, event in told] == [True, True, True]
    assert len({event["id"] for _, event in told}) == 3


def test_slack() -> None:
    assert objective(["realtime=10s"]).limit_us("realtime") == 10 * SECOND
    assert OBJECTIVE.limit_us("1d") == 26 * HOUR
    with pytest.raises(InputError, match="tier 'fast' is none of realtime, 5m, 1h, 1d"):
        objective(["fast=1s"])
