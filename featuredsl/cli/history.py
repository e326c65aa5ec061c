"""`featuredsl history`: a point-in-time training set from files."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from featuredsl.cli.paths import refuse_overwrite
from featuredsl.errors import DependencyError, InputError, unknown
from featuredsl.files import replacing
from featuredsl.history import HistoryRequest, HistoryResult, build, label_range, steps
from featuredsl.interrupts import on_interrupt
from featuredsl.label_files import FORMATS
from featuredsl.labels import read_labels
from featuredsl.loader import load_definitions
from featuredsl.plan import GroupPlan, inputs_of
from featuredsl.times import asked_time

ENGINES = "featuredsl.history_engines"


def event_files(pairs: tuple[str, ...]) -> dict[str, Path]:
    """`NAME=FILE` options as a mapping."""
    files: dict[str, Path] = {}
    for pair in pairs:
        name, separator, file = pair.partition("=")
        if not separator or not file:
            raise InputError(f"--events {pair!r}: write it as NAME=FILE")
        if name in files:
            raise InputError(f"--events {name} is given twice: {files[name]} and {file}")
        files[name] = Path(file)
    return files


@click.command()
@click.argument("definitions", type=click.Path(path_type=Path), metavar="DEF.py")
@click.option("--events", multiple=True, required=True, metavar="NAME=FILE", help="File of an event source or a table.")
@click.option("--labels", type=click.Path(path_type=Path), required=True, help="Label rows: keys and `ts`.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Output, format by suffix.")
@click.option("--engine", default="duckdb", show_default=True, type=click.Choice(["duckdb", "spark"]))
@click.option("--as-of", metavar="TIME", help="Use only records that arrived by then (ISO 8601 with a zone).")
@click.option("--as-known/--no-as-known", default=True, help="Count events only from their arrival on (the default).")
@click.option("--dead-letter", type=click.Path(path_type=Path), help="Rejected rows; default OUT.rejected.jsonl.")
@click.option("--label-unit", default="ms", show_default=True, type=click.Choice(["s", "ms", "us"]))
def history(
    definitions: Path,
    events: tuple[str, ...],
    labels: Path,
    out: Path,
    engine: str,
    as_of: str | None,
    as_known: bool,
    dead_letter: Path | None,
    label_unit: str,
) -> None:
    """Add every feature of DEF.py to the label rows, as it was just before each label's `ts`.

    Example: featuredsl history features.py --events clicks=clicks.jsonl --labels labels.csv --out train.parquet
    """
    rejects = dead_letter or out.with_name(out.name + ".rejected.jsonl")
    console = Console(stderr=True)
    groups, files = load_definitions(definitions), event_files(events)
    _check(groups, files, labels, out, rejects)
    rejects.unlink(missing_ok=True)
    known_by = None if as_of is None else asked_time(as_of, label_unit, "--as-of")
    began = time.monotonic()
    with _interruptible(), _progress(console) as progress, replacing(rejects) as kept:
        task = progress.add_task("starting", total=steps(groups) + 1)

        def step(text: str) -> None:
            progress.update(task, description=text, advance=1)

        asked = read_labels(labels, label_unit, label_range(groups))
        request = HistoryRequest(groups, files, asked, kept, step, known_by, as_known)
        result = build(request) if engine == "duckdb" else _other_engine(engine, request)
        step(f"writing {out}")
        with on_interrupt(result.labels.con.interrupt):
            result.write(out)
    _report(console, result, out, rejects, time.monotonic() - began, as_of)


def _check(groups: Mapping[str, GroupPlan], files: Mapping[str, Path], labels: Path, out: Path, rejects: Path) -> None:
    """Refuses, before anything is written, a file for what the definitions do not have and outputs that are inputs."""
    known = tuple(inputs_of(groups.values()))
    for name in files:
        if name not in known:
            raise InputError(f"--events {name}=…: {unknown('source', name, 'the definitions', known)}")
    if out.suffix not in FORMATS:
        raise InputError(f"--out {out}: suffix {out.suffix!r} is none of {', '.join(FORMATS)}")
    inputs = {f"--events {name}": path for name, path in files.items()} | {"--labels": labels}
    refuse_overwrite({"--out": out, "--dead-letter": rejects}, inputs)


@contextmanager
def _interruptible() -> Iterator[None]:
    """DuckDB tells of Ctrl-C by a RuntimeError."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


def _progress(console: Console) -> Progress:
    """The stage and the time so far; nothing where standard error is not a terminal."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _report(
    console: Console, result: HistoryResult, out: Path, rejects: Path, seconds: float, as_of: str | None
) -> None:
    for loaded in result.loaded:
        note = f", {loaded.rejected} rejected (see {rejects})" if loaded.rejected else ""
        note += f", {loaded.later} arrived after {as_of}" if loaded.later else ""
        console.print(f"{loaded.source}: {loaded.rows} events{note}")
    rows = result.labels.count()
    rate = round(rows / max(seconds, 1e-3))
    console.print(f"{rows} rows, {len(result.types)} features -> {out} ({seconds:.1f} s, {rate:,} rows/s)")


def _other_engine(name: str, request: HistoryRequest) -> HistoryResult:
    """An engine of a package above this one, found by its entry point."""
    found = metadata.entry_points(group=ENGINES, name=name)
    if not found:
        raise DependencyError(f"the {name} engine is not installed; install featuredsl[{name}]")
    result: HistoryResult = next(iter(found)).load()(request)
    return result
