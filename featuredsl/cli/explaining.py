"""`featuredsl explain`: each feature of a definition file, where it comes from, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from featuredsl.cli.program import DEFINITIONS, chosen, program_or_reason
from featuredsl.describe import group_data
from featuredsl.loader import load_definitions
from featuredsl.plan import GroupPlan
from featuredsl.tables import as_text
from featuredsl.times import parse_time

TARGETS = ("flink", "spark", "duckdb")
_COLUMNS = ("feature", "type", "tier", "engine", "worst_age", "sources", "window", "hop", "tiles", "columns", "tags")
_HEADS = {"worst_age": "worst age", "sources": "from", "columns": "reads"}


@click.command()
@DEFINITIONS
@click.option("--group", default="", help="Only this group (or several, comma-separated).")
@click.option("--sql/--no-sql", default=False, help="Also print the SQL of every engine.")
@click.option("--at", default=None, help="Time of the switch for the ranges to backfill: ISO 8601 with a zone.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def explain(definitions: Path, group: str, sql: bool, at: str | None, as_json: bool) -> None:
    """Show each feature: source, window, hop, tiles, tier, engine, columns, tags; and what an entity costs.

    Example: featuredsl explain features.py --sql
    """
    plans = chosen(load_definitions(definitions), group)
    at_us = None if at is None else parse_time(at, "ms", "--at")
    if as_json:
        data = [group_data(plan, at_us) for plan in plans]
        for plan, found in zip(plans, data, strict=True):
            found["sql"] = {target: program_or_reason([plan], target) for target in TARGETS} if sql else None
        click.echo(json.dumps({"groups": data}, allow_nan=False, ensure_ascii=False))
        return
    for plan in plans:
        click.echo(_text(plan, group_data(plan, at_us)))
    if sql:
        for target in TARGETS:
            click.echo(f"\n-- {target}\n{program_or_reason(plans, target)}")


def _text(plan: GroupPlan, data: dict[str, Any]) -> str:
    rows = [tuple(_cell(column, feature) for column in _COLUMNS) for feature in data["features"]]
    heads = tuple(_HEADS.get(column, column) for column in _COLUMNS)
    docs = [f"{f['feature']}: {f['doc'].splitlines()[0]}" for f in data["features"] if f["doc"]]
    return "\n  ".join([as_text(plan.heading, heads, rows), *docs, *_cost_lines(data)])


def _cell(column: str, feature: dict[str, Any]) -> str:
    value = feature[column]
    if column == "sources":
        value = [*feature["sources"], *feature["inputs"]]
    return "" if value is None else ", ".join(value) if isinstance(value, list) else str(value)


def _cost_lines(data: dict[str, Any]) -> list[str]:
    if data["unsupported"]:
        return [f"not online: {data['unsupported']}"]
    online = data["online"]
    return [
        f"online: {online['bytes']} bytes per entity ({online['ring_bytes']} of tiles, "
        f"{online['hash_fields']} hash fields)",
        f"stream state: about {data['state_bytes']} bytes per entity",
        *(f"history of {name}: `featuredsl run batch`, at least once a day" for name in data["history"]),
        *(
            f"duplicates of {d['source']}: {', '.join(d['key'])} remembered for {d['remembered']}, about "
            f"{d['bytes_per_event']} bytes an event"
            for d in data["duplicates"]
        ),
        *(
            f"table {t['table']} for {t['source']}: the newest row of each {', '.join(t['key'])}, about "
            f"{t['bytes_per_row']} bytes each"
            for t in data["tables"]
        ),
        *(f"backfill of {text}" for text in data["backfill"]),
    ]
