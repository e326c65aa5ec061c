"""One incident per (series, check): pending, firing, updates, resolved; silence is never a resolution."""

from __future__ import annotations

from dataclasses import dataclass, replace

from monitors.rules import BREACH, HOLD, SEVERITIES, UNKNOWN, Verdict

PENDING, FIRING_STATE = "pending", "firing"
FIRING, UPDATE, RESOLVED, RETRACTED, NODATA = "firing", "update", "resolved", "retracted", "nodata"


@dataclass(frozen=True, slots=True)
class Incident:
    """`since_us` is the start of the first breached hour of this incident; `peak` its largest value."""

    state: str
    since_us: int
    breaches: int = 1
    clears: int = 0
    severity: str | None = None
    peak: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What to tell about an incident after one hour: one of firing, update, resolved."""

    kind: str
    verdict: Verdict
    incident: Incident


@dataclass(frozen=True, slots=True)
class Patience:
    """How many breached hours fire a warning, and how many clear hours resolve; higher severities fire at once."""

    fire_after: int = 2
    clear_after: int = 2


def advance(
    incident: Incident | None, verdict: Verdict, hour_us: int, patience: Patience
) -> tuple[Incident | None, Change | None]:
    """The incident after one hour and what to tell about it.

    A breach opens, confirms or repeats; an hour between the limits (HOLD) keeps what is; `clear_after` clear
    hours in a row resolve; an hour without enough rows (UNKNOWN) changes nothing.
    """
    if verdict.outcome == UNKNOWN:
        return incident, None
    if verdict.outcome == BREACH:
        return _breached(incident, verdict, hour_us, patience)
    if incident is None:
        return None, None
    if verdict.outcome == HOLD:
        return replace(incident, clears=0), None
    return _cleared(incident, verdict, patience)


def _breached(
    incident: Incident | None, verdict: Verdict, hour_us: int, patience: Patience
) -> tuple[Incident, Change | None]:
    if incident is None:
        current = Incident(PENDING, hour_us, 1, 0, verdict.severity, verdict.value)
    else:
        current = replace(
            incident,
            breaches=incident.breaches + 1,
            clears=0,
            severity=_worse(incident.severity, verdict.severity),
            peak=_larger(incident.peak, verdict.value),
        )
    if current.state == FIRING_STATE:
        return current, Change(UPDATE, verdict, current)
    urgent = verdict.severity in SEVERITIES[1:]
    if urgent or current.breaches >= patience.fire_after:
        fired = replace(current, state=FIRING_STATE)
        return fired, Change(FIRING, verdict, fired)
    return current, None


def _cleared(incident: Incident, verdict: Verdict, patience: Patience) -> tuple[Incident | None, Change | None]:
    if incident.state == PENDING:
        return None, None
    current = replace(incident, clears=incident.clears + 1)
    if current.clears < patience.clear_after:
        return current, None
    return None, Change(RESOLVED, verdict, current)


def _worse(first: str | None, second: str | None) -> str | None:
    known = [name for name in (first, second) if name is not None]
    return max(known, key=SEVERITIES.index) if known else None


def _larger(first: float | None, second: float | None) -> float | None:
    known = [value for value in (first, second) if value is not None]
    return max(known) if known else None
