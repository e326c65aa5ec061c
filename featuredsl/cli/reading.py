"""`featuredsl get | explain-read`: what the online store answers, and why."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from featuredsl.dtypes import ELEMENTS, DType, spelled
from featuredsl.errors import InputError, unknown
from featuredsl.finalize import NULL, OK, FeatureValue, Finalizer
from featuredsl.nodes import Value
from featuredsl.online.keys import KeyPart, split_key
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan
from featuredsl.read_reasons import Read, reason
from featuredsl.reader import FeatureReader
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from featuredsl.times import asked_time, format_time
from featuredsl.values import parse_array, typed

WIDE = 240
"""Columns of a table that goes to a file or another program: nothing is cut."""
AT = click.option("--at", default=None, help="Time of the read: ISO 8601 with a zone, or ms. Default: now.")


def key_parts(plan: GroupPlan, text: str) -> tuple[KeyPart, ...]:
    """A key of the command line: parts joined by `|`, escaped like in Redis keys."""
    return split_key(text, [dtype for _, dtype in plan.entity])


def request_values(plan: GroupPlan, pairs: tuple[str, ...]) -> dict[str, Value]:
    """`NAME=VALUE` options typed by what the on-demand features ask for; arrays are JSON: `vec=[1,2]`."""
    wanted = plan.request_inputs
    values: dict[str, Value] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not wanted:
            raise InputError(f"--request {name!r}: group {plan.name!r} takes no request inputs; leave the option out")
        if name not in wanted:
            raise InputError(unknown("--request", name, plan.name, tuple(wanted)))
        if not separator:
            raise InputError(f"--request {pair!r}: write it as NAME=VALUE")
        values[name] = _typed(text, wanted[name], name)
    return values


def _typed(text: str, dtype: DType, name: str) -> Value:
    try:
        if dtype == "bool":
            return {"true": True, "false": False}[text.lower()]
        if dtype in ELEMENTS:
            return typed(parse_array(text), dtype)
        return typed(int(text) if dtype == "int" else float(text) if dtype == "float" else text, dtype)
    except KeyError:
        raise InputError(f"--request {name}={text!r} is not of type {dtype}") from None
    except ValueError as error:
        raise InputError(f"--request {name}={text!r} is not of type {spelled(dtype)}: {error}") from None


def at_us(text: str | None) -> int:
    """The time option in microseconds."""
    return time.time_ns() // 1000 if text is None else asked_time(text, "ms", "--at")


def online_store(settings: Settings) -> OnlineStore:
    """The store as readers of these settings see it. Raises DependencyError when no Redis is configured."""
    return OnlineStore(settings.require("redis"), namespace=settings.prefix)


@click.command()
@click.argument("group")
@click.argument("keys", nargs=-1, required=True, metavar="KEY…")
@AT
@click.option(
    "--request",
    multiple=True,
    metavar="NAME=VALUE",
    help="Input of an on-demand feature; an array is JSON, for example vec='[1, 2]'.",
)
@click.option("--features", default="", metavar="NAME,…", help="Only these features. Default: all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def get(
    group: str, keys: tuple[str, ...], at: str | None, request: tuple[str, ...], features: str, as_json: bool
) -> None:
    """Read the features of one or more keys, with a status for every value.

    Example: featuredsl get segment a1b2c3 --at 2026-01-02T03:04:05Z --json
    """
    settings = Settings.load()
    registry = Registry.load(settings.registry)
    plan = registry.group(group)
    parts = [key_parts(plan, key) for key in keys]
    asked, values = at_us(at), request_values(plan, request)
    with online_store(settings) as store:
        reader = FeatureReader(store, registry)
        names = [name.strip() for name in features.split(",") if name.strip()]
        handle = reader.prepare(*(f"{group}.{name}" for name in names)) if names else reader.prepare(group)
        rows = handle.get([(group, key) for key in parts], asked, values)
        version = reader.layout(group).version
    if names and (absent := set(names).difference(registry.plan_of(group, version).feature_names)):
        click.echo(
            f"warning: readers follow {group}@{version}, which does not have {', '.join(sorted(absent))}: "
            f"{registry.store_version(group)} has, and is not filled yet",
            err=True,
        )
    if as_json:
        click.echo(json.dumps(as_data(group, version, parts, rows), allow_nan=False))
        return
    for key, row in zip(keys, rows, strict=True):
        Console(width=None if sys.stdout.isatty() else WIDE).print(_table(f"{group}@{version} {key}", row))


def as_data(
    group: str, version: str, keys: list[tuple[KeyPart, ...]], rows: Sequence[dict[str, FeatureValue]]
) -> dict[str, Any]:
    """The shape of `get --json` in contract."""
    return {
        "group": group,
        "version": version,
        "rows": [
            {"key": list(key), "features": {name: _value(value) for name, value in row.items()}}
            for key, row in zip(keys, rows, strict=True)
        ],
    }


def _value(value: FeatureValue) -> dict[str, Any]:
    """JSON has no NaN and no infinities: a value that holds one is null."""
    found, status = value.value, value.status
    items = found if isinstance(found, list) else [found]
    if any(isinstance(item, float) and not math.isfinite(item) for item in items):
        found, status = None, NULL if status == OK else status
    return {
        "value": found,
        "status": status,
        "as_of": None if value.as_of_us is None else format_time(value.as_of_us),
        "event_time": None if value.event_time_us is None else format_time(value.event_time_us),
    }


def _table(title: str, row: dict[str, FeatureValue]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("feature", "value", "status", "as of", "newest event"):
        table.add_column(column)
    for name, value in row.items():
        data = _value(value)
        table.add_row(name, str(value.value), value.status, data["as_of"] or "", data["event_time"] or "")
    return table


@click.command("explain-read")
@click.argument("group")
@click.argument("key")
@AT
def explain_read(group: str, key: str, at: str | None) -> None:
    """Say why each value of a key is what it is: window, stored tiles, batch times, age.

    Example: featuredsl explain-read segment a1b2c3
    """
    settings = Settings.load()
    registry = Registry.load(settings.registry)
    asked, parts = at_us(at), key_parts(registry.group(group), key)
    with online_store(settings) as store:
        layout = FeatureReader(store, registry).layout(group)
        meta = store.meta()  # before the state, which may have more than it says
        state = store.read([(layout, parts)])[0]
    marks = meta.completed(group, layout.version)
    plan = registry.plan_of(group, layout.version)
    read = Read(plan, layout, parts, state, asked, marks, Finalizer(plan).values(state, asked, marks))
    click.echo(f"{group}@{layout.version} {key} at {format_time(asked)}: {'found' if state.exists else 'no such key'}")
    if layout.version != registry.store_versions[group]:
        click.echo(f"  readers follow this version; {settings.registry} has {registry.store_versions[group]}")
    for name, tiles in state.ring.items():
        click.echo(f"  tiles {name}: {_filled([tile.index for tile in tiles])}")
    for name, wide in state.wide.items():
        click.echo(f"  states {name}: {_filled([tile.index for tile in wide])}")
    for name, sessions in state.sessions.items():
        click.echo(f"  sessions {name}: {len(sessions.records)} stored")
    for tier, times in meta.batch_marks(group, layout.version).items():
        click.echo(f"  batch {tier}: complete as of {', '.join(format_time(t) for t in times)}")
    for mark, times in meta.closed_marks(group, layout.version).items():
        click.echo(f"  closed {mark}: complete up to {', '.join(format_time(t) for t in times) or 'nothing yet'}")
    if not state.exists:
        _explain_nothing(read)
        return
    for name, value in read.row.items():
        found = reason(read, name)
        when = f"as of {_shown(value.as_of_us)}, newest event {_shown(value.event_time_us)}"
        click.echo(f"  {name} = {value.value!r} {value.status}, {when}\n    from: {found.source}\n    why: {found.why}")
        if found.todo:
            click.echo(f"    do:   {found.todo}")


def _explain_nothing(read: Read) -> None:
    """Of a key under which nothing stands: each reason once, after the features that it is the reason of."""
    shared: dict[str, tuple[list[str], dict[str, None]]] = {}
    for name, value in read.row.items():
        found = reason(read, name)
        values, todos = shared.setdefault(found.why, ([], {}))
        values.append(f"  {name} = {value.value!r} {value.status}")
        todos[found.todo] = None
    for why, (values, todos) in shared.items():
        click.echo("\n".join([*values, f"    why: {why}", *(f"    do:   {todo}" for todo in todos if todo)]))


def _filled(indices: list[int]) -> str:
    """How many tiles are filled, from which to which."""
    return f"{len(indices)} filled" + (f", {indices[0]} to {indices[-1]}" if indices else "")


def _shown(us: int | None) -> str:
    return "unknown" if us is None else format_time(us)
