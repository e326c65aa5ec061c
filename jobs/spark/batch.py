"""One batch run: land the new records of every source, then materialise every group as of a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from featuredsl.errors import StateError
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan, inputs_of
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.sources import EventSource
from featuredsl.tiles import STREAM_TIERS, store_layout
from featuredsl.times import format_time
from jobs.clock import check_clock
from jobs.kafka_offsets import end_offsets
from jobs.landed import Batch, History
from jobs.spark.landing import land, read_history
from jobs.spark.materialise import STORE_TIMEOUT_S, Materialised, Target, materialise
from jobs.spark.point_in_time import register

PARALLEL_JOBS = 2
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BatchJob:
    """What a run works on: addresses and folders, the groups, the topic prefix."""

    settings: Settings
    plans: tuple[GroupPlan, ...]
    registry: Registry

    @classmethod
    def of(cls, settings: Settings, registry: Registry, groups: Iterable[str] = ()) -> BatchJob:
        """The applied groups, or those of the given names. Raises InputError for an unknown one."""
        names = tuple(dict.fromkeys(groups)) or tuple(sorted(registry.groups))
        return cls(settings, tuple(registry.group(name) for name in names), registry)

    @property
    def sources(self) -> dict[str, EventSource]:
        """Every source and table of the groups by name."""
        return inputs_of(self.plans)

    @property
    def copies(self) -> Path:
        """Where the Parquet copies of the values go."""
        return self.settings.home / "materialised"


@dataclass(frozen=True, slots=True)
class BatchRun:
    """What one run did."""

    at_us: int
    landed: Mapping[str, Batch]
    materialised: tuple[Materialised, ...]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The summary of `featuredsl run batch --json`."""
        return {
            "at": format_time(self.at_us),
            "sources": {name: _landed_json(batch) for name, batch in self.landed.items()},
            "groups": [_materialised_json(done) for done in self.materialised],
            "seconds": round(self.seconds, 3),
        }


def run_batch(spark: SparkSession, job: BatchJob, at_us: int, progress: Progress) -> BatchRun:
    """Land, then publish the hourly and daily values as of `at_us`. Safe to repeat. Raises InputError for a time ahead
    of Redis' clock."""
    started = time.monotonic()
    with _store(job) as store:
        check_clock(store, at_us)
    landed = land_sources(spark, job, progress)
    targets = _targets(job, progress)
    progress(f"materialising {len(targets)} groups as of {format_time(at_us)}")
    with ThreadPoolExecutor(PARALLEL_JOBS) as pool:
        done = list(pool.map(lambda target: materialise(spark, target, at_us), targets))
    _publish_filled(job, targets, progress)
    flat = tuple(one for group in done for one in group)
    return BatchRun(at_us, landed, flat, time.monotonic() - started)


def land_sources(spark: SparkSession, job: BatchJob, progress: Progress) -> dict[str, Batch]:
    """Land what is new on the topic of every source and register the whole history as views."""
    bootstrap = job.settings.require("kafka")
    sources = job.sources
    topics = {name: job.settings.prefix + source.topic for name, source in sources.items()}
    ends = end_offsets(bootstrap, topics.values())

    def one(name: str) -> Batch:
        topic = topics[name]
        mine = {partition: end for (of, partition), end in ends.items() if of == topic}
        return land(spark, bootstrap, sources[name], History(job.settings.home, topic), mine)

    progress(f"landing {', '.join(topics.values())}")
    with ThreadPoolExecutor(PARALLEL_JOBS) as pool:
        landed = dict(zip(sources, pool.map(one, sources), strict=True))
    register_history(spark, job)
    return landed


def register_history(spark: SparkSession, job: BatchJob) -> None:
    """Register everything that is landed of every source, without landing more."""
    home, prefix = job.settings.home, job.settings.prefix
    register(
        {
            name: read_history(spark, History(home, prefix + source.topic), source)
            for name, source in job.sources.items()
        }
    )


def _targets(job: BatchJob, progress: Progress) -> list[Target]:
    """For each group the store version that readers follow, and one that is filled beside it."""
    names = [plan.name for plan in job.plans]
    with _store(job) as store:
        current, filling = store.current(names), store.filling(names)
    found = []
    for name in names:
        versions = [versions[name] for versions in (current, filling) if name in versions]
        for version in dict.fromkeys(versions or [job.registry.store_versions[name]]):
            try:
                plan = job.registry.plan_of(name, version)
            except StateError as error:
                progress(f"{name}@{version} is not refreshed: {error}")
                continue
            changed = [source for source, made in inputs_of([plan]).items() if job.sources.get(source) != made]
            if changed:
                progress(f"{name}@{version} is not refreshed: {', '.join(changed)} is defined differently now")
                continue
            layout = store_layout(plan, version)
            found.append(Target(plan, layout, job.settings.require("redis"), job.settings.prefix, job.copies))
    return found


def _publish_filled(job: BatchJob, targets: Sequence[Target], progress: Progress) -> None:
    """Readers move to what was filled of groups that no stream job fills too (it moves the others)."""
    with _store(job) as store:
        filling = store.filling([plan.name for plan in job.plans])
        for target in targets:
            name, version = target.plan.name, target.layout.version
            streamed = any(feature.freshness in STREAM_TIERS for feature in target.plan.features)
            if filling.get(name) == version and not streamed:
                store.set_current(name, version)
                progress(f"readers of {name} follow {version} now")


def _store(job: BatchJob) -> OnlineStore:
    return OnlineStore(job.settings.require("redis"), STORE_TIMEOUT_S, namespace=job.settings.prefix)


def _landed_json(batch: Batch) -> dict[str, Any]:
    return {
        "topic": batch.topic,
        "landed": batch.rows,
        "heartbeats": batch.heartbeats,
        "rejected": sum(batch.rejected.values()),
        "reasons": batch.rejected,
    }


def _materialised_json(done: Materialised) -> dict[str, Any]:
    return {
        "group": done.group,
        "store_version": done.store_version,
        "tier": done.tier,
        "as_of": format_time(done.as_of_us),
        "entities": done.entities,
        "older": done.older,
        "wrong_type": done.wrong,
    }
