"""A look at the stream jobs as Prometheus metrics."""

from __future__ import annotations

from collections.abc import Iterator

from featuredsl.online.progress import OUTCOMES
from featuredsl.times import SECOND
from jobs.flink.freshness import RUNNING, JobLook, Look
from monitors.exposition import Family
from monitors.freshness import Measured, Objective, State, Watch, age_us

PARTS = ("kafka", "flink")


def families(look: Look, state: State, objective: Objective) -> Iterator[Family]:
    """All metrics of one look; `state` is what the freshness rule made of it."""
    yield Family(
        "featuredsl_part_up",
        "gauge",
        "1 when the part answered at the last look; without a job to look at it is not asked.",
        tuple(({"part": part}, int(part not in look.problems) if look.jobs else None) for part in PARTS),
    )
    yield from _groups(look, state, objective)
    yield from _jobs(look)


def _groups(look: Look, state: State, objective: Objective) -> Iterator[Family]:
    def watch(one: Measured) -> Watch:
        return state.get((one.group, one.tier), Watch())

    labelled = [({"group": one.group, "version": one.version, "tier": one.tier}, one) for one in look.tiers]
    yield Family(
        "featuredsl_group_newest_event_timestamp_seconds",
        "gauge",
        "Event time up to which the values of a group are; of batch tiers the completed time.",
        tuple((labels, _seconds(one.newest_us)) for labels, one in labelled),
    )
    yield Family(
        "featuredsl_group_event_age_seconds",
        "gauge",
        "Now minus the newest event time, also while a source has no traffic.",
        tuple(
            (labels, None if one.newest_us is None else (look.now_us - one.newest_us) / SECOND)
            for labels, one in labelled
        ),
    )
    yield Family(
        "featuredsl_group_staleness_seconds",
        "gauge",
        "How old the values are against what they could be; 0 for a group without waiting records.",
        tuple((labels, _seconds(age_us(watch(one), one, look.now_us))) for labels, one in labelled),
    )
    yield Family(
        "featuredsl_group_staleness_limit_seconds",
        "gauge",
        "Greatest staleness in order: period + delay + slack of the tier.",
        tuple((labels, objective.limit_us(one.tier) / SECOND) for labels, one in labelled),
    )
    yield Family(
        "featuredsl_group_stale",
        "gauge",
        "1 while the freshness alert of the group is firing.",
        tuple((labels, int(watch(one).firing_since_us is not None)) for labels, one in labelled),
    )


def _jobs(look: Look) -> Iterator[Family]:
    named = [({"job": job.note.name}, job) for job in look.jobs]
    yield Family(
        "featuredsl_stream_job_up",
        "gauge",
        "1 while the stream job runs.",
        tuple((labels, int(job.state == RUNNING)) for labels, job in named),
    )
    yield Family(
        "featuredsl_stream_checkpoint_age_seconds",
        "gauge",
        "Age of the last complete checkpoint.",
        tuple(
            (labels, None if job.checkpoint_us is None else max(look.now_us - job.checkpoint_us, 0) / SECOND)
            for labels, job in named
        ),
    )
    for name, text in (("unread", "Records not yet handed on."), ("uncommitted", "Records after the last checkpoint.")):
        yield Family(
            f"featuredsl_stream_{name}_records",
            "gauge",
            text,
            tuple(({**labels, "topic": t}, n) for labels, job in named for t, n in getattr(job, name).items()),
        )
    yield Family(
        "featuredsl_stream_events_total",
        "counter",
        "Records by outcome since the state of the job began: events, heartbeats, duplicates, reasons of dead letters.",
        tuple(sample for job in look.jobs for sample in _outcomes(job)),
    )
    yield Family(
        "featuredsl_stream_sink_rows_total",
        "counter",
        "Rows of the sink by counter, since the last start of the job.",
        tuple(({**labels, "counter": name}, n) for labels, job in named for name, n in job.sink.items()),
    )


def _outcomes(job: JobLook) -> Iterator[tuple[dict[str, str], int]]:
    for source, progress in job.progress.items():
        for outcome in OUTCOMES:
            yield {"job": job.note.name, "source": source, "outcome": outcome}, progress.counts.get(outcome, 0)


def _seconds(us: int | None) -> float | None:
    return None if us is None else us / SECOND
