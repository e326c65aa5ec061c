"""Commands that run on Spark: `featuredsl run batch`, `featuredsl parity`. Spark is loaded when one runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from featuredsl.parity import DEFAULT_THRESHOLD


@click.command()
@click.option("--at", "times", multiple=True, help="As-of time, ISO 8601 or epoch milliseconds (default: now).")
@click.option("--groups", default="", help="Names of groups, separated by commas (default: all applied ones).")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read times, one a line, and run for each as it comes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON summary a line for each run.")
def batch(times: tuple[str, ...], groups: str, from_stdin: bool, as_json: bool) -> None:
    """Land Kafka topics as Parquet history; compute the hourly and daily features and publish them.

    Several times run one after another in one Spark application. A repeated run changes nothing.

    Example: featuredsl run batch --at 2026-01-02T00:00:00Z --json
    """
    from jobs.spark.commands import run_batches

    names = [name.strip() for name in groups.split(",") if name.strip()]
    run_batches(sys.stdin if from_stdin else (times or ("",)), names, as_json)


@click.command()
@click.option("--reads", "path", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--threshold", default=DEFAULT_THRESHOLD, show_default=True, help="Largest share of wrong values.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON on stdout.")
def parity(path: Path, threshold: float, as_json: bool) -> None:
    """Compare logged online reads with what Spark computes for the same times.

    READS holds one JSON object a line: {"at", "group", "key", "request"?, "features"}, the features as
    `featuredsl get --json` gives them. Exit code 1 when a feature has too many wrong values.

    Example: featuredsl parity --reads reads.jsonl
    """
    from jobs.spark.commands import run_parity

    run_parity(path, threshold, as_json)
