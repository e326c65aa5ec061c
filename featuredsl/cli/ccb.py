"""`featuredsl ccb join`: impressions and clicks in files -> training examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from featuredsl.ccb.attribution import REWARDS, JoinConfig
from featuredsl.ccb.examples import to_record
from featuredsl.ccb.files import check_suffix, dump, read_lines, write_records
from featuredsl.ccb.join import JoinInput, JoinResult
from featuredsl.ccb.join import join as join_records
from featuredsl.cli.paths import refuse_overwrite
from featuredsl.errors import InputError
from featuredsl.times import parse_duration

FILE = click.Path(path_type=Path)
INPUTS = ("impressions", "clicks", "catalog", "auctions", "activations")
OUTPUTS = ("out", "dead_letter", "late_clicks")


@click.command()
@click.option("--impressions", type=FILE, required=True, help="Decisions that were shown.")
@click.option("--clicks", type=FILE, required=True, help="Clicks on their slots.")
@click.option("--catalog", type=FILE, help="Item features, each from its time on.")
@click.option("--auctions", type=FILE, help="Auction metadata of decisions.")
@click.option("--activations", type=FILE, help="Decisions that became visible.")
@click.option("--window", default="30m", show_default=True, help="Attribution window; both ends count.")
@click.option("--reward", type=click.Choice(REWARDS), default="click", show_default=True, help="Worth of a slot.")
@click.option("--out", type=FILE, required=True, help="Examples, by decision time.")
@click.option("--dead-letter", type=FILE, required=True, help="Refused lines with their reasons.")
@click.option("--late-clicks", type=FILE, help="Clicks after the window.")
@click.option("--json", "as_json", is_flag=True, help="Counts as JSON on standard output.")
def join(**options: object) -> None:
    """Join impressions with clicks: exactly one example for each valid decision.

    FILES are JSON Lines, CSV or Parquet, by suffix.

    Example: featuredsl ccb join --impressions i.jsonl --clicks c.jsonl --out e.jsonl --dead-letter d.jsonl
    """
    config = JoinConfig(window_us=parse_duration(str(options["window"])), reward=str(options["reward"]))
    paths, outputs = _paths(options, INPUTS), _paths(options, OUTPUTS)
    refuse_overwrite(_spelled(outputs), _spelled(paths))
    for path in outputs.values():
        check_suffix(path)
    result = join_records(JoinInput(**{name: read_lines(path) for name, path in paths.items()}), config)
    _write(outputs, result)
    click.echo(dump(result.summary()) if options["as_json"] else _table(result))
    if result.counts["impressions"] and result.counts["impressions"] == result.rejected_by["impressions"]:
        first = result.dead_letters[0]
        msg = f"every impression was refused; the first because of {first['reason']}: {first['detail']}"
        raise InputError(msg)


def _paths(options: Mapping[str, object], names: Sequence[str]) -> dict[str, Path]:
    """The files among the options that were given."""
    return {name: path for name in names if isinstance(path := options[name], Path)}


def _spelled(paths: Mapping[str, Path]) -> dict[str, Path]:
    return {"--" + name.replace("_", "-"): path for name, path in paths.items()}


def _write(outputs: Mapping[str, Path], result: JoinResult) -> None:
    records = {
        "out": (to_record(example) for example in result.examples),
        "dead_letter": iter(result.dead_letters),
        "late_clicks": iter(result.late_clicks),
    }
    for name, path in outputs.items():
        write_records(path, records[name])


def _table(result: JoinResult) -> str:
    counts = {name: value for name, value in result.summary().items() if isinstance(value, int)}
    return "\n".join(f"{name:<18}{value:>12,}" for name, value in counts.items())
