"""`featuredsl check | compile | explain | apply`: what a definition file means, and making it current."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.compilers.offline import LABELS, point_in_time
from featuredsl.compilers.scalar import DUCKDB, SPARK, Dialect
from featuredsl.compilers.wide import wide_note, wide_rows
from featuredsl.errors import DependencyError, InputError, UnsupportedError
from featuredsl.loader import load_definitions
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan, LookupFeature, StoredFeature, WindowFeature
from featuredsl.registry import apply as apply_definitions
from featuredsl.settings import Settings
from featuredsl.tiles import refuse_unstreamable, store_layout
from featuredsl.times import format_duration
from featuredsl.wide.program import wide_program

DEFINITIONS = click.argument("definitions", type=click.Path(path_type=Path), metavar="DEF.py")


def chosen(groups: Mapping[str, GroupPlan], names: str) -> list[GroupPlan]:
    """The groups of a comma-separated list; all of them for an empty one."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in groups:
            raise InputError(f"no group {name!r}; groups: {', '.join(groups)}")
    return [groups[name] for name in wanted or groups]


@click.command()
@DEFINITIONS
def check(definitions: Path) -> None:
    """Check a definition file: types, names, windows.

    Example: featuredsl check features.py
    """
    groups = load_definitions(definitions)
    for plan in groups.values():
        click.echo(f"{plan.name}@{plan.version}: {len(plan.feature_names)} features, ok")


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


def program(plans: list[GroupPlan], target: str) -> str:
    """The SQL text of the groups for an engine; addresses are those of the settings, or placeholders."""
    if target == "flink":
        for plan in plans:
            refuse_unstreamable(plan, target)
        settings = Settings.load()
        config = StreamConfig(settings.kafka or "KAFKA", settings.redis or "redis://REDIS", settings.prefix, "GROUP-ID")
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


@click.command()
@DEFINITIONS
@click.option("--group", default="", help="Only this group (or several, comma-separated).")
@click.option("--sql/--no-sql", default=False, help="Also print the SQL of every engine.")
def explain(definitions: Path, group: str, sql: bool) -> None:
    """Show each feature: source, window, hop, tier, engine; and what an entity costs online.

    Example: featuredsl explain features.py --sql
    """
    plans = chosen(load_definitions(definitions), group)
    console = Console()
    for plan in plans:
        console.print(_feature_table(plan))
        for line in _online(plan):
            console.print(f"  {line}", markup=False, soft_wrap=True)
    if sql:
        for target in ("flink", "spark", "duckdb"):
            click.echo(f"\n-- {target}\n{_program_or_reason(plans, target)}")


def _online(plan: GroupPlan) -> Iterator[str]:
    """What an entity costs online, or why the group is not kept there."""
    try:
        layout = store_layout(plan)
    except UnsupportedError as error:
        yield f"not online: {error}"
        return
    for tier in layout.ring:
        yield f"ring {tier.name}: {tier.slots} slots x {tier.slot_size} bytes at byte {layout.offset(tier.name)}"
    yield f"{layout.total_size} bytes of tiles per entity, {len(layout.hash_fields)} hash fields"


def _program_or_reason(plans: list[GroupPlan], target: str) -> str:
    try:
        return program(plans, target)
    except UnsupportedError as error:
        return f"-- no program: {error}"


def _feature_table(plan: GroupPlan) -> Table:
    entity = ", ".join(f"{name}: {dtype}" for name, dtype in plan.entity)
    table = Table(title=f"{plan.name}@{plan.version} by ({entity})", title_justify="left")
    for column in ("feature", "type", "tier", "engine", "source", "window", "hop", "where"):
        table.add_column(column)
    for feature in plan.features:
        table.add_row(*_feature_row(feature))
    for item in plan.on_demand:
        inputs = ", ".join((*item.inputs, *(f"request.{name}" for name, _ in item.request)))
        table.add_row(item.name, item.dtype, "on demand", "python", inputs, "", "", str(item.location))
    return table


def _feature_row(feature: StoredFeature) -> tuple[str, ...]:
    common = (feature.name, feature.dtype, feature.freshness, feature.tier.engine)
    if isinstance(feature, WindowFeature):
        sources = ", ".join((*feature.aggregate.sources, *map(str, feature.aggregate.wide)))
        tile_us = feature.window.tile_us
        hop = "" if tile_us is None else format_duration(tile_us)
        return (*common, sources, str(feature.window), hop, str(feature.location))
    return (*common, feature.source, _ttl(feature), "", str(feature.location))


def _ttl(feature: LookupFeature) -> str:
    return "latest" if feature.ttl_us is None else f"latest, ttl {format_duration(feature.ttl_us)}"


@click.command()
@DEFINITIONS
@click.option("--store-suffix", default="", help="Keep the values of this run apart: added to the store version.")
def apply(definitions: Path, store_suffix: str) -> None:
    """Make a definition file current: record it in the registry and point readers at its store version.

    Doing it again changes nothing. Readers are those with the same FEATUREDSL_PREFIX. Without a Redis address it only
    records, and says so; a Redis that does not answer makes the exit code 4, with the definitions recorded.

    Example: featuredsl apply features.py
    """
    settings = Settings.load()
    versions = apply_definitions(settings.registry, definitions, store_suffix=store_suffix)
    for group, version in versions.items():
        click.echo(f"{group}@{version}")
    _repoint(settings, versions)


def _repoint(settings: Settings, versions: Mapping[str, str]) -> None:
    """Point readers at the store versions, or say why that was not done. Raises DependencyError without an answer."""
    recorded = f"recorded in {settings.registry}, but readers were not repointed"
    if not settings.redis:
        remedy = "run `featuredsl up` or set FEATUREDSL_REDIS, then apply again"
        click.echo(f"{recorded}: no Redis is configured; {remedy}", err=True)
        return
    try:
        with OnlineStore(settings.redis, namespace=settings.prefix) as store:
            for group, version in versions.items():
                store.set_current(group, version)
    except DependencyError as error:
        raise DependencyError(f"{recorded}: {error}, then apply again") from error
