"""The monitor of one model: (state, closed hour) -> (state, events and triggers).

The same function runs in the Flink job, over files and in tests. It knows no clock and no engine: the hours
that it is given are its time, and the same hours always give the same events with the same ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from monitors.compare import Comparison, compare
from monitors.events import Evidence, Identity, Scene, event, nodata_event
from monitors.incidents import FIRING_STATE, RESOLVED, Change, Incident, Patience, advance
from monitors.policy import HOUR_US, MonitorConfig, Policy
from monitors.rates import discoveries
from monitors.reference import Reference, freeze
from monitors.retrain import DRIFT, Guard, Request, Sustained, admit, extend
from monitors.rules import MAX_HISTORY, Verdict, enough, error_rate, judge, transport_score
from monitors.state import Counts, ModelState, SeriesState
from monitors.traffic import ERROR, TRAFFIC, is_context, summary

Key = tuple[str, str]
PRESENCE = "presence"


@dataclass(frozen=True, slots=True)
class Hour:
    """All that was counted for a model in one closed hour: (series, version) -> label -> rows."""

    model: str
    start_us: int
    counts: Mapping[Key, Counts]


@dataclass(frozen=True, slots=True)
class Output:
    """Drift events and retrain triggers as JSON objects, and notes for the log."""

    events: tuple[dict[str, Any], ...] = ()
    triggers: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Work:
    """What one call gathers."""

    config: MonitorConfig
    hour: Hour
    series: dict[Key, SeriesState]
    events: list[dict[str, Any]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def identity(self, key: Key, check: str) -> Identity:
        return Identity(self.hour.model, key[1], key[0], check, self.config.tenant)


def step(state: ModelState, hour: Hour, config: MonitorConfig) -> tuple[ModelState, Output]:
    """Judge one closed hour. Hours of a model must come in order; one that was judged already changes nothing."""
    if hour.start_us <= state.hour_us:
        return state, Output(notes=(f"{hour.model}: hour {hour.start_us} was judged before",))
    work = _Work(config, hour, dict(state.series))
    found = dict(_collect(work))
    discovered = _discovered(found, config.policy)
    changes = [change for key in sorted(found) for change in _judge(work, key, found[key], key in discovered)]
    scene = _scene(work)
    for key, change, evidence in changes:
        work.events.append(event(work.identity(key, change.verdict.check), change, scene, evidence))
    idle = 0 if hour.counts else state.idle + 1
    _absences(work, scene, idle)
    guard, triggers = _decide(state.guard, work)
    after = ModelState(work.series, guard, hour.start_us, idle)
    return after, Output(tuple(work.events), triggers, tuple(work.notes))


def _collect(work: _Work) -> Iterable[tuple[Key, Comparison]]:
    """Freeze and feed the baselines; yield the comparison of every series whose reference is frozen."""
    for key, state in sorted(work.series.items()):
        work.series[key] = _freeze_when_due(work, key, state)
    for key, counts in sorted(work.hour.counts.items()):
        state = work.series.get(key) or _new_series(work)
        start = work.hour.start_us
        if state.reference is None:
            collects = state.baseline_from_us <= start
            hours = {**state.hours, start: dict(counts)} if collects else state.hours
            work.series[key] = replace(state, hours=hours, last_us=start)
            continue
        work.series[key] = replace(state, last_us=start)
        if not is_context(key[0]):
            yield key, _compare(state.reference, counts, start, work.config.policy)


def _new_series(work: _Work) -> SeriesState:
    """A series seen before the baseline ends shares its span; a later one gets a span of the same length."""
    start, plan = work.hour.start_us, work.config.baseline
    length = work.config.baseline_hours * HOUR_US if plan is None else plan.to_us - plan.from_us
    if plan is not None and start < plan.to_us:
        return SeriesState(plan.from_us, plan.to_us)
    return SeriesState(start, start + length)


def _freeze_when_due(work: _Work, key: Key, state: SeriesState) -> SeriesState:
    if state.reference is not None or work.hour.start_us < state.baseline_to_us or not state.hours:
        return state
    reference = freeze(state.hours, state.baseline_from_us, state.baseline_to_us)
    rows = sum(sum(counts.values()) for counts in state.hours.values())
    work.notes.append(
        f"baseline frozen: {work.hour.model}/{key[1]}/{key[0]}, {rows} rows of {len(state.hours)} hours, "
        f"dispersion {reference.dispersion:.2f}"
    )
    return replace(state, reference=reference, hours={})


def _compare(reference: Reference, counts: Counts, start_us: int, policy: Policy) -> Comparison:
    baseline = reference.baseline(start_us, seasonal=policy.calibrated)
    dispersion = reference.dispersion if policy.calibrated else 1.0
    return compare(baseline, reference.sample(counts), dispersion=dispersion)


def _discovered(found: Mapping[Key, Comparison], policy: Policy) -> set[Key]:
    tested = [(key, one.ks.p_value) for key, one in found.items() if one.ks and enough(one, policy)]
    rejected = discoveries([p_value for _, p_value in tested], policy.ks_rate)
    return {key for (key, _), reject in zip(tested, rejected, strict=True) if reject}


def _judge(work: _Work, key: Key, found: Comparison, discovered: bool) -> list[tuple[Key, Change, Evidence | None]]:
    policy, state = work.config.policy, work.series[key]
    reference = state.reference
    if reference is None:
        return []
    verdicts = _verdicts(work, key, found, discovered)
    back = _returned(state, policy)
    incidents, changes = _advance(state.incidents, verdicts, work.hour.start_us, policy)
    work.series[key] = replace(
        _sustain(work, key, replace(state, incidents=incidents), verdicts),
        history=_remember(state, found, verdicts, policy),
        absent=0,
    )
    evidence = Evidence(found, reference.from_us, reference.to_us, reference.numeric, reference.dispersion)
    return [(key, change, evidence) for change in (*back, *changes)]


def _returned(state: SeriesState, policy: Policy) -> tuple[Change, ...]:
    """The resolution of a no-data incident when rows come again."""
    if state.absent < policy.nodata_hours:
        return ()
    verdict = Verdict(PRESENCE, "clear", reason="rows arrive again")
    return (Change(RESOLVED, verdict, Incident(FIRING_STATE, state.last_us + HOUR_US)),)


def _verdicts(work: _Work, key: Key, found: Comparison, discovered: bool) -> tuple[Verdict, ...]:
    policy = work.config.policy
    if key[0] == ERROR:
        counts = work.hour.counts[key]
        rows = sum(counts.values())
        return (error_rate(rows - counts.get("snone", 0), rows, policy),)
    return judge(found, policy, work.series[key].history, discovered)


def _advance(
    incidents: Mapping[str, Incident], verdicts: Sequence[Verdict], hour_us: int, policy: Policy
) -> tuple[dict[str, Incident], list[Change]]:
    patience = Patience(policy.fire_after if policy.calibrated else 1, policy.clear_after)
    kept = dict(incidents)
    changes = []
    for verdict in verdicts:
        after, change = advance(kept.get(verdict.check), verdict, hour_us, patience)
        kept.pop(verdict.check, None)
        if after is not None:
            kept[verdict.check] = after
        if change is not None:
            changes.append(change)
    return kept, changes


def _sustain(work: _Work, key: Key, state: SeriesState, verdicts: Sequence[Verdict]) -> SeriesState:
    psi = next((one for one in verdicts if one.check == "psi"), None)
    if psi is None:
        return state
    policy, start = work.config.policy, work.hour.start_us
    breach = None if psi.outcome == "unknown" else psi.sustained
    rule = Sustained(policy.sustained_hours, policy.sustained_span_hours)
    run, first_us = extend(state.run, start, breach, rule)
    if first_us is not None:
        subject = work.identity(key, "psi").subject
        work.requests.append(Request(work.hour.model, DRIFT, start + HOUR_US, first_us, (), subject))
    return replace(state, run=run)


def _remember(state: SeriesState, found: Comparison, verdicts: Sequence[Verdict], policy: Policy) -> tuple[float, ...]:
    """Learn what is usual only from hours with enough rows in which nothing was breached."""
    score = transport_score(found, policy)
    quiet = all(one.outcome != "breach" for one in verdicts)
    if score is None or not enough(found, policy) or (policy.calibrated and not quiet):
        return state.history
    return (*state.history, score)[-MAX_HISTORY:]


def _scene(work: _Work) -> Scene:
    firing = [
        name
        for (name, _), state in sorted(work.series.items())
        if any(one.state == FIRING_STATE for one in state.incidents.values())
    ]
    config = work.config
    return Scene(work.hour.start_us, config.source, config.links, summary(work.hour.counts), firing)


def _absences(work: _Work, scene: Scene, idle: int) -> None:
    """Tell once, at `nodata_hours`, that a series with a reference has stopped, or the whole model has.

    A model without any row is one event, not one for each of its series.
    """
    if not work.hour.counts:
        if idle == work.config.policy.nodata_hours:
            since_us = work.hour.start_us - (idle - 1) * HOUR_US
            work.events.append(nodata_event(work.identity((TRAFFIC, "*"), PRESENCE), scene, since_us))
        return
    versions = {version for _, version in work.hour.counts}
    for key in [key for key in sorted(work.series) if key not in work.hour.counts and key[1] in versions]:
        state = work.series[key]
        if state.reference is None or is_context(key[0]):
            continue
        work.series[key] = replace(state, absent=state.absent + 1)
        if state.absent + 1 == work.config.policy.nodata_hours:
            work.events.append(nodata_event(work.identity(key, PRESENCE), scene, state.last_us + HOUR_US))


def _decide(guard: Guard, work: _Work) -> tuple[Guard, tuple[dict[str, Any], ...]]:
    """Put the requests of the hour to the guard, those with the earliest breach first."""
    evidence = tuple(one["id"] for one in work.events if one["data"]["check"] == "psi")
    triggers = []
    for request in sorted(work.requests, key=lambda one: (one.first_breach_us, one.subject)):
        cooldown = work.config.policy.cooldown_hours * HOUR_US
        guard, trigger = admit(guard, replace(request, evidence=evidence), cooldown)
        if trigger is not None:
            triggers.append(trigger)
    return guard, tuple(triggers)
