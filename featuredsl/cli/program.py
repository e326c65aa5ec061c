"""What several commands share: the definition file argument, the choice of groups, the program of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.compilers.offline import LABELS, point_in_time
from featuredsl.compilers.scalar import DUCKDB, SPARK, Dialect
from featuredsl.compilers.wide import wide_note, wide_rows
from featuredsl.errors import InputError, UnsupportedError, unknown
from featuredsl.online.address import shown
from featuredsl.plan import GroupPlan
from featuredsl.settings import Settings
from featuredsl.tiles import bundles, refuse_unstreamable, store_layout
from featuredsl.wide.program import wide_program

DEFINITIONS = click.argument("definitions", type=click.Path(path_type=Path), metavar="DEF.py")


def chosen(groups: Mapping[str, GroupPlan], names: str) -> list[GroupPlan]:
    """The groups of a comma-separated list; all of them for an empty one."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in groups:
            raise InputError(unknown("group", name, "the definitions", tuple(groups)))
    return [groups[name] for name in wanted or groups]


def program(plans: list[GroupPlan], target: str) -> str:
    """The SQL text of the groups for an engine; addresses are those of the settings, without login, or placeholders."""
    if target == "flink":
        for plan in plans:
            refuse_unstreamable(plan, target)
        settings = Settings.load()
        redis = shown(settings.redis or "redis://REDIS")
        config = StreamConfig(settings.kafka or "KAFKA", redis, settings.prefix, "GROUP-ID")
        return ";\n\n".join(statements([GroupTarget(p, store_layout(p)) for p in plans], config)) + ";"
    dialect = SPARK if target == "spark" else DUCKDB
    return ";\n\n".join(text for plan in plans for text in _queries(plan, dialect)) + ";"


def _queries(plan: GroupPlan, dialect: Dialect) -> list[str]:
    """The point-in-time query of a group, and the rows that feed its wide features."""
    queries = [f"-- {plan.name}@{plan.version}\n{point_in_time(plan, dialect)}"]
    wide = wide_program(plan)
    if wide is not None:
        queries.append(f"{wide_note(plan, wide)}\n{wide_rows(plan, wide, dialect, labels=LABELS)}")
    return queries


def warn_of_streams(plans: Iterable[GroupPlan]) -> None:
    """Say on standard error which groups no stream job can keep: training sets of them work, reads do not."""
    for plan in plans:
        if not bundles([plan]):
            continue
        try:
            statements([GroupTarget(plan, store_layout(plan))], StreamConfig("", "", "", ""))
        except UnsupportedError as error:
            click.echo(f"warning: {plan.name} cannot be kept online: {error}", err=True)


def program_or_reason(plans: list[GroupPlan], target: str) -> str:
    """The program, or a comment that says why the engine has none."""
    try:
        return program(plans, target)
    except UnsupportedError as error:
        return f"-- no program: {error}"
