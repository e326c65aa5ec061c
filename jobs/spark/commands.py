"""What the Spark commands do and show; imported when one runs, because it loads Spark."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from featuredsl.errors import CheckFailed, InputError
from featuredsl.parity import OUTCOMES, FeatureParity, ParityReport, check_reads, compare, parse_reads
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.times import asked_time, format_time
from jobs.spark.batch import BatchJob, BatchRun, land_sources, run_batch
from jobs.spark.parity import offline_values
from jobs.spark.runtime import SparkConfig, session

ERR = Console(stderr=True)


def run_batches(times: Iterable[str], groups: Iterable[str], as_json: bool) -> None:
    """One batch run for each time as it comes (an empty one is now), in one application."""
    settings = Settings.load()
    job = BatchJob.of(settings, Registry.load(settings.registry), groups)
    config = SparkConfig.of(settings, "featuredsl-batch")
    if not ERR.is_terminal:
        click.echo(f"starting a Spark application on {config.master}", err=True)
    with session(config) as spark:
        for run in _runs(spark, job, times):
            _show_run(run, as_json)


def run_parity(path: Path, threshold: float, as_json: bool) -> None:
    """Compare the logged reads of a file with Spark. Raises CheckFailed when parity is broken."""
    settings = Settings.load()
    registry = Registry.load(settings.registry)
    reads = parse_reads(path.read_text(encoding="utf-8").splitlines())
    check_reads(registry.groups, reads)
    job = BatchJob.of(settings, registry, [read.group for read in reads])
    with session(SparkConfig.of(settings, "featuredsl-parity")) as spark, ERR.status("parity") as status:
        land_sources(spark, job, status.update)
        status.update(f"recomputing {len(reads)} reads")
        offline = offline_values(spark, registry.groups, reads)
    report = compare(registry.groups, reads, offline, threshold)
    _show_parity(report, as_json)
    if report.broken:
        names = ", ".join(f"{feature.group}.{feature.feature}" for feature in report.broken)
        raise CheckFailed(f"parity is broken for {names}")


def batch_time(text: str, now_us: int) -> int:
    """The time of a batch run; empty is now. Raises InputError for one that has not come: what it published as newest
    would hide every later run."""
    at_us = asked_time(text, "ms", "--at") if text else now_us
    if at_us > now_us:
        raise InputError(
            f"--at {text!r} is in the future (it is {format_time(now_us)}); "
            "give a time that has passed, or leave it out for now"
        )
    return at_us


def _runs(spark: SparkSession, job: BatchJob, times: Iterable[str]) -> Iterator[BatchRun]:
    for text in times:
        at_us = batch_time(text.strip(), time.time_ns() // 1000)
        with ERR.status("batch") as status:
            yield run_batch(spark, job, at_us, status.update)


def _show_run(run: BatchRun, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(run.as_json(), allow_nan=False))
        sys.stdout.flush()
        return
    table = Table(title=f"batch as of {format_time(run.at_us)} ({run.seconds:.1f} s)")
    for column in ("what", "rows", "rejected", "as of"):
        table.add_column(column, justify="left" if column in ("what", "as of") else "right")
    for source in run.landed.values():
        table.add_row(f"landed {source.topic}", str(source.rows), str(sum(source.rejected.values())), "")
    for done in run.materialised:
        name = f"written {done.group} {done.tier}"
        table.add_row(name, str(done.entities), str(done.wrong), format_time(done.as_of_us))
    Console().print(table)


def _show_parity(report: ParityReport, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(report.as_json(), allow_nan=False))
        return
    table = Table(title=f"parity of {report.reads} reads", caption=_verdict(report))
    table.add_column("feature")
    for column in (*OUTCOMES, "non-trivial"):
        table.add_column(column, justify="right")
    table.add_column("first divergence")
    for feature in report.features:
        counts = [str(feature.counts[outcome]) for outcome in OUTCOMES]
        table.add_row(f"{feature.group}.{feature.feature}", *counts, str(feature.non_trivial), _first(feature))
    Console().print(table)


def _first(feature: FeatureParity) -> str:
    first = feature.first_divergence
    if first is None:
        return ""
    at = format_time(first.at_us)
    return f"{at} {list(first.key)}: {first.online!r} online, {first.offline!r} offline"


def _verdict(report: ParityReport) -> str:
    totals = report.totals
    return f"{totals['values']} values, {totals['non_trivial']} non-trivial, {totals['mismatch']} mismatches"
