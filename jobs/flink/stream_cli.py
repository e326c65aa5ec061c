"""`featuredsl run stream`: submit the feature job of the applied groups."""

from __future__ import annotations

import time
from dataclasses import dataclass

import click
from rich.console import Console

from featuredsl.cli.program import chosen
from featuredsl.errors import InputError
from featuredsl.online.layout import StoreLayout
from featuredsl.online.progress import StreamNote, reset_commands, streams_key
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.sources import EventSource
from featuredsl.tiles import longest_reach_us
from jobs.flink.admission import admit, check_eviction
from jobs.flink.handle import JobHandle
from jobs.flink.retained import newest_checkpoint
from jobs.flink.submit import submit
from jobs.kafka import ensure_topics
from schemas.topics import dead_letter

MODULE = "jobs.flink.feature_job"
RESUME = "resume"
WAIT_S = 120.0
POSITIVE = click.IntRange(min=1)


@dataclass(frozen=True, slots=True)
class StreamJob:
    """The feature job of some applied groups: its names, and the topics and sources that it reads."""

    name: str
    group_id: str
    plans: tuple[GroupPlan, ...]
    layouts: tuple[StoreLayout, ...]
    sources: tuple[EventSource, ...]
    prefix: str

    @classmethod
    def of(cls, settings: Settings, registry: Registry, names: str = "") -> StreamJob:
        """The job for the named groups (comma-separated; all applied ones by default)."""
        plans = chosen(registry.groups, names)
        layouts = [registry.layout(plan.name) for plan in plans]
        return cls(
            name=f"{settings.prefix}features-" + "-".join(plan.name for plan in plans),
            group_id=settings.prefix + "-".join(["features", *(f"{part.group}@{part.version}" for part in layouts)]),
            plans=tuple(plans),
            layouts=tuple(layouts),
            sources=tuple({source.name: source for plan in plans for source in plan.streams}.values()),
            prefix=settings.prefix,
        )

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that the job reads."""
        return tuple(dict.fromkeys(self.prefix + source.topic for source in self.sources))

    def note(self, job_id: str, started_us: int) -> StreamNote:
        """What the online store remembers of the job."""
        topics = {source.name: self.prefix + source.topic for source in self.sources}
        groups = tuple(plan.name for plan in self.plans)
        return StreamNote(self.name, job_id, self.group_id, groups, topics, started_us)


def start_stream(settings: Settings, names: str = "", *, parallelism: int = 1, restore: str = "") -> JobHandle:
    """Submit one feature job for the named groups (all applied ones by default) and wait until it runs.

    Readers are pointed at the store version that the job fills. The Kafka group id is derived from the groups'
    store versions, so a job that is started again goes on where its offsets were committed. `restore` is the path of
    a checkpoint or savepoint to start from, or `RESUME` for the newest complete checkpoint of this job. Raises as
    `jobs.flink.admission.admit` and `check_eviction` before anything is submitted.
    """
    registry = Registry.load(settings.registry)
    job = StreamJob.of(settings, registry, names)
    admit(settings.require("flink"), job.name, parallelism)
    state = newest_checkpoint(settings, job.name) if restore == RESUME else restore
    ensure_topics(settings.require("kafka"), [*job.topics, *(dead_letter(topic) for topic in job.topics)])
    with OnlineStore(settings.require("redis"), namespace=settings.prefix) as store:
        check_eviction(store, settings.redis)
        if not state:
            store.round_trip(reset_commands(job.group_id, [source.name for source in job.sources]))
    config = {
        "name": job.name,
        "kafka": settings.require("kafka"),
        "redis": settings.require("redis"),
        "prefix": settings.prefix,
        "group_id": job.group_id,
        "topics": job.topics,
        "registry": str(settings.registry),
        "groups": [plan.name for plan in job.plans],
        "parallelism": parallelism,
        "state_ttl_ms": 2 * max(longest_reach_us(plan) for plan in job.plans) // 1000,
    }
    handle = submit(MODULE, config, settings, restore=state)
    handle.wait_running(WAIT_S)
    with OnlineStore(settings.require("redis"), namespace=settings.prefix) as store:
        for layout in job.layouts:
            store.set_current(layout.group, layout.version)
        note = job.note(handle.job_id, time.time_ns() // 1000)
        store.round_trip([("HSET", streams_key(settings.prefix), note.name, note.to_json())])
    return handle


@click.command()
@click.option("--group", default="", help="Only this group (or several, comma-separated); default: all applied.")
@click.option(
    "--parallelism",
    type=POSITIVE,
    default=1,
    show_default=True,
    help="Subtasks; at most the topics' partitions.",
)
@click.option("--resume", is_flag=True, help="Go on from the newest complete checkpoint of this job.")
@click.option("--from", "state", default="", metavar="PATH", help="Go on from this savepoint or checkpoint.")
def stream(group: str, parallelism: int, resume: bool, state: str) -> None:
    """Submit the feature job: event topics to the online store.

    Example: featuredsl apply features.py && featuredsl run stream
    """
    if resume and state:
        msg = "--resume and --from say two things; give one of them"
        raise InputError(msg)
    settings = Settings.load()
    with Console(stderr=True).status("submitting the feature job"):
        handle = start_stream(settings, group, parallelism=parallelism, restore=RESUME if resume else state)
    click.echo(f"{handle.name} {handle.job_id} RUNNING")
