"""Starting the feature job of a bundle of groups, and moving readers to what it fills."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from featuredsl.cli.program import chosen
from featuredsl.compilers.flink_sources import streams_read
from featuredsl.errors import FeatureError, InputError
from featuredsl.online.progress import StreamNote, reset_commands, streams_key
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.sources import EventSource
from featuredsl.tiles import longest_reach_us, timed_streams
from jobs.flink.admission import admit, check_eviction
from jobs.flink.beginning import Beginning, Found, beginning, published, restored, same_bases
from jobs.flink.handle import TERMINAL, JobHandle, find_jobs
from jobs.flink.publishing import Say, fill_batches, publish
from jobs.flink.records import JobRecord, newest_checkpoint, read_record, read_records, write_record
from jobs.flink.start_lock import one_start
from jobs.flink.submit import checkpoint_dir, submit
from jobs.kafka import end_offsets, ensure_topics
from schemas.topics import dead_letter

MODULE = "jobs.flink.feature_job"
RUNNING_S = 120.0
WARM_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Tuning:
    """How the job runs: `mini_batch_ms` trades freshness for volume; `state_backend` is heap or rocksdb; a partition
    without records holds no window back after `idle_timeout_ms` (0: it does, heartbeats move it)."""

    parallelism: int = 1
    mini_batch_ms: int = 50
    checkpoint_interval_ms: int = 10_000
    idle_timeout_ms: int = 0
    state_backend: str = "heap"

    def config(self) -> dict[str, Any]:
        """The part of a job configuration."""
        return {
            "parallelism": self.parallelism,
            "mini_batch_ms": self.mini_batch_ms,
            "checkpoint_interval_ms": self.checkpoint_interval_ms,
            "idle_timeout_ms": self.idle_timeout_ms,
            "flink_options": {"state.backend.type": {"heap": "hashmap"}.get(self.state_backend, self.state_backend)},
        }


def start_stream(
    settings: Settings,
    names: str = "",
    tuning: Tuning | None = None,
    *,
    fresh: bool = False,
    restore: str = "",
    say: Say = lambda line: None,
    warm_s: float = WARM_S,
) -> JobHandle:
    """Submit one feature job for the named groups (all applied ones by default), and move readers to what it fills.

    It goes on from the checkpoint of the one before it, or from the savepoint `restore`. Without (or with `fresh`) it
    reads the topics from their start into store versions of its own; readers follow at once when nothing was there,
    else when it has caught up and the batch tiers are filled too. Then the jobs before it end: the one of its name, and
    those whose groups it has taken over.

    Raises InputError when the job runs already, another start of it is under way, or Redis may drop values that count;
    DependencyError when there are too few task slots or it has not caught up after `warm_s` seconds (it runs on: the
    next call waits for it again).
    """
    start = _Start.of(settings, names)
    with one_start(settings.require("redis"), settings.prefix, start.name):
        record, warm = start.waiting(fresh), True
        if record is None:
            record, warm = start.begin(tuning or Tuning(), fresh, restore, say)
        else:
            say(f"the job {start.name} runs already; waiting until it has caught up")
    handle = start.handle(record)
    if warm:
        handle.wait_lag_zero(warm_s)
        with start.store() as store:
            fill_batches(store, settings, start.plans, record.versions, say)
    with start.store() as store:
        publish(store, settings.prefix, record, say if warm else lambda line: None)
    start.end_before(record, say)
    return handle


@dataclass(frozen=True, slots=True)
class _Start:
    """What a start works on."""

    settings: Settings
    plans: tuple[GroupPlan, ...]
    bases: dict[str, str]
    record: JobRecord | None
    alive: frozenset[str]

    @classmethod
    def of(cls, settings: Settings, names: str) -> _Start:
        registry = Registry.load(settings.registry)
        plans = tuple(sorted(chosen(registry.groups, names), key=lambda plan: plan.name))
        name = job_name(settings, [plan.name for plan in plans])
        bases = {plan.name: registry.store_versions[plan.name] for plan in plans}
        jobs = find_jobs(settings.require("flink"))
        alive = frozenset(job_id for job_id, _, state in jobs if state not in TERMINAL)
        return cls(settings, plans, bases, read_record(records_folder(settings), name), alive)

    @property
    def groups(self) -> list[str]:
        return [plan.name for plan in self.plans]

    @property
    def name(self) -> str:
        return job_name(self.settings, self.groups)

    @property
    def sources(self) -> tuple[EventSource, ...]:
        return tuple({source.name: source for plan in self.plans for source in streams_read(plan)}.values())

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.settings.prefix + source.topic for source in self.sources))

    def waiting(self, fresh: bool) -> JobRecord | None:
        """The job that fills what is applied now and runs, but is not followed yet.

        Raises InputError when there is nothing to do, or the online store was emptied under a running job.
        """
        record = self.record
        if fresh or record is None or record.job_id not in self.alive or not same_bases(record.versions, self.bases):
            return None
        with self.store() as store:
            live = store.current(self.groups)
        runs = f"the job {self.name} runs already (job id {record.job_id})"
        if Found(self.bases, live, record, None, backlog=True).is_emptied:
            msg = f"{runs}, but the online store has lost what it wrote: `featuredsl rebuild {self.groups[0]}`"
            raise InputError(msg)
        if published(record.versions, live):
            if record.before:
                return record
            msg = f"{runs} and readers follow it; to fill a store version anew beside it: `featuredsl rebuild`"
            raise InputError(msg)
        return record

    def begin(self, tuning: Tuning, fresh: bool, restore: str, say: Say) -> tuple[JobRecord, bool]:
        """Submit the job; its record, and whether readers have to wait for it."""
        before = self._before(say)
        admit(self.settings.flink, self.name, tuning.parallelism, before)
        begin = self._beginning(fresh, restore)
        record = self._submit(begin, tuning, tuple(sorted(before)))
        if begin.restore:
            say(f"going on from {begin.restore}")
        if begin.warm:
            say(f"filling {', '.join(f'{group}@{version}' for group, version in begin.versions.items())}")
        return record, begin.warm

    def _before(self, say: Say) -> set[str]:
        """Jobs that run and are not needed any more when this one is followed."""
        mine, ends = set(self.groups), set()
        for record in read_records(records_folder(self.settings)):
            jobs = {record.job_id, *record.before} & self.alive
            if record.name == self.name or (jobs and mine.issuperset(record.versions)):
                ends |= jobs
            elif jobs and not mine.isdisjoint(record.versions):
                shared = ", ".join(sorted(mine.intersection(record.versions)))
                say(f"the job {record.name} goes on filling {shared} as well; start its other groups anew to end it")
        return ends

    def _beginning(self, fresh: bool, restore: str) -> Beginning:
        bootstrap = self.settings.require("kafka")
        late = [f"{self.settings.prefix}{source.topic}.late" for source in timed_streams(self.plans)]
        ensure_topics(bootstrap, [*self.topics, *(dead_letter(topic) for topic in self.topics), *late])
        with self.store() as store:
            check_eviction(store, self.settings.redis)
            live = store.current(self.groups)
        found = Found(
            self.bases, live, self.record, self._checkpoint(), any(end_offsets(bootstrap, self.topics).values())
        )
        return restored(found, restore) if restore else beginning(found, time.time_ns() // 1000, fresh=fresh)

    def _checkpoint(self) -> str | None:
        """The newest of the job before, or the one that it began with."""
        if self.record is None:
            return None
        folder = checkpoint_dir(self.settings)
        return newest_checkpoint(self.settings.flink, self.record.job_id, folder) or self.record.restored_from

    def _submit(self, begin: Beginning, tuning: Tuning, before: tuple[str, ...]) -> JobRecord:
        """Submit the job and remember it, before readers hear of it."""
        settings, versions = self.settings, dict(begin.versions)
        group_id = settings.prefix + "-".join(["features", *(f"{name}@{v}" for name, v in versions.items())])
        config = {
            "name": self.name,
            "kafka": settings.require("kafka"),
            "redis": settings.require("redis"),
            "prefix": settings.prefix,
            "group_id": group_id,
            "topics": list(self.topics),
            "registry": str(settings.registry),
            "versions": versions,
            "state_ttl_ms": 2 * max(longest_reach_us(plan) for plan in self.plans) // 1000,
            **tuning.config(),
        }
        if begin.restore is None:
            with self.store() as store:
                store.replies(reset_commands(group_id, [source.name for source in self.sources]))
        handle = submit(MODULE, config, settings, restore=begin.restore or "")
        record = JobRecord(self.name, handle.job_id, group_id, versions, self.topics, begin.restore, before)
        write_record(records_folder(settings), record)
        self._note(handle, begin)
        try:
            handle.wait_running(RUNNING_S)
        except FeatureError as error:
            if begin.restore is None:
                raise
            msg = f"{error}; if {begin.restore} does not fit this job, begin anew beside it: `featuredsl rebuild`"
            raise type(error)(msg) from error
        return record

    def _note(self, handle: JobHandle, begin: Beginning) -> None:
        """What the online store remembers of the job: what it fills, and where its progress is."""
        prefix = self.settings.prefix
        topics = {source.name: prefix + source.topic for source in self.sources}
        at_us = time.time_ns() // 1000
        note = StreamNote(self.name, handle.job_id, handle.group_id, tuple(self.groups), topics, at_us)
        with self.store() as store:
            for group, version in begin.versions.items() if begin.warm else ():
                store.set_filling(group, version)
            store.replies([("HSET", streams_key(prefix), note.name, note.to_json())])

    def end_before(self, record: JobRecord, say: Say) -> None:
        """End the jobs that this one has replaced, and note that readers follow it."""
        for job_id in record.before:
            if job_id in self.alive:
                JobHandle(job_id, self.name, self.settings.flink).cancel()
                say(f"ended the job before it, {job_id}")
        write_record(records_folder(self.settings), replace(record, before=(), published=True))

    def handle(self, record: JobRecord) -> JobHandle:
        settings = self.settings
        return JobHandle(record.job_id, record.name, settings.flink, settings.kafka, record.group_id, record.topics)

    def store(self) -> OnlineStore:
        return OnlineStore(self.settings.require("redis"), namespace=self.settings.prefix)


def job_name(settings: Settings, groups: Sequence[str]) -> str:
    """The name of the job of a bundle of groups, in whatever order they are given."""
    return f"{settings.prefix}features-" + "-".join(sorted(groups))


def records_folder(settings: Settings) -> Path:
    """Where submitted jobs are recorded."""
    return settings.home / "flink" / "jobs"


def bundle_of(settings: Settings, group: str) -> tuple[str, ...]:
    """The groups of the job that fills what readers of `group` follow; itself alone when no job is known.

    Raises InputError for a group that is not applied.
    """
    registry = Registry.load(settings.registry)
    registry.group(group)
    with OnlineStore(settings.require("redis"), namespace=settings.prefix) as store:
        live = store.current([group]).get(group)
    for record in read_records(records_folder(settings)):
        known = all(name in registry.groups for name in record.versions)
        if known and live is not None and record.versions.get(group) == live:
            return tuple(record.versions)
    return (group,)
