"""`featuredsl check | compile`: what a definition file means. The other commands on it are found here too."""

from __future__ import annotations

from pathlib import Path

import click

from featuredsl.cli.program import DEFINITIONS, chosen, program, warn_of_streams
from featuredsl.loader import load_definitions


@click.command()
@DEFINITIONS
def check(definitions: Path) -> None:
    """Check a definition file: types, names, windows.

    Example: featuredsl check features.py
    """
    groups = load_definitions(definitions)
    for group in groups.values():
        click.echo(f"{group.name}@{group.version}: {len(group.feature_names)} features, ok")
    warn_of_streams(groups.values())


@click.command("compile")
@DEFINITIONS
@click.option("--target", type=click.Choice(["flink", "spark", "duckdb"]), required=True)
@click.option("--group", default="", help="Only this group (or several, comma-separated).")
def compile_command(definitions: Path, target: str, group: str) -> None:
    """Print the program of a definition file for one engine.

    Example: featuredsl compile features.py --target flink
    """
    plans = chosen(load_definitions(definitions), group)
    click.echo(program(plans, target))
