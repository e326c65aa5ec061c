"""Looks at the stream jobs and batch tiers of an environment: how far they are, what they have counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from featuredsl.compilers.flink_sources import topics_read
from featuredsl.errors import FeatureError
from featuredsl.horizon import HISTORY, history_columns
from featuredsl.online.meta import StoreMeta
from featuredsl.online.progress import (
    SourceProgress,
    StreamNote,
    current_notes,
    parse_progress,
    read_commands,
    streams_key,
)
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.tiles import BATCH_TIERS, batch_features, deferred_sources
from featuredsl.times import SECOND
from jobs.flink.handle import find_jobs
from jobs.flink.lag import read_up_to, summed
from jobs.flink.records import file_stem, read_records, records_folder
from jobs.flink.rest import call
from jobs.kafka_offsets import Offsets, committed_offsets, end_offsets
from monitors.freshness import CHECKPOINT, Measured

RUNNING = "RUNNING"
GONE = "GONE"
UNKNOWN = "UNKNOWN"
STUCK_US = 30 * SECOND
"""Three times the interval of checkpoints."""
SINK_COUNTERS = ("rowsRefusedAsOlder", "rowsForForeignKeys", "batchRetries")
"""Rows, not events, and of the job's current attempt only: see docs/reliability.md."""


@dataclass(frozen=True, slots=True)
class JobLook:
    """One stream job: its state, the time of its last complete checkpoint and when the next was due (both None while it
    does not run), and for each source and topic how far."""

    note: StreamNote
    state: str = UNKNOWN
    checkpoint_us: int | None = None
    progress: Mapping[str, SourceProgress] = field(default_factory=dict)
    unread: Mapping[str, int] = field(default_factory=dict)
    """Topic to records that the job has not handed on."""
    uncommitted: Mapping[str, int] = field(default_factory=dict)
    """Topic to records after the offsets that the consumer group committed, at the last checkpoint."""
    sink: Mapping[str, int] = field(default_factory=dict)
    due_us: int | None = None

    def newest_us(self, sources: Iterable[str], now_us: int) -> int | None:
        """The newest event or heartbeat of the sources; of those with waiting records, where there are any, the oldest:
        a quiet source must not make a busy one look old, nor a busy one hide a source that stands."""
        times = {name: self._time(name) for name in sources}
        waiting = [us for name, us in times.items() if self.waiting([self.note.topics.get(name, "")], now_us)]
        known = [us for us in times.values() if us]
        return (min(waiting) or None) if waiting else max(known, default=None)

    def waiting(self, topics: Iterable[str], now_us: int) -> int:
        """Records of the topics that are not in the values yet.

        Those that the sources have not handed on; where no checkpoint has completed for long, all after the last one:
        operators and sinks write before a checkpoint completes, so a sink that is stuck shows in nothing else.
        """
        stuck = now_us - (self.checkpoint_us or self.note.started_us) > STUCK_US
        return sum(max(self.unread.get(name, 0), self.uncommitted.get(name, 0) if stuck else 0) for name in topics)

    def _time(self, source: str) -> int:
        progress = self.progress.get(source)
        return 0 if progress is None else max(progress.newest_us or 0, progress.heartbeat_us or 0)


@dataclass(frozen=True, slots=True)
class Look:
    """Everything at one time; `problems` says what did not answer, by part."""

    now_us: int
    jobs: tuple[JobLook, ...]
    tiers: tuple[Measured, ...]
    problems: Mapping[str, str]

    @property
    def checkpoints(self) -> list[Measured]:
        """The last complete checkpoint of each job that runs."""
        return [
            Measured(
                job.note.name, job.note.job_id, CHECKPOINT, job.due_us, None, "see the exceptions of the Flink job"
            )
            for job in self.jobs
            if job.due_us is not None
        ]


def look(settings: Settings, registry: Registry, store: OnlineStore, now_us: int) -> Look:
    """Ask Redis, Kafka and Flink. Raises DependencyError without Redis; the others may be away."""
    meta = store.meta()
    stored = store.replies([("HVALS", streams_key(settings.prefix))])[0]
    notes = current_notes([StreamNote.from_json(text) for text in stored] or _recorded(settings, registry))
    problems: dict[str, str] = {}
    jobs = tuple(_job(settings, store, note, problems) for note in notes)
    tiers = (one for plan in registry.groups.values() for one in _tiers(plan, registry, jobs, meta, now_us))
    return Look(now_us, jobs, tuple(tiers), problems)


def _recorded(settings: Settings, registry: Registry) -> Iterator[StreamNote]:
    """The jobs that were submitted from here, where Redis has no notes of any: it may have been emptied."""
    folder = records_folder(settings)
    for record in read_records(folder):
        plans = [registry.groups[name] for name in record.versions if name in registry.groups]
        found = {source.name: settings.prefix + source.topic for plan in plans for source in topics_read(plan)}
        topics = {source: name for source, name in found.items() if name in record.topics}
        at_us = (folder / f"{file_stem(record.name)}.json").stat().st_mtime_ns // 1000
        yield StreamNote(record.name, record.job_id, record.group_id, tuple(record.versions), topics, at_us)


def _job(settings: Settings, store: OnlineStore, note: StreamNote, problems: dict[str, str]) -> JobLook:
    sources = list(note.topics)
    progress = parse_progress(sources, store.replies(read_commands(note.group_id, sources)))
    topics = list(dict.fromkeys(note.topics.values()))
    ends: Offsets = {}
    committed: Offsets = {}
    try:
        ends = end_offsets(settings.require("kafka"), topics)
        committed = committed_offsets(settings.kafka, note.group_id, topics)
    except FeatureError as error:
        problems["kafka"] = str(error)
    state, checkpoint, due, reached, sink = UNKNOWN, None, None, committed, {}
    try:
        url = settings.require("flink")
        state = next((state for job_id, _, state in find_jobs(url, note.name) if job_id == note.job_id), GONE)
        if state == RUNNING:
            checkpoint = _checkpoint_us(url, note.job_id)
            due = (checkpoint or note.started_us) + _interval_us(url, note.job_id)
            reached = read_up_to(url, note.job_id, ends, committed)
            sink = summed(url, note.job_id, SINK_COUNTERS)
    except FeatureError as error:
        problems["flink"] = str(error)
    behind, uncommitted = _behind(ends, reached), _behind(ends, committed)
    return JobLook(note, state, checkpoint, progress, behind, uncommitted, sink, due)


def _checkpoint_us(url: str, job_id: str) -> int | None:
    """When the last complete checkpoint was triggered: what it holds is that old."""
    latest = call(url, f"/jobs/{job_id}/checkpoints").get("latest") or {}
    completed = latest.get("completed") or {}
    return int(completed["trigger_timestamp"]) * 1000 if "trigger_timestamp" in completed else None


def _interval_us(url: str, job_id: str) -> int:
    """Between two checkpoints."""
    return int(call(url, f"/jobs/{job_id}/checkpoints/config")["interval"]) * 1000


def _behind(ends: Offsets, reached: Offsets) -> dict[str, int]:
    total: dict[str, int] = {}
    for (topic, partition), end in ends.items():
        missing = max(end - max(reached.get((topic, partition), 0), 0), 0)
        total[topic] = total.get(topic, 0) + missing
    return total


def _tiers(
    plan: GroupPlan, registry: Registry, jobs: tuple[JobLook, ...], meta: StoreMeta, now_us: int
) -> Iterator[Measured]:
    version = meta.versions.get(plan.name, registry.store_versions[plan.name])
    job = next((job for job in jobs if plan.name in job.note.groups), None)
    if job is not None and any(feature.freshness == "realtime" for feature in plan.features):
        topics = {job.note.topics[source.name] for source in plan.streams if source.name in job.note.topics}
        if topics <= set(job.unread):
            newest = job.newest_us([source.name for source in plan.streams], now_us)
            detail = "" if job.state == RUNNING else f"the job {job.note.name} is {job.state}"
            yield Measured(plan.name, version, "realtime", newest, job.waiting(topics, now_us), detail)
    if deferred_sources([plan]):
        closed = [time_us for times in meta.closed_marks(plan.name, version).values() for time_us in times]
        yield Measured(plan.name, version, "5m", min(closed, default=None), None)
    marks = meta.batch_marks(plan.name, version)
    for tier in (*BATCH_TIERS, HISTORY):
        if history_columns(plan) if tier == HISTORY else batch_features(plan, tier):
            yield Measured(plan.name, version, tier, max(marks.get(tier, ()), default=None), None)
