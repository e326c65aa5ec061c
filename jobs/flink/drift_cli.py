"""`featuredsl run drift`: submit the drift job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from featuredsl.errors import InputError
from featuredsl.settings import Settings
from featuredsl.times import parse_time
from jobs.flink.admission import admit
from jobs.flink.drift_config import monitor_config
from jobs.flink.handle import JobHandle
from jobs.flink.submit import submit
from jobs.kafka import ensure_topics
from monitors.policy import CALIBRATED, THRESHOLDS
from schemas.topics import DRIFT_EVENTS, PREDICTIONS, RETRAIN_TRIGGERS, dead_letter, topic

MODULE = "jobs.flink.drift_job"
WAIT_S = 180.0
POSITIVE = click.IntRange(min=1)


def start_drift(settings: Settings, options: Mapping[str, Any]) -> JobHandle:
    """Submit the drift job and wait until it runs.

    `options` are keys of the job's configuration: baseline, policy, group_id, watermark_delay_ms, max_ahead_ms,
    baseline_per_version, source, tenant, links, and those of `jobs.flink.runtime.options`. Raises InputError for
    options that are wrong and for a job that runs already, before anything is submitted.
    """
    monitor_config(options)
    prefix, kafka = settings.prefix, settings.require("kafka")
    predictions = topic(prefix, PREDICTIONS)
    name = str(options.get("name", f"{prefix}drift"))
    admit(settings.require("flink"), name, _parallelism(options))
    outputs = [topic(prefix, DRIFT_EVENTS), topic(prefix, RETRAIN_TRIGGERS)]
    ensure_topics(kafka, [predictions, dead_letter(predictions), *outputs])
    config = {
        "name": name,
        "group_id": f"{prefix}drift",
        **options,
        "kafka": kafka,
        "prefix": prefix,
        "topics": [predictions],
    }
    handle = submit(MODULE, config, settings)
    handle.wait_running(WAIT_S)
    return handle


@click.command()
@click.option("--baseline-from", metavar="TIME", help="Start of the baseline (ISO 8601 with a zone).")
@click.option("--baseline-to", metavar="TIME", help="End of the baseline; it is frozen from then on.")
@click.option("--baseline-hours", type=POSITIVE, help="Instead: so many hours from a series' first record on [168].")
@click.option("--policy", type=click.Choice([CALIBRATED, THRESHOLDS]), default=CALIBRATED, show_default=True)
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="JSON with further options.")
def drift(
    baseline_from: str | None,
    baseline_to: str | None,
    baseline_hours: int | None,
    policy: str,
    config_file: Path | None,
) -> None:
    """Submit the drift job: the prediction log to drift events and retrain triggers.

    Example: featuredsl run drift --baseline-from 2026-01-05T00:00:00Z --baseline-to 2026-01-12T00:00:00Z
    """
    options = _file_options(config_file)
    options["policy"] = {"kind": policy, **options.get("policy", {})}
    span = _baseline(baseline_from, baseline_to, baseline_hours)
    if span:
        options["baseline"] = span
    settings = Settings.load()
    with Console(stderr=True).status("submitting the drift job"):
        handle = start_drift(settings, options)
    click.echo(f"{handle.name} {handle.job_id} RUNNING")


def _parallelism(options: Mapping[str, Any]) -> int:
    found = options.get("parallelism", 1)
    if not isinstance(found, int) or found < 1:
        msg = f"parallelism is {found!r}: give a whole number of at least 1"
        raise InputError(msg)
    return found


def _baseline(start: str | None, end: str | None, hours: int | None) -> dict[str, int]:
    if (start is None) != (end is None) or (start is not None and hours is not None):
        msg = "give --baseline-from and --baseline-to, or --baseline-hours"
        raise InputError(msg)
    if start is not None and end is not None:
        return {"from_ms": parse_time(start) // 1000, "to_ms": parse_time(end) // 1000}
    return {} if hours is None else {"hours": hours}


def _file_options(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = f"{path} is not a readable JSON file: {error}"
        raise InputError(msg) from error
    if not isinstance(found, dict):
        msg = f"{path}: expected a JSON object of options"
        raise InputError(msg)
    return found
