"""What several commands share: the definition file argument, the choice of groups, the program of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB, SPARK
from featuredsl.errors import InputError, unknown
from featuredsl.plan import GroupPlan
from featuredsl.settings import Settings
from featuredsl.tiles import store_layout

DEFINITIONS = click.argument("definitions", type=click.Path(path_type=Path), metavar="DEF.py")


def chosen(groups: Mapping[str, GroupPlan], names: str) -> list[GroupPlan]:
    """The groups of a comma-separated list; all of them for an empty one."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in groups:
            raise InputError(unknown("group", name, "the definitions", tuple(groups)))
    return [groups[name] for name in wanted or groups]


def program(plans: list[GroupPlan], target: str) -> str:
    """The SQL text of the groups for an engine; addresses are those of the settings, or placeholders."""
    if target == "flink":
        settings = Settings.load()
        config = StreamConfig(settings.kafka or "KAFKA", settings.redis or "redis://REDIS", settings.prefix, "GROUP-ID")
        return ";\n\n".join(statements([GroupTarget(p, store_layout(p)) for p in plans], config)) + ";"
    dialect = SPARK if target == "spark" else DUCKDB
    return ";\n\n".join(f"-- {plan.name}@{plan.version}\n{point_in_time(plan, dialect)}" for plan in plans) + ";"
