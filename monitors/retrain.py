"""When drift asks for a retraining, and the guard that keeps retrainings rare.

Six breached hours that are consecutive among the hours with enough rows, within eight hours of the clock, ask
once; DRIFT and FEATURE_CHANGE pass at most once per model in a rolling day of event time, others always.
Whatever does not pass is recorded with the reason.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from monitors.policy import HOUR_US

DRIFT, FEATURE_CHANGE, MANUAL, SCHEDULED = "DRIFT", "FEATURE_CHANGE", "MANUAL", "SCHEDULED"
LIMITED = frozenset({DRIFT, FEATURE_CHANGE})
ACCEPTED, SUPPRESSED = "accepted", "suppressed"
REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Run:
    """Breached hours since the last good one (starts, us), and whether this run has asked already."""

    breached: tuple[int, ...] = ()
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Sustained:
    """`hours` breached hours within `span_hours` hours of the clock ask for a retraining."""

    hours: int = 6
    span_hours: int = 8


@dataclass(frozen=True, slots=True)
class Request:
    """Someone asks: `first_breach_us` names the occasion, `ts_us` is the event time of the request."""

    model: str
    reason: str
    ts_us: int
    first_breach_us: int
    evidence: tuple[str, ...] = ()
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Guard:
    """State of one model: when a limited request last passed, and the newest trigger ids."""

    last_accepted_us: int | None = None
    seen: tuple[str, ...] = ()


def extend(run: Run, hour_us: int, breach: bool | None, rule: Sustained) -> tuple[Run, int | None]:
    """The run after one hour, and the first breached hour when the run asks for a retraining now.

    `breach` is None for an hour without enough rows: it neither counts nor resets.
    """
    if breach is None:
        return run, None
    if not breach:
        return Run(), None
    oldest = hour_us - (rule.span_hours - 1) * HOUR_US
    hours = (*(start for start in run.breached if start >= oldest), hour_us)
    asks = not run.asked and len(hours) >= rule.hours
    return Run(hours, run.asked or asks), hours[0] if asks else None


def admit(guard: Guard, request: Request, cooldown_us: int) -> tuple[Guard, dict[str, Any] | None]:
    """The retrain trigger for a request, accepted or suppressed; None when this very trigger was made before."""
    name = trigger_id(request.model, request.reason, request.first_breach_us)
    if name in guard.seen:
        return guard, None
    free_at = None if guard.last_accepted_us is None else guard.last_accepted_us + cooldown_us
    limited = request.reason in LIMITED
    accepted = not limited or free_at is None or request.ts_us >= free_at
    last = request.ts_us if limited and accepted else guard.last_accepted_us
    until = None if last is None else last + cooldown_us
    seen = (*guard.seen, name)[-REMEMBERED:]
    detail = None if accepted else "one automatic retraining per model in a rolling day; the last was accepted"
    trigger = {
        "trigger_id": name,
        "ts": request.ts_us // 1000,
        "model": request.model,
        "reason": request.reason,
        "decision": ACCEPTED if accepted else SUPPRESSED,
        "cooldown_until": None if until is None else until // 1000,
        "evidence": list(request.evidence),
        "first_breach_hour": request.first_breach_us // 1000,
        "subject": request.subject,
        "detail": detail,
    }
    return replace(guard, last_accepted_us=last, seen=seen), trigger


def trigger_id(model: str, reason: str, first_breach_us: int) -> str:
    """The same occasion always has the same id, so that a replay repeats ids instead of adding triggers."""
    text = json.dumps([model, reason, first_breach_us], separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
