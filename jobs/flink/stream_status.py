"""How the stream jobs of an environment are, for `featuredsl status`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from featuredsl.errors import FeatureError
from featuredsl.online.progress import ACCEPTED, HEARTBEAT, LATE
from featuredsl.online.store import OnlineStore
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.times import SECOND, format_time
from jobs.flink.freshness import GONE, JobLook, Look, look

Table = tuple[Sequence[str], list[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """One look, or None where there is nothing to look at: nothing is applied, or Redis is away."""

    found: Look | None

    def as_data(self) -> dict[str, Any]:
        """`jobs` and `groups` of `status --json`."""
        if self.found is None:
            return {"jobs": [], "groups": []}
        return {
            "jobs": [_job(job, self.found.now_us) for job in self.found.jobs],
            "groups": [
                {
                    "group": one.group,
                    "version": one.version,
                    "tier": one.tier,
                    "newest": None if one.newest_us is None else format_time(one.newest_us),
                    "age_s": _age(one.newest_us, self.found.now_us),
                    "waiting_records": one.waiting,
                }
                for one in self.found.tiers
            ],
        }

    def hints(self) -> list[str]:
        """What to do about jobs that have ended."""
        ended = [job for job in (self.found.jobs if self.found else ()) if job.state in _ENDED]
        return [
            f"{job.note.name} is {job.state}: `featuredsl run stream` goes on from its last checkpoint" for job in ended
        ]

    def tables(self) -> Iterator[Table]:
        """The same for people; no table where there is nothing."""
        data = self.as_data()
        columns = ("job", "state", "checkpoint age", "unread", "accepted", "late", "duplicates", "rejected")
        if jobs := data["jobs"]:
            yield columns, [[_text(job[name]) for name in _JOB_CELLS] for job in jobs]
        if groups := data["groups"]:
            cells = ("group", "version", "tier", "newest", "age_s", "waiting_records")
            header = ("group", "version", "tier", "newest event", "age in s", "waiting")
            yield header, [[_text(group[name]) for name in cells] for group in groups]


_ENDED = (GONE, "FAILED", "CANCELED")
_JOB_CELLS = ("job", "state", "checkpoint_age_s", "unread_records", "accepted", "late", "duplicates", "rejected")


def stream_status(settings: Settings) -> StreamStatus:
    """The status under these settings; what does not answer is left out, `status` shows the parts themselves."""
    if not settings.redis:
        return StreamStatus(None)
    try:
        registry = Registry.readable(settings.registry)
        with OnlineStore(settings.redis, namespace=settings.prefix) as store:
            return StreamStatus(look(settings, registry, store, time.time_ns() // 1000))
    except FeatureError:
        return StreamStatus(None)


def _job(job: JobLook, now_us: int) -> dict[str, Any]:
    rejected: dict[str, int] = {}
    for progress in job.progress.values():
        for reason, count in progress.rejected.items():
            rejected[reason] = rejected.get(reason, 0) + count
    return {
        "job": job.note.name,
        "job_id": job.note.job_id,
        "state": job.state,
        "checkpoint_age_s": _age(job.checkpoint_us, now_us),
        "unread_records": sum(job.unread.values()) if job.unread else None,
        "accepted": sum(progress.counts.get(ACCEPTED, 0) for progress in job.progress.values()),
        "late": sum(progress.counts.get(LATE, 0) for progress in job.progress.values()),
        "heartbeats": sum(progress.counts.get(HEARTBEAT, 0) for progress in job.progress.values()),
        "duplicates": sum(progress.duplicates for progress in job.progress.values()),
        "rejected": rejected,
    }


def _age(us: int | None, now_us: int) -> float | None:
    return None if us is None else max(round((now_us - us) / SECOND, 1), 0.0)


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{reason} {count}" for reason, count in sorted(value.items())) or "0"
    return "" if value is None else str(value)
