"""`featuredsl up | down | status | doctor`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from featuredsl.errors import CheckFailed
from featuredsl.settings import Settings
from jobs.flink.stream_status import stream_status
from localstack.doctor import diagnose
from localstack.service import Layout
from localstack.stack import PARTS, part_names
from localstack.stack import down as stop_stack
from localstack.stack import status as stack_status
from localstack.stack import up as start_stack

_home = click.option("--home", type=click.Path(path_type=Path), help="Folder of the stack (default: .featuredsl here).")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")


def _only(help_text: str) -> Callable[[Any], Any]:
    return click.option("--only", metavar="PARTS", help=f"{help_text}: {','.join(PARTS)}.")


@click.command()
@_home
@_only("Start only these parts")
@click.option("--quick", is_flag=True, help="JVMs compile less: ready for short work sooner, slower under long load.")
def up(home: Path | None, only: str | None, quick: bool) -> None:
    """Start the local stack on free ports of 127.0.0.1 and wait until it is ready.

    Parts that run already stay as they are; one that has died comes back with its data, on its former port.

    Example: featuredsl up --only kafka,redis
    """
    names = part_names(only)
    console = Console(stderr=True)
    layout = replace(_layout(home), quick=quick)
    begin = time.monotonic()
    with console.status("starting " + ", ".join(names)):
        state = start_stack(layout, names, lambda line: console.print(f"  {line}", highlight=False))
    console.print(f"ready after {time.monotonic() - begin:.0f} s; logs in {state.home / 'logs'}", highlight=False)
    for name, url in sorted(state.web.items()):
        console.print(f"  {name} web page: {url}", highlight=False)


@click.command()
@_home
@_only("End only these parts")
def down(home: Path | None, only: str | None) -> None:
    """End the local stack and every process that it started; data and logs stay in the home folder.

    Example: featuredsl down
    """
    layout = _layout(home)
    ended = stop_stack(layout, None if only is None else part_names(only))
    click.echo(f"ended {', '.join(ended)}" if ended else f"nothing runs under {layout.home}", err=True)


@click.command()
@_home
@_json
def status(home: Path | None, as_json: bool) -> None:
    """Show how each part of the stack is, and how far its stream jobs are; exit 1 when a part is broken.

    Example: featuredsl status --json
    """
    parts = stack_status(_layout(home))
    streams = stream_status(Settings.load(home=home))
    if as_json:
        click.echo(json.dumps({"parts": [asdict(part) for part in parts], **streams.as_data()}, allow_nan=False))
    else:
        rows = [(p.part, p.state, p.address, ",".join(map(str, p.pids)), p.detail) for p in parts]
        _table(("part", "state", "address", "pids", "detail"), rows)
        for columns, lines in streams.tables():
            click.echo()
            _table(columns, lines)
        for hint in streams.hints():
            click.echo(hint, err=True)
    _fail_on(f"{part.part} is broken: {part.detail}" for part in parts if part.state == "broken")


@click.command()
@_home
@_json
def doctor(home: Path | None, as_json: bool) -> None:
    """Check what the stack needs on this machine; exit 1 when something is missing.

    Example: featuredsl doctor
    """
    checks = diagnose(_layout(home))
    if as_json:
        click.echo(json.dumps({"checks": [asdict(check) for check in checks]}))
    else:
        _table(("check", "", "found"), [(c.name, "ok" if c.ok else "FAILED", c.detail) for c in checks])
    _fail_on(f"{check.name}: {check.detail}" for check in checks if not check.ok)


def _layout(home: Path | None) -> Layout:
    settings = Settings.load(home=home)
    return Layout(settings.home, settings.jars)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 200).print(table)


def _fail_on(problems: Iterable[str]) -> None:
    if found := list(problems):
        raise CheckFailed("\n  ".join(found))
