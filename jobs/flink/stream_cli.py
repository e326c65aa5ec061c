"""`featuredsl run stream` and `featuredsl rebuild`: the feature job, and store versions that are filled anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from rich.console import Console

from featuredsl.errors import InputError
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.tiles import bundles
from jobs.flink.starting import RUNNING_S, AlreadyRunsError
from jobs.flink.stream import bundle_of, start_stream
from jobs.flink.tuning import Tuning

POSITIVE = click.IntRange(min=1)
NATURAL = click.IntRange(min=0)

_OPTIONS = (
    click.option(
        "--parallelism", type=POSITIVE, default=1, show_default=True, help="Subtasks; at most the topics' partitions."
    ),
    click.option(
        "--mini-batch", "mini_batch_ms", type=NATURAL, default=50, show_default=True, metavar="MS",
        help="Gather events so long before they are counted: volume (some seconds) against freshness; 0 for none.",
    ),
    click.option(
        "--checkpoint-interval", "checkpoint_interval_ms", type=click.IntRange(min=100), default=10_000,
        show_default=True, metavar="MS", help="Time between checkpoints.",
    ),
    click.option(
        "--idle-timeout", "idle_timeout_ms", type=NATURAL, default=0, show_default=True, metavar="MS",
        help="Event time does not wait for a partition that was quiet so long; 0 where heartbeats are sent.",
    ),
    click.option(
        "--state-backend", type=click.Choice(["heap", "rocksdb"]), default="heap", show_default=True,
        help="Where state lives: memory, or RocksDB on disk for state larger than memory.",
    ),
    click.option(
        "--wait", "warm_s", type=POSITIVE, default=24 * 3600, show_default=True, metavar="SECONDS",
        help="How long to wait for a job that fills a store version beside the one that readers follow.",
    ),
)  # fmt: skip


def _tuned(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.option("--group", default="", help="One job for this group, or these (comma-separated); default: one a bundle.")
@click.option("--fresh", is_flag=True, help="Do not go on from a checkpoint: fill new store versions from the topics.")
@click.option(
    "--from", "state", default="", metavar="PATH", help="Go on from this savepoint or checkpoint (with --group)."
)
@_tuned
def stream(group: str, fresh: bool, state: str, warm_s: int, **tuning: Any) -> None:
    """Submit the feature jobs: event topics to the online store, one job for each bundle of the applied groups.

    A job goes on from the checkpoint of the one before it, if that ran the same definitions. Otherwise it reads topics
    from their start into a store version of its own; where values are read already, readers move to it once it has
    caught up (and batch tiers are filled), and the job before it ends. Interrupting the wait leaves the job running:
    the same command waits again. Jobs that run and are followed already stay as they are.

    Example: featuredsl apply features.py && featuredsl run stream
    """
    if state and (fresh or not group):
        msg = "--from is the state of one job: name its groups by --group, and leave --fresh away"
        raise InputError(msg)
    bundled = [group] if group else _bundles(Settings.load())
    running: list[AlreadyRunsError] = []
    for names in bundled:
        try:
            _start(names, fresh, state, warm_s, Tuning(**tuning))
        except AlreadyRunsError as error:
            running.append(error)
    if len(running) == len(bundled):
        raise running[0]
    for one in running:
        click.echo(f"left as it is: {one}", err=True)


@click.command()
@click.argument("group")
@_tuned
def rebuild(group: str, warm_s: int, **tuning: Any) -> None:
    """Fill the online store of GROUP anew from its topics while reads go on, then move readers.

    For values that are lost or wrong: an emptied Redis, a repaired topic, a checkpoint that does not fit. Groups that
    share a job with GROUP are rebuilt with it. What a topic no longer holds is put beside it from
    the history that `run batch` has landed.

    Example: featuredsl rebuild user_clicks
    """
    settings = Settings.load()
    _start(",".join(bundle_of(settings, group)), True, "", warm_s, Tuning(**tuning))


def _bundles(settings: Settings) -> list[str]:
    """The groups of every bundle, comma-separated. Raises InputError when no applied group has streamed features."""
    found = bundles(Registry.load(settings.registry).groups.values())
    if not found:
        msg = f"no group in {settings.registry} has streamed features: `featuredsl run batch` keeps the others fresh"
        raise InputError(msg)
    return [",".join(plan.name for plan in plans) for plans in found.values()]


def _start(names: str, fresh: bool, state: str, warm_s: float, tuning: Tuning) -> None:
    settings = Settings.load()
    console = Console(stderr=True)
    if not console.is_terminal:
        click.echo(f"submitting the feature job of {names}", err=True)
    with console.status("submitting the feature job") as status:

        def say(line: str) -> None:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
            status.update("waiting until the job has caught up")

        handle = start_stream(
            settings, names, tuning, fresh=fresh, restore=state, say=say, warm_s=max(warm_s, RUNNING_S)
        )
    click.echo(f"{handle.name} {handle.job_id} RUNNING")
