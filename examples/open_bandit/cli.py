"""`featuredsl demo`: the whole loop on the Open Bandit sample."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console

from examples.open_bandit.dataset import DEFAULT_PATH
from examples.open_bandit.demo import run_demo
from examples.open_bandit.run import DemoOptions, new_run
from featuredsl.errors import CheckFailed

PLAIN_WIDTH = 200


@click.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=DEFAULT_PATH,
    show_default=True,
    help="Folder with random/ and bts/ of the Open Bandit sample.",
)
@click.option("--keep", is_flag=True, help="Leave the stack, the jobs and the service running.")
@click.option("--concurrency", type=click.IntRange(1, 64), default=8, show_default=True, help="Questions in flight.")
def demo(data: Path, keep: bool, concurrency: int) -> None:
    """Run the whole loop on the Open Bandit sample: events, features, decisions, training, drift, retraining.

    Starts what does not run yet, ends what it started, and prints what each stage did and where to look.
    Exit code 1 when an invariant is broken.

    Example: featuredsl demo
    """
    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, log_path=False)
    run = new_run(DemoOptions(data, keep, concurrency), console)
    report = run_demo(run)
    if not report.ok:
        msg = "broken invariants:\n  " + "\n  ".join(report.broken)
        raise CheckFailed(msg)
