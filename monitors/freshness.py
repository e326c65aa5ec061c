"""How old a group's values may be, and what to tell when they are older. Pure: time is an argument.

A value of a tier is at worst `period + delay` old by design; with the slack that a deployment grants, that is the
limit. A streamed group is stale only while records wait that its job has not read: then its age is the time since the
newest event that the job has processed, but no longer than it has been behind. Without waiting records it is fresh,
however long ago the last event was: a source without traffic is no failure.

A job whose checkpoints do not complete keeps values fresh, and would fall far back when it dies: its last complete
checkpoint is looked at like a tier, with the time at which the next one is due.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from featuredsl.errors import InputError
from featuredsl.horizon import HISTORY, HORIZON
from featuredsl.tiers import TIERS
from featuredsl.times import HOUR, MINUTE, SECOND, format_duration, format_time, parse_duration

CHECK = "freshness"
FEATURE = "$freshness"
CHECKPOINT = "checkpoint"
FIRING, RESOLVED = "firing", "resolved"
WARNING, CRITICAL = "warning", "critical"
CRITICAL_RATIO = 10
SLACK_US: Mapping[str, int] = {
    "realtime": 5 * SECOND,
    "5m": 30 * SECOND,
    "1h": 10 * MINUTE,
    "1d": HOUR,
    HISTORY: HORIZON.period_us + HORIZON.delay_us + HOUR,  # so far lies a horizon before its run, and an hour
    CHECKPOINT: 30 * SECOND,
}


@dataclass(frozen=True, slots=True)
class Objective:
    """The limit of each tier, and how many looks in a row fire and resolve."""

    slack_us: Mapping[str, int] = field(default_factory=lambda: dict(SLACK_US))
    fire_after: int = 3
    clear_after: int = 2
    source: str = "featuredsl/freshness"

    def limit_us(self, tier: str) -> int:
        """The greatest age of a value that is in order: period + delay + slack; histories are those of a daily run, and
        a checkpoint may be overdue for its slack."""
        if tier == CHECKPOINT:
            return self.slack_us[tier]
        found = TIERS["1d" if tier == HISTORY else tier]
        return found.period_us + found.delay_us + self.slack_us[tier]


def objective(pairs: Sequence[str]) -> Objective:
    """An objective from `TIER=DURATION` options (the slack). Raises InputError."""
    slack = dict(SLACK_US)
    for pair in pairs:
        tier, _, text = pair.partition("=")
        if tier not in slack:
            msg = f"--slack {pair!r}: tier {tier!r} is none of {', '.join(slack)}; write it like realtime=5s"
            raise InputError(msg)
        slack[tier] = parse_duration(text)
    return Objective(slack)


@dataclass(frozen=True, slots=True)
class Measured:
    """One look at a tier of a group.

    `newest_us` is the event time up to which it is (of batch tiers the completed batch time, of a job the time at which
    the checkpoint after its last complete one was due), None when nothing is known; `waiting` how many records its job
    has not read (None: a batch tier or a checkpoint, whose age needs no waiting records).
    """

    group: str
    version: str
    tier: str
    newest_us: int | None
    waiting: int | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """What is remembered of a tier of a group between looks."""

    behind_since_us: int | None = None
    breaches: int = 0
    clears: int = 0
    firing_since_us: int | None = None
    peak_us: int = 0
    version: str = ""
    """Under which it fires: what was told of a version that is gone is resolved under its name."""


State = Mapping[tuple[str, str], Watch]


def age_us(watch: Watch, measured: Measured, now_us: int) -> int | None:
    """How stale the values are; None when nothing is known (a batch tier that never ran, before the first look). What
    never ran ages from the first look on."""
    if measured.waiting is None:
        since_us = watch.behind_since_us if measured.newest_us is None else measured.newest_us
        return None if since_us is None else max(now_us - since_us, 0)
    if measured.waiting == 0 or watch.behind_since_us is None:
        return 0
    return max(now_us - max(watch.behind_since_us, measured.newest_us or 0), 0)


def step(
    state: State, looks: Iterable[Measured], now_us: int, objective: Objective
) -> tuple[dict[tuple[str, str], Watch], list[dict[str, Any]]]:
    """The state after one look at every tier, and the alert events that it calls for.

    `fire_after` looks over the limit in a row fire, `clear_after` in a row within it resolve. What cannot be looked
    at stays as it was.
    """
    new = dict(state)
    events: list[dict[str, Any]] = []
    for measured in looks:
        name = (measured.group, measured.tier)
        watch = _behind(state.get(name, Watch()), measured, now_us)
        age = age_us(watch, measured, now_us)
        if age is None:
            new[name] = watch
            continue
        limit = objective.limit_us(measured.tier)
        late = age > limit
        new[name], kind = _breached(watch, measured, age, now_us, objective) if late else _cleared(watch, objective)
        if kind is not None:
            told = new[name] if kind == FIRING else watch
            events.append(_event(kind, told, replace(measured, version=told.version), age, now_us, objective))
    return new, events


def _behind(watch: Watch, measured: Measured, now_us: int) -> Watch:
    never_ran = measured.waiting is None and measured.newest_us is None
    if not measured.waiting and not never_ran:
        return replace(watch, behind_since_us=None)
    return watch if watch.behind_since_us is not None else replace(watch, behind_since_us=now_us)


def _breached(
    watch: Watch, measured: Measured, age: int, now_us: int, objective: Objective
) -> tuple[Watch, str | None]:
    found = replace(watch, breaches=watch.breaches + 1, clears=0, peak_us=max(watch.peak_us, age))
    if found.firing_since_us is None and found.breaches >= objective.fire_after:
        return replace(found, firing_since_us=now_us, version=measured.version), FIRING
    return found, None


def _cleared(watch: Watch, objective: Objective) -> tuple[Watch, str | None]:
    if watch.firing_since_us is None:
        return Watch(watch.behind_since_us), None
    if watch.clears + 1 < objective.clear_after:
        return replace(watch, breaches=0, clears=watch.clears + 1), None
    return Watch(watch.behind_since_us), RESOLVED


def _event(kind: str, watch: Watch, measured: Measured, age: int, now_us: int, objective: Objective) -> dict[str, Any]:
    """A CloudEvent of the kind that drift events are; one firing and its resolution share their dedupe key."""
    limit = objective.limit_us(measured.tier)
    since = watch.firing_since_us or now_us
    key = _digest(["", measured.group, measured.version, FEATURE, measured.tier, CHECK])
    newest = measured.newest_us
    reason = f"{measured.tier}: at most {format_duration(limit)} {'overdue' if measured.tier == CHECKPOINT else 'old'}"
    return {
        "specversion": "1.0",
        "id": _digest([key, kind, since]),
        "source": objective.source,
        "type": f"featuredsl.drift.{kind}",
        "subject": f"{measured.group}/{measured.version}/{FEATURE}",
        "time": format_time(now_us),
        "datacontenttype": "application/json",
        "data": {
            "schema_version": 1,
            "revision": 1,
            "dedup_key": key,
            "model": measured.group,
            "model_version": measured.version,
            "feature": FEATURE,
            "segment": measured.tier,
            "check": CHECK,
            "state": kind,
            "severity": CRITICAL if watch.peak_us > CRITICAL_RATIO * limit else WARNING,
            "value": age / SECOND,
            "threshold": limit / SECOND,
            "threshold_reason": f"{reason}; {measured.detail}" if measured.detail else reason,
            "window_start": None if newest is None else format_time(newest),
            "window_end": format_time(now_us),
            "first_breach": format_time(since),
            "peak": watch.peak_us / SECOND,
            "duration_hours": (now_us - since) // HOUR,
            "waiting_records": measured.waiting,
            "resolved": kind == RESOLVED,
        },
    }


def _digest(parts: Sequence[object]) -> str:
    text = json.dumps(list(parts), separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
