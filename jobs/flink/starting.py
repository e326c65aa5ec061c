"""One start of a feature job: what is there, how the job begins, its submission, and what it replaces."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from featuredsl.cli.program import chosen
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.compilers.flink_sources import topics_read
from featuredsl.errors import FeatureError, InputError
from featuredsl.online.progress import StreamNote, reset_commands, streams_key
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.sources import EventSource
from featuredsl.tiles import longest_reach_us, store_layout, timed_streams
from jobs.flink.admission import admit, check_eviction
from jobs.flink.beginning import Beginning, Found, beginning, published, restored, same_bases
from jobs.flink.handle import TERMINAL, JobHandle, find_jobs
from jobs.flink.publishing import Say
from jobs.flink.records import JobRecord, Records, file_stem, newest_checkpoint
from jobs.flink.refilling import forget_replaced, refills, tell_forgetful
from jobs.flink.submit import checkpoint_dir, submit
from jobs.flink.tuning import Tuning
from jobs.kafka import ensure_topics
from jobs.kafka_offsets import end_offsets
from jobs.refill import tell_lost
from schemas.topics import dead_letter

MODULE = "jobs.flink.feature_job"
RUNNING_S = 120.0
REFILL_IDLE_MS = 60_000
"""A topic with landed records ends; event time must not wait for it."""


class AlreadyRunsError(InputError):
    """There is nothing to start: the job runs, and readers follow it."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a start works on."""

    settings: Settings
    plans: tuple[GroupPlan, ...]
    bases: dict[str, str]
    record: JobRecord | None
    alive: frozenset[str]

    @classmethod
    def of(cls, settings: Settings, names: str) -> Start:
        registry = Registry.load(settings.registry)
        plans = tuple(sorted(chosen(registry.groups, names), key=lambda plan: plan.name))
        name = job_name(settings, [plan.name for plan in plans])
        bases = {plan.name: registry.store_versions[plan.name] for plan in plans}
        jobs = find_jobs(settings.require("flink"))
        alive = frozenset(job_id for job_id, _, state in jobs if state not in TERMINAL)
        return cls(settings, plans, bases, Records(settings).read(name), alive)

    @property
    def groups(self) -> list[str]:
        return [plan.name for plan in self.plans]

    @property
    def name(self) -> str:
        return job_name(self.settings, self.groups)

    @property
    def sources(self) -> tuple[EventSource, ...]:
        return tuple({source.name: source for plan in self.plans for source in topics_read(plan)}.values())

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
            raise AlreadyRunsError(msg)
        return record

    def begin(
        self, tuning: Tuning, fresh: bool, restore: str, going_on: Callable[[], None], say: Say
    ) -> tuple[JobRecord, bool]:
        """Submit the job; its record, and whether readers have to wait for it."""
        self._compiles()
        before = self._before(say)
        admit(self.settings.flink, self.name, tuning.parallelism, before)
        begin = self._beginning(fresh, restore)
        tell_forgetful(self.settings, self.plans, say)
        refilled = self._refills(begin, going_on, say)
        record = self._submit(begin, self._tuned(tuning, refilled), tuple(sorted(before)), refilled, say)
        if refilled:
            tell_lost(self.settings.kafka, self.settings.home, refilled, say)
        if begin.restore:
            say(f"going on from {begin.restore}")
        if begin.warm:
            say(f"filling {', '.join(f'{group}@{version}' for group, version in begin.versions.items())}")
        return record, begin.warm

    def _compiles(self) -> None:
        """Raises UnsupportedError for what no stream job keeps, before anything is submitted."""
        targets = [GroupTarget(plan, store_layout(plan, self.bases[plan.name])) for plan in self.plans]
        statements(targets, StreamConfig(self.settings.kafka, self.settings.redis, self.settings.prefix, ""))

    def _before(self, say: Say) -> set[str]:
        """Jobs that run and are not needed any more when this one is followed."""
        mine, ends = set(self.groups), set()
        for record in Records(self.settings).every():
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
        folder = self.record.checkpoints or checkpoint_dir(self.settings)
        return newest_checkpoint(self.settings.flink, self.record.job_id, folder) or self.record.restored_from

    def _refills(self, begin: Beginning, going_on: Callable[[], None], say: Say) -> dict[str, str]:
        """Topics with what others have forgotten; those of the job whose state it goes on from."""
        if begin.restore is not None:
            return dict(self.record.refills) if self.record else {}
        return refills(self.settings, self.plans, self.sources, going_on, say)

    @staticmethod
    def _tuned(tuning: Tuning, refilled: Mapping[str, str]) -> Tuning:
        return replace(tuning, idle_timeout_ms=tuning.idle_timeout_ms or REFILL_IDLE_MS) if refilled else tuning

    def _submit(
        self, begin: Beginning, tuning: Tuning, before: tuple[str, ...], refilled: dict[str, str], say: Say
    ) -> JobRecord:
        """Submit the job and remember it, before readers hear of it."""
        settings, versions = self.settings, dict(begin.versions)
        group_id = settings.prefix + "-".join(["features", *(f"{name}@{v}" for name, v in versions.items())])
        config = {
            "name": self.name,
            "kafka": settings.require("kafka"),
            "redis": settings.require("redis"),
            "prefix": settings.prefix,
            "group_id": group_id,
            "topics": [*self.topics, *refilled.values()],
            "refills": refilled,
            "registry": str(settings.registry),
            "versions": versions,
            "state_ttl_ms": 2 * max(longest_reach_us(plan) for plan in self.plans) // 1000,
            **tuning.config(),
        }
        plan = self._plan(begin, group_id, tuning, say)
        config |= {} if plan is None else {"plan": plan}
        if begin.restore is None:
            with self.store() as store:
                store.replies(reset_commands(group_id, [source.name for source in self.sources]))
        handle = submit(MODULE, config, settings, restore=begin.restore or "")
        topics = (*self.topics, *refilled.values())
        record = JobRecord(
            self.name,
            handle.job_id,
            group_id,
            versions,
            topics,
            begin.restore,
            before,
            plan=plan,
            refills=refilled,
            stale_refills=self._stale(refilled),
            checkpoints=checkpoint_dir(settings),
        )
        Records(settings).write(record)
        self._note(handle, begin)
        try:
            handle.wait_running(RUNNING_S)
        except FeatureError as error:
            if begin.restore is None:
                raise
            msg = f"{error}; if {begin.restore} does not fit this job, begin anew beside it: `featuredsl rebuild`"
            raise type(error)(msg) from error
        return record

    def _stale(self, refilled: Mapping[str, str]) -> tuple[str, ...]:
        """The refill topics of the submission before that this one does not read."""
        before = self.record
        names = (*before.refills.values(), *before.stale_refills) if before else ()
        return tuple(name for name in names if name not in refilled.values())

    def _plan(self, begin: Beginning, group_id: str, tuning: Tuning, say: Say) -> str | None:
        """The file of the compiled plan: that of the job whose state it goes on from, a new one for a job without and
        for another tuning of what is part of a plan."""
        before = self.record
        path = plans_folder(self.settings) / f"{file_stem(group_id)}{tuning.planned}.json"
        if begin.restore is None:
            path.unlink(missing_ok=True)
        elif before is not None and before.group_id == group_id:
            if before.plan is None:
                return None
            if Path(before.plan).name == path.name:
                path = Path(before.plan) if Path(before.plan).exists() else path
            if not path.exists():
                say(f"its compiled plan {before.plan} is not on this machine or of another tuning: it is compiled anew")
        return str(path)

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
        forget_replaced(self.settings, record)
        Records(self.settings).write(replace(record, before=(), published=True, stale_refills=()))

    def handle(self, record: JobRecord) -> JobHandle:
        settings = self.settings
        return JobHandle(record.job_id, record.name, settings.flink, settings.kafka, record.group_id, record.topics)

    def store(self) -> OnlineStore:
        return OnlineStore(self.settings.require("redis"), namespace=self.settings.prefix)


def job_name(settings: Settings, groups: Sequence[str]) -> str:
    """The name of the job of a bundle of groups, in whatever order they are given."""
    return f"{settings.prefix}features-" + "-".join(sorted(groups))


def plans_folder(settings: Settings) -> Path:
    """Where the compiled plans of submitted jobs are kept: what runs, operator by operator."""
    return settings.home / "flink" / "plans"
