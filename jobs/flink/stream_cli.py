"""`featuredsl run stream`: submit the feature job of the applied groups."""

from __future__ import annotations

import click
from rich.console import Console

from featuredsl.cli.program import chosen
from featuredsl.online.store import OnlineStore
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.tiles import longest_reach_us
from jobs.flink.admission import admit
from jobs.flink.handle import JobHandle
from jobs.flink.submit import submit
from jobs.kafka import ensure_topics

MODULE = "jobs.flink.feature_job"
WAIT_S = 120.0
POSITIVE = click.IntRange(min=1)


def start_stream(settings: Settings, names: str = "", *, parallelism: int = 1) -> JobHandle:
    """Submit one feature job for the named groups (all applied ones by default) and wait until it runs.

    Readers are pointed at the store version that the job fills. The Kafka group id is derived from the groups'
    store versions, so a job that is started again goes on where its offsets were committed. Raises as
    `jobs.flink.admission.admit` before anything is submitted.
    """
    registry = Registry.load(settings.registry)
    plans = chosen(registry.groups, names)
    name = f"{settings.prefix}features-" + "-".join(plan.name for plan in plans)
    admit(settings.require("flink"), name, parallelism)
    layouts = [registry.layout(plan.name) for plan in plans]
    sources = {source.name: source for plan in plans for source in plan.streams}
    topics = [settings.prefix + source.topic for source in sources.values()]
    ensure_topics(settings.require("kafka"), [*topics, *(f"{topic}.dlq" for topic in topics)])
    group_id = "-".join(["features", *(f"{layout.group}@{layout.version}" for layout in layouts)])
    config = {
        "name": name,
        "kafka": settings.require("kafka"),
        "redis": settings.require("redis"),
        "prefix": settings.prefix,
        "group_id": settings.prefix + group_id,
        "topics": topics,
        "registry": str(settings.registry),
        "groups": [plan.name for plan in plans],
        "parallelism": parallelism,
        "state_ttl_ms": 2 * max(longest_reach_us(plan) for plan in plans) // 1000,
    }
    handle = submit(MODULE, config, settings)
    handle.wait_running(WAIT_S)
    with OnlineStore(settings.require("redis"), namespace=settings.prefix) as store:
        for layout in layouts:
            store.set_current(layout.group, layout.version)
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
def stream(group: str, parallelism: int) -> None:
    """Submit the feature job: event topics to the online store.

    Example: featuredsl apply features.py && featuredsl run stream
    """
    settings = Settings.load()
    with Console(stderr=True).status("submitting the feature job"):
        handle = start_stream(settings, group, parallelism=parallelism)
    click.echo(f"{handle.name} {handle.job_id} RUNNING")
