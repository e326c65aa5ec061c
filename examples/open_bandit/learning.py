"""Training, gate, promotion and hot reload, and what the monitors had to say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from examples.open_bandit import topics_read
from examples.open_bandit.probes import ProbeCounts, SwapProbe
from examples.open_bandit.processes import run_text
from examples.open_bandit.report import Check, Stage
from examples.open_bandit.run import MODEL
from examples.open_bandit.week import LAG_WAIT_S, Loop
from featuredsl.ccb.channel import Current, read_current
from jobs.wait import wait_until
from schemas import topics

TRIGGER_WAIT_S = 30.0
SWAP_WAIT_S = 30.0
CHAMPIONS = "champions"
PROBED_DECISIONS = 200
LEARNER = "--cb_type mtr --quadratic CA --softmax --lambda 6 --epsilon 0.05 --learning_rate 0.1"


def first_champion(loop: Loop) -> Stage:
    """Ask for a training by hand; with no champion yet the candidate need only be no worse than the log."""
    loop.jobs.join.wait_lag_zero(LAG_WAIT_S)
    loop.jobs.join.checkpoint()
    run_text("trigger", ["trigger", MODEL, "--reason", "manual"], loop.settings)
    return _trained(loop, "first champion", "MANUAL")


def second_champion(loop: Loop) -> Stage:
    """The trainer finds the DRIFT trigger of the drift job and retrains on everything."""
    for job in loop.jobs.all():
        job.wait_lag_zero(LAG_WAIT_S)
        job.checkpoint()
    return _trained(loop, "second champion", "DRIFT")


def drift(loop: Loop) -> Stage:
    """Predictions watched, events by type, triggers by decision."""
    settings = loop.settings
    events = Counter(one["type"].rsplit(".", 1)[1] for one in topics_read.records(settings, topics.DRIFT_EVENTS))
    triggers = [one for one in topics_read.records(settings, topics.RETRAIN_TRIGGERS) if one["reason"] == "DRIFT"]
    decisions = Counter(one["decision"] for one in triggers)
    start_ms = loop.run.timeline.at_hour(loop.run.plan.shift.start_hours) // 1000
    printed = loop.alerts.path.read_text(encoding="utf-8").count("[FIRING]")
    early = [one for one in triggers if one["ts"] < start_ms]
    checks = (
        Check("the shift was noticed", events["firing"] > 0, _words(events)),
        Check("six breached hours asked for a retraining", decisions["accepted"] > 0, _words(decisions)),
        Check("no retraining was asked for before the shift", not early, f"{len(early)} early"),
        Check("the alert consumer printed each one", printed == events["firing"], f"{printed} of {events['firing']}"),
    )
    rejected = len(topics_read.dead_letters(settings, topics.PREDICTIONS))
    where = f"topic {settings.prefix}{topics.DRIFT_EVENTS}; {loop.run.shown(loop.alerts.path)}"
    return Stage("drift (Flink)", loop.replay.counts.decisions, sum(events.values()), rejected, where, checks)


def _trained(loop: Loop, name: str, reason: str) -> Stage:
    before = _current(loop)
    candidates = [item.action_id for item in loop.run.timeline.items]
    with SwapProbe(loop.service.rest, loop.recent(PROBED_DECISIONS), candidates, name.split()[0]) as probe:
        report = _train(loop, reason)
        after = _current(loop)
        if after != before and after is not None:
            _await_swap(loop, after, probe.counts)
    loop.extra_predictions += probe.counts.asked - probe.counts.failures
    loop.jobs.check()
    checks = (
        Check("answered a trigger of this kind", report["reason"] == reason, report["trigger_id"]),
        *_checks(report, (before, after), probe.counts),
    )
    where = f"FEATUREDSL_HOME={loop.run.shown(loop.settings.home)} featuredsl models show {MODEL}"
    rejected = sum(report.get("rejected", {}).values())
    rows = report.get("examples", 0) + report.get("holdout", 0)
    return Stage(f"{name} ({reason})", rows, int(after != before), rejected, where, checks)


def _checks(
    report: Mapping[str, Any], swap: tuple[Current | None, Current | None], probed: ProbeCounts
) -> tuple[Check, ...]:
    before, after = swap
    allowed = {"improved"} if before else {"improved", "equivalent"}
    outcome = report.get("outcome", report.get("error", "none"))
    answers = ", ".join(f"{count} by {version}" for version, count in sorted(probed.versions.items()))
    return (
        Check(
            "the gate let the candidate pass", outcome in allowed, f"{outcome}: {'; '.join(report.get('reasons', ()))}"
        ),
        Check(
            "the champion changed if and only if the gate said so",
            (after != before) == (outcome in allowed) == bool(report.get("promoted")),
            f"{before.version if before else 'none'} → {after.version if after else 'none'}",
        ),
        Check(
            "the service answered during the swap",
            probed.failures == 0 and (after is None or probed.versions[after.version] > 0),
            f"{probed.failures} failures, {answers}",
        ),
    )


def _train(loop: Loop, reason: str) -> dict[str, Any]:
    """Run the trainer until it has answered the newest trigger; its report."""
    asked = ["run", "train", "--model", MODEL, "--vw", LEARNER, "--once", "--wait", f"{TRIGGER_WAIT_S:g}"]
    output = run_text(f"train-{reason.lower()}", asked, loop.settings)
    report: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
    return report


def _current(loop: Loop) -> Current | None:
    return read_current(loop.settings.home / CHAMPIONS, MODEL)


def _await_swap(loop: Loop, after: Current, probed: ProbeCounts) -> None:
    """Until the new version has answered at least one probe."""

    def missing() -> str | None:
        details = loop.service.ready()
        if probed.versions[after.version]:
            return None
        return f"serving {details['model_version']}, error {details['model_error']}"

    wait_until(missing, SWAP_WAIT_S, f"the service has not taken over version {after.version}")


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"
