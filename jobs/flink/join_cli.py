"""`featuredsl run join`: submit the join job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.console import Console

from featuredsl.ccb.attribution import REWARDS
from featuredsl.settings import Settings
from featuredsl.times import parse_duration
from jobs.flink.admission import admit
from jobs.flink.handle import JobHandle
from jobs.flink.join_config import StreamJoinConfig
from jobs.flink.submit import submit
from jobs.kafka import ensure_topics
from schemas.topics import (
    CCB_EXAMPLES,
    COMPACTED,
    JOIN_COUNTS,
    LATE_CLICKS,
    dead_letter,
    topic,
)

MODULE = "jobs.flink.join_job"
WAIT_S = 240.0
POSITIVE = click.IntRange(min=1)


def start_join(settings: Settings, options: Mapping[str, Any] | None = None) -> JobHandle:
    """Create the topics that are missing, submit the job and wait until it runs.

    `options` are keys of `StreamJoinConfig` and of the runtime (idle_timeout_ms, checkpoint_interval_ms …). Raises
    InputError for wrong options or a job that runs already, DependencyError when Kafka or Flink does not answer or
    has too few slots, FeatureError when the job is refused or fails.
    """
    kafka, prefix = settings.require("kafka"), settings.prefix
    config = {
        "name": f"{prefix}join",
        "kafka": kafka,
        "prefix": prefix,
        "group_id": f"{prefix}join",
        **(options or {}),
    }
    checked = StreamJoinConfig.read(config)
    admit(settings.require("flink"), str(config["name"]), checked.parallelism)
    names = checked.topics
    inputs = [topic(prefix, name) for name in names]
    outputs = [topic(prefix, name) for name in (CCB_EXAMPLES, LATE_CLICKS, JOIN_COUNTS)]
    compacted = [topic(prefix, name) for name in sorted(COMPACTED)]
    ensure_topics(kafka, [*inputs, *outputs, *map(dead_letter, inputs)], compacted=compacted)
    handle = submit(MODULE, {"topics": inputs, **config}, settings)
    handle.wait_running(WAIT_S)
    return handle


@click.command()
@click.option("--window", default="30m", show_default=True, help="Attribution window; both ends count.")
@click.option("--delay", default="10s", show_default=True, help="How far out of order records may come.")
@click.option("--idle-timeout", default="", help="Ignore partitions quiet for so long; default: wait for heartbeats.")
@click.option("--reward", type=click.Choice(REWARDS), default="click", show_default=True, help="Worth of a slot.")
@click.option(
    "--parallelism",
    type=POSITIVE,
    default=1,
    show_default=True,
    help="Subtasks; at most the topics' partitions.",
)
def join(window: str, delay: str, idle_timeout: str, reward: str, parallelism: int) -> None:
    """Submit the join job: decisions and what followed them to training examples.

    Every partition of impressions, clicks, activations, auctions and the catalog must carry records or heartbeats:
    event time waits for the slowest. An idle time-out of a few seconds loses clicks; prefer heartbeats.

    Example: featuredsl run join --window 30m
    """
    options = {
        "window_ms": parse_duration(window) // 1000,
        "watermark_delay_ms": parse_duration(delay) // 1000,
        "idle_timeout_ms": parse_duration(idle_timeout) // 1000 if idle_timeout else 0,
        "reward": reward,
        "parallelism": parallelism,
    }
    console = Console(stderr=True)
    with console.status("submitting the join job"):
        handle = start_join(Settings.load(), options)
    click.echo(f"{handle.name} {handle.job_id} RUNNING")
