"""`featuredsl plan | apply`: what a definition file would change, and changing it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from featuredsl.changes import KINDS, GroupChange, compare, removed
from featuredsl.cli.program import DEFINITIONS, warn_of_streams
from featuredsl.costs import backfills, cost, rows_to_read
from featuredsl.errors import CheckFailed, DependencyError
from featuredsl.generations import base_of
from featuredsl.loader import load_definitions
from featuredsl.model_uses import ModelUse, model_uses, users_of
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan
from featuredsl.registry import Registry, histories, vanished
from featuredsl.registry import apply as apply_definitions
from featuredsl.settings import Settings

SENDERS = "featuredsl.feature_changes"
NO_BACKFILL = {"needed": False, "ranges": [], "bytes_per_entity": 0, "bytes": 0, "rows": 0}
MODELS = click.option(
    "--models", type=click.Path(path_type=Path, file_okay=False), help="Artefacts of models (default: the champions)."
)


@click.command()
@DEFINITIONS
@MODELS
@click.option("--fail-on", type=click.Choice(["breaking", "rebuild"]), help="Exit 1 at such a change, or a worse one.")
@click.option("--entities", type=click.IntRange(0), help="How many keys a group has, for the bytes.")
@click.option("--events-per-day", type=click.IntRange(0), help="How many events a source has a day, for the rows.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    definitions: Path,
    models: Path | None,
    fail_on: str | None,
    entities: int | None,
    events_per_day: int | None,
    as_json: bool,
) -> None:
    """Compare a definition file with what is applied: unchanged, compatible, rebuild, removed or breaking.

    Groups that were applied from the file and are no longer in it are removed by `apply --remove` only.
    Nothing is written. Example: featuredsl plan features.py --fail-on breaking
    """
    settings = Settings.load()
    groups = load_definitions(definitions)
    uses = model_uses(models or settings.home / "champions")
    changes = changes_of(settings, definitions, groups, uses)
    data = [_data(change, groups.get(change.group), uses, (entities, events_per_day)) for change in changes]
    if as_json:
        click.echo(json.dumps({"groups": data}, allow_nan=False, ensure_ascii=False))
    else:
        for found in data:
            click.echo("\n".join(_lines(found)))
    if fail_on is not None:
        bad = [change.group for change in changes if KINDS.index(change.kind) >= KINDS.index(fail_on)]
        if bad:
            raise CheckFailed(f"{', '.join(bad)}: at least one change is {fail_on} or worse")


def changes_of(
    settings: Settings, definitions: Path, groups: Mapping[str, GroupPlan], uses: Sequence[ModelUse]
) -> list[GroupChange]:
    """What applying the groups of a file would change, then those that are gone from it."""
    applied = Registry.readable(settings.registry).groups
    changes = [compare(applied.get(name), plan, used=bool(users_of(name, uses))) for name, plan in groups.items()]
    for name, version in vanished(settings.registry, definitions, groups).items():
        features = applied[name].feature_names if name in applied else ()
        changes.append(removed(name, version, features, used=bool(users_of(name, uses))))
    return changes


def _data(
    change: GroupChange, plan: GroupPlan | None, uses: Sequence[ModelUse], sizes: tuple[int | None, int | None]
) -> dict[str, Any]:
    affected = users_of(change.group, uses) if change.retrain else ()
    return {
        "group": change.group,
        "kind": change.kind,
        "old_version": change.old_version,
        "new_version": change.new_version,
        "reasons": list(change.reasons),
        "features": [{"feature": f.name, "kind": f.kind, "reason": f.reason or None} for f in change.features],
        "models_affected": [use.model for use in affected],
        "backfill": _backfill(plan, *sizes) if plan is not None and change.backfill else NO_BACKFILL,
    }


def _backfill(plan: GroupPlan, entities: int | None, per_day: int | None) -> dict[str, Any]:
    online = cost(plan).online_bytes
    return {
        "needed": True,
        "ranges": [b.text() for b in backfills(plan)],
        "bytes_per_entity": online,
        "bytes": None if entities is None else entities * online,
        "rows": None if per_day is None else rows_to_read(plan, per_day),
    }


def _lines(data: Mapping[str, Any]) -> list[str]:
    old = "" if data["old_version"] in (None, data["new_version"]) else f"{data['old_version']} -> "
    new = data["new_version"] or "removed"
    lines = [f"{data['group']}: {data['kind']} ({old}{new})", *(f"  {reason}" for reason in data["reasons"])]
    for feature in data["features"]:
        if feature["kind"] != "unchanged":
            lines.append(f"  {feature['feature']}: {feature['kind']} {feature['reason'] or ''}".rstrip())
    if data["models_affected"]:
        lines.append(f"  models to retrain: {', '.join(data['models_affected'])}")
    backfill = data["backfill"]
    if backfill["needed"]:
        lines += [f"  backfill of {text}" for text in backfill["ranges"]]
        total = "" if backfill["bytes"] is None else f", {backfill['bytes']} in all"
        rows = "" if backfill["rows"] is None else f"; {backfill['rows']} events to read"
        lines.append(f"  {backfill['bytes_per_entity']} bytes per entity{total}{rows}")
    return lines


@click.command()
@DEFINITIONS
@click.option("--store-suffix", default="", help="Keep the values of this run apart: added to the store version.")
@click.option("--remove", is_flag=True, help="Drop the groups that are no longer in the file.")
@MODELS
def apply(definitions: Path, store_suffix: str, remove: bool, models: Path | None) -> None:
    """Make a definition file current: record it in the registry, and point readers at groups that are new.

    Readers of a group whose store version changes stay where they are until `featuredsl run stream` (or, for a group
    of batch features alone, `run batch`) has filled the new one. Models whose features mean something else now are
    asked to retrain. Doing it again changes nothing. Groups that were applied from the file and are no longer in it
    stay, unless --remove is given. Readers are those with the same FEATUREDSL_PREFIX. Without a Redis address it only
    records, and says so; a Redis that does not answer makes the exit code 4, with the definitions recorded.

    Example: featuredsl apply features.py
    """
    settings = Settings.load()
    uses = model_uses(models or settings.home / "champions")
    groups = load_definitions(definitions)
    warn_of_streams(groups.values())
    changes = changes_of(settings, definitions, groups, uses)
    now_us = time.time_ns() // 1000
    versions = apply_definitions(settings.registry, definitions, store_suffix=store_suffix, at_us=now_us, remove=remove)
    stay = [] if remove else [change for change in changes if change.new_version is None]
    changes = [change for change in changes if change not in stay]
    for change in changes:
        click.echo(f"{change.group}@{versions.get(change.group, change.old_version)} {change.kind}")
    for change in stay:
        click.echo(f"{change.group} is no longer in {definitions} and stays applied; --remove drops it", err=True)
    _ask_to_retrain(settings, changes, uses, now_us // 1000)
    _repoint(settings, versions)


def _repoint(settings: Settings, versions: Mapping[str, str]) -> None:
    """Point readers at the store versions of groups that they do not follow yet, or say why that was not done.

    A version beside one that they follow is to be filled first. Raises DependencyError without an answer.
    """
    recorded = f"recorded in {settings.registry}, but readers were not repointed"
    if not settings.redis:
        remedy = "run `featuredsl up` or set FEATUREDSL_REDIS, then apply again"
        click.echo(f"{recorded}: no Redis is configured; {remedy}", err=True)
        return
    try:
        with OnlineStore(settings.redis, namespace=settings.prefix) as store:
            current, applied = store.current(list(versions)), histories(settings.registry)
            for group, version in versions.items():
                known = {one.store_version for one in applied[group]}
                if base_of(current.get(group, "")) not in known:
                    store.set_current(group, version)
                elif base_of(current[group]) != version:
                    store.set_filling(group, version)
                    click.echo(f"{group}: readers follow {current[group]} until {version} is filled")
    except DependencyError as error:
        raise DependencyError(f"{recorded}: {error}, then apply again") from error


def _ask_to_retrain(settings: Settings, changes: Sequence[GroupChange], uses: Sequence[ModelUse], now_ms: int) -> None:
    """FEATURE_CHANGE triggers, one for each model; the id is made of the versions, so a repeat is no second one."""
    evidence: dict[str, list[str]] = {}
    for change in changes:
        for use in users_of(change.group, uses) if change.retrain else ():
            if use.groups[change.group] != change.new_version:
                evidence.setdefault(use.model, []).append(f"{change.group}@{change.new_version or 'removed'}")
    if not evidence:
        return
    names = ", ".join(sorted(evidence))
    if not settings.kafka:
        click.echo(f"models to retrain: {names}; no trigger is sent, as no Kafka is configured", err=True)
        return
    found = metadata.entry_points(group=SENDERS)
    if not found:
        raise DependencyError(f"models to retrain: {names}; install featuredsl[train], then `featuredsl trigger MODEL`")
    for sender in found:
        for trigger_id in sender.load()(settings.kafka, settings.prefix, evidence, now_ms):
            click.echo(f"trigger {trigger_id}")
