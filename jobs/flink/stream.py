"""Starting the feature job of a bundle of groups, and moving readers to what it fills."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featuredsl.cli.program import chosen
from featuredsl.errors import DependencyError, FeatureError, InputError
from featuredsl.online.meta import StoreMeta
from featuredsl.online.progress import StreamNote, reset_commands, streams_key
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.sources import EventSource
from featuredsl.tiles import BATCH_TIERS, batch_features, longest_reach_us, timed_streams
from jobs.flink.admission import admit, check_eviction
from jobs.flink.beginning import Beginning, Found, beginning, published, same_bases
from jobs.flink.handle import TERMINAL, JobHandle, find_jobs
from jobs.flink.records import JobRecord, newest_checkpoint, read_record, read_records, write_record
from jobs.flink.submit import checkpoint_dir, submit
from jobs.kafka import end_offsets, ensure_topics
from schemas.topics import dead_letter

MODULE = "jobs.flink.feature_job"
RUNNING_S = 120.0
WARM_S = 24 * 3600.0

Say = Callable[[str], None]


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
    else when it has caught up and the batch tiers are filled too, and the job before it ends then.

    Raises InputError when the job runs already or Redis may drop values that count, DependencyError when there are too
    few task slots or it has not caught up after `warm_s` seconds (it runs on: the next call waits for it again).
    """
    tuning = tuning or Tuning()
    start = _Start.of(settings, names)
    before = start.running_before(fresh)
    if before is not None and not fresh and start.is_own(before):
        say(f"the job {start.name} runs already; waiting until it has caught up")
        handle = start.handle(before)
        start.publish(handle, before.versions, say, warm_s)
        return handle
    admit(settings.require("flink"), start.name, tuning.parallelism, before.job_id if before else None)
    begin = start.beginning(fresh, restore)
    handle = start.submit(begin, tuning)
    if begin.restore:
        say(f"going on from {begin.restore}")
    if begin.warm:
        say(f"filling {', '.join(f'{group}@{version}' for group, version in begin.versions.items())}")
    start.publish(handle, begin.versions, say, warm_s if begin.warm else 0)
    if before is not None:
        JobHandle(before.job_id, before.name, settings.flink).cancel()
        say(f"ended the job before it, {before.job_id}")
    return handle


@dataclass(frozen=True, slots=True)
class _Start:
    """What a start works on."""

    settings: Settings
    plans: tuple[GroupPlan, ...]
    bases: dict[str, str]
    record: JobRecord | None

    @classmethod
    def of(cls, settings: Settings, names: str) -> _Start:
        registry = Registry.load(settings.registry)
        plans = tuple(chosen(registry.groups, names))
        name = job_name(settings, [plan.name for plan in plans])
        bases = {plan.name: registry.store_versions[plan.name] for plan in plans}
        return cls(settings, plans, bases, read_record(records_folder(settings), name))

    @property
    def groups(self) -> list[str]:
        return [plan.name for plan in self.plans]

    @property
    def name(self) -> str:
        return job_name(self.settings, self.groups)

    @property
    def sources(self) -> tuple[EventSource, ...]:
        return tuple({source.name: source for plan in self.plans for source in plan.streams}.values())

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.settings.prefix + source.topic for source in self.sources))

    def running_before(self, fresh: bool) -> JobRecord | None:
        """The job of the record, while it runs. Raises InputError when it does what is asked already."""
        if self.record is None:
            return None
        alive = {job_id for job_id, _, state in find_jobs(self.settings.require("flink")) if state not in TERMINAL}
        if self.record.job_id not in alive:
            return None
        with self._store() as store:
            live = store.current(self.groups)
        if not fresh and self.is_own(self.record) and published(self.record.versions, live):
            msg = (
                f"the job {self.name} runs already (job id {self.record.job_id}) and readers follow it; "
                "to fill a store version anew beside it: `featuredsl rebuild`, or `run stream --fresh`"
            )
            raise InputError(msg)
        return self.record

    def is_own(self, record: JobRecord) -> bool:
        """True when that job runs the definitions that are applied now."""
        return same_bases(record.versions, self.bases)

    def beginning(self, fresh: bool, restore: str) -> Beginning:
        bootstrap = self.settings.require("kafka")
        late = [f"{self.settings.prefix}{source.topic}.late" for source in timed_streams(self.plans)]
        ensure_topics(bootstrap, [*self.topics, *(dead_letter(topic) for topic in self.topics), *late])
        checkpoint = restore or None
        if self.record is not None and not restore:
            checkpoint = newest_checkpoint(self.settings.flink, self.record.job_id, checkpoint_dir(self.settings))
        with self._store() as store:
            check_eviction(store, self.settings.redis)
            live = store.current(self.groups)
        backlog = any(end_offsets(bootstrap, self.topics).values())
        if restore and self.record is None:
            return Beginning(self.bases, restore, warm=not published(self.bases, live))
        found = Found(self.bases, live, self.record, checkpoint, backlog)
        return beginning(found, time.time_ns() // 1000, fresh=fresh)

    def submit(self, begin: Beginning, tuning: Tuning) -> JobHandle:
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
            with self._store() as store:
                store.round_trip(reset_commands(group_id, [source.name for source in self.sources]))
        handle = submit(MODULE, config, settings, restore=begin.restore or "")
        record = JobRecord(self.name, handle.job_id, group_id, versions, self.topics)
        write_record(records_folder(settings), record)
        self._note(handle, begin)
        try:
            handle.wait_running(RUNNING_S)
        except FeatureError as error:
            if begin.restore is None:
                raise
            msg = f"{error}; if {begin.restore} does not fit this job, begin anew beside it: `featuredsl rebuild`"
            raise type(error)(msg) from error
        return handle

    def _note(self, handle: JobHandle, begin: Beginning) -> None:
        """What the online store remembers of the job: what it fills, and where its progress is."""
        prefix = self.settings.prefix
        topics = {source.name: prefix + source.topic for source in self.sources}
        at_us = time.time_ns() // 1000
        note = StreamNote(self.name, handle.job_id, handle.group_id, tuple(self.groups), topics, at_us)
        with self._store() as store:
            for group, version in begin.versions.items() if begin.warm else ():
                store.set_filling(group, version)
            store.round_trip([("HSET", streams_key(prefix), note.name, note.to_json())])

    def handle(self, record: JobRecord) -> JobHandle:
        settings = self.settings
        return JobHandle(record.job_id, record.name, settings.flink, settings.kafka, record.group_id, record.topics)

    def publish(self, handle: JobHandle, versions: Mapping[str, str], say: Say, warm_s: float) -> None:
        """Move readers to the versions; with `warm_s` once the job has caught up and batch tiers are there."""
        if warm_s:
            handle.wait_lag_zero(warm_s)
            self._fill_batches(versions, say)
        with self._store() as store:
            for group, version in versions.items():
                store.set_current(group, version)
        if warm_s:
            say(f"readers follow {', '.join(f'{group}@{version}' for group, version in versions.items())}")

    def _fill_batches(self, versions: Mapping[str, str], say: Say) -> None:
        """Run the batch job for groups whose live version has batch values that the new one lacks."""
        with self._store() as store:
            meta = store.meta()
        behind = [plan.name for plan in self.plans if _lacks_batches(plan, versions[plan.name], meta)]
        if not behind:
            return
        if not self.settings.spark:
            msg = (
                f"the batch tiers of {', '.join(behind)} are not filled for the new store version and no Spark is "
                "configured: run `featuredsl run batch` where one is, then this command again"
            )
            raise DependencyError(msg)
        say(f"filling the batch tiers of {', '.join(behind)}")
        command = [sys.executable, "-m", "featuredsl.cli.main", "run", "batch", "--groups", ",".join(behind)]
        environment = os.environ | self.settings.environment()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            msg = f"`featuredsl run batch` ended with {done.returncode}: {done.stderr.strip()[-500:]}"
            raise DependencyError(msg)

    def _store(self) -> OnlineStore:
        return OnlineStore(self.settings.require("redis"), namespace=self.settings.prefix)


def job_name(settings: Settings, groups: Sequence[str]) -> str:
    """The name of the job of a bundle of groups."""
    return f"{settings.prefix}features-" + "-".join(groups)


def records_folder(settings: Settings) -> Path:
    """Where submitted jobs are recorded."""
    return settings.home / "flink" / "jobs"


def _lacks_batches(plan: GroupPlan, version: str, meta: StoreMeta) -> bool:
    """True when a batch tier of a version is behind that of the version which readers follow."""
    live = meta.versions.get(plan.name)
    if live is None or live == version:
        return False
    was, now = meta.batch_marks(plan.name, live), meta.batch_marks(plan.name, version)
    tiers = [tier for tier in BATCH_TIERS if batch_features(plan, tier)]
    return any(max(now.get(tier, ()), default=0) < max(was.get(tier, ()), default=0) for tier in tiers)


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
