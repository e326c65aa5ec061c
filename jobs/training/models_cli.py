"""Commands on the model registry: `run train` and `models …`."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from featuredsl.ccb import channel
from featuredsl.ccb.gate import MIN_EFFECTIVE_SAMPLE, GateConfig
from featuredsl.ccb.scorer import CcbScorer
from featuredsl.errors import DependencyError, FeatureError, InputError
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from jobs import kafka
from jobs.training.data import Dataset, read_topic
from jobs.training.reach import is_missing
from jobs.training.registry import ModelRegistry, Version, unknown_model
from jobs.training.service import ServiceConfig, Trainer
from jobs.training.train import DEFAULT_ARGUMENTS, TrainConfig
from jobs.training.trigger import TriggerReader
from schemas.topics import CCB_EXAMPLES, RETRAIN_TRIGGERS, topic

POLL_S = 1.0
_HOME = click.option("--home", type=click.Path(path_type=Path), help="State folder (default .featuredsl).")


@click.command("train", epilog="\b\nExample:\n  featuredsl run train --model open_bandit --once")
@click.option("--model", required=True, help="Model whose triggers are followed.")
@click.option("--vw", "arguments", help=f"Vowpal Wabbit options (default: the champion's, else {DEFAULT_ARGUMENTS!r}).")
@click.option("--holdout", default=0.2, show_default=True, help="Last share of the examples, kept for the gate.")
@click.option("--days", type=float, help="Only decisions within so many days before the newest one.")
@click.option("--min-count", default=2, show_default=True, help="Decisions in which a text must appear to be known.")
@click.option("--seed", default=1, show_default=True, help="Random seed of the learner.")
@click.option("--min-effective-sample", default=MIN_EFFECTIVE_SAMPLE, show_default=True)
@click.option("--once", is_flag=True, help="End after the first trigger that led to a training.")
@click.option("--wait", default=600.0, show_default=True, help="With --once: seconds to wait for a trigger.")
@_HOME
def train_service(once: bool, wait: float, home: Path | None, min_effective_sample: float, **options: Any) -> None:
    """Retrain a model whenever a trigger arrives; one JSON report line per trigger on stdout."""
    settings = Settings.load(home=home)
    given = {**options, "arguments": options["arguments"] or DEFAULT_ARGUMENTS}
    config = ServiceConfig(
        TrainConfig(**given),
        settings.home / "training" / options["model"],
        GateConfig(min_effective_sample=min_effective_sample),
        inherit=options["arguments"] is None,
        fingerprints=_fingerprints(settings),
    )
    bootstrap = settings.require("kafka")
    names = [topic(settings.prefix, name) for name in (RETRAIN_TRIGGERS, CCB_EXAMPLES)]
    kafka.ensure_topics(bootstrap, names)

    def examples() -> Dataset:
        return read_topic(bootstrap, names[1])

    trainer = Trainer(config, open_registry(settings), examples)
    reader = TriggerReader(bootstrap, settings.prefix, options["model"])
    with _until_stopped() as stop:
        _follow(trainer, reader, stop, wait if once else None)


def _follow(trainer: Trainer, reader: TriggerReader, stop: threading.Event, wait_s: float | None) -> None:
    """Handle triggers until `stop`; with `wait_s` until one was handled, at most that long without one."""
    waited = 0.0
    while not stop.is_set():
        for report in trainer.handle(reader.poll()):
            click.echo(json.dumps(report, allow_nan=False))
            if wait_s is not None and report["status"] == "failed":
                raise InputError(report["error"]) if report.get("bad_input") else FeatureError(report["error"])
            if wait_s is not None and report["status"] == "trained":
                return
        if wait_s is not None and waited >= wait_s:
            msg = f"no new retrain trigger within {wait_s:g} s; make one with `featuredsl trigger MODEL`"
            raise DependencyError(msg)
        stop.wait(POLL_S)
        waited += POLL_S


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """An event that SIGTERM sets; Ctrl-C stays KeyboardInterrupt."""
    stop = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)


@click.command("list", epilog="\b\nExample:\n  featuredsl models list open_bandit")
@click.argument("model", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_HOME
def list_models(model: str | None, as_json: bool, home: Path | None) -> None:
    """Versions of MODEL, or of all models."""
    settings = Settings.load(home=home)
    if model is None and settings.home.is_dir() and is_missing(settings.mlflow):
        click.echo(f"no model has been registered yet in {settings.mlflow}", err=True)
        versions = []
    else:
        versions = _versions(existing_registry(settings), model)
    if as_json:
        click.echo(json.dumps([_document(entry) for entry in versions]))
        return
    table = Table("model", "version", "status", "gate", "aliases", "trigger")
    for entry in versions:
        gate = entry.outcome.value if entry.outcome else "-"
        names = ", ".join(entry.aliases) or "-"
        table.add_row(entry.model, entry.version, entry.status.value, gate, names, entry.trigger_id or "-")
    Console().print(table)


@click.command("show", epilog="\b\nExample:\n  featuredsl models show open_bandit 2")
@click.argument("model")
@click.argument("version", required=False)
@_HOME
def show(model: str, version: str | None, home: Path | None) -> None:
    """Everything known of a VERSION of MODEL (default: the champion), as JSON."""
    registry = existing_registry(Settings.load(home=home))
    registry.require(model)
    found = registry.version(model, version) if version else registry.champion(model)
    if found is None:
        msg = f"model {model!r} has no champion; name a version (see `featuredsl models list`)"
        raise click.UsageError(msg)
    click.echo(json.dumps({**_document(found), "tags": dict(found.tags), "source": found.source}, indent=2))


@click.command("promote", epilog="\b\nExample:\n  featuredsl models promote open_bandit 2")
@click.argument("model")
@click.argument("version")
@_HOME
def promote(model: str, version: str, home: Path | None) -> None:
    """Make VERSION the champion of MODEL; it must have passed the gate."""
    _say(existing_registry(Settings.load(home=home)).promote(model, version))


@click.command("rollback", epilog="\b\nExample:\n  featuredsl models rollback open_bandit")
@click.argument("model")
@_HOME
def rollback(model: str, home: Path | None) -> None:
    """Make the champion before the current one serve again."""
    _say(existing_registry(Settings.load(home=home)).rollback(model))


@click.command("freeze", epilog="\b\nExample:\n  featuredsl models freeze open_bandit --reason incident-7")
@click.argument("model")
@click.option("--reason", default="frozen by hand", show_default=True)
@click.option("--off", is_flag=True, help="Allow automatic promotion again.")
@_HOME
def freeze(model: str, reason: str, off: bool, home: Path | None) -> None:
    """Stop automatic promotion of MODEL; a model that has been published needs no registry for it."""
    settings = Settings.load(home=home)
    root = channel_root(settings)
    if not channel.known(root, model):
        _warn_unless_registered(settings, model)
    if off:
        channel.unfreeze(root, model)
    else:
        channel.freeze(root, model, reason)
    click.echo(f"{model}: automatic promotion is {'allowed' if off else 'frozen'}")


@click.command("pin-last-good", epilog="\b\nExample:\n  featuredsl models pin-last-good open_bandit")
@click.argument("model")
@_HOME
def pin_last_good(model: str, home: Path | None) -> None:
    """Serve the newest intact published version of MODEL and freeze promotion; works without the registry."""
    root = channel_root(Settings.load(home=home))
    if not channel.known(root, model):
        raise InputError(unknown_model(model, channel.models(root)))
    pinned = channel.pin_last_good(root, model, _is_good)
    channel.freeze(root, model, f"pinned to version {pinned.version}")
    click.echo(f"{model}: version {pinned.version} is pinned, automatic promotion is frozen")


def open_registry(settings: Settings) -> ModelRegistry:
    """The registry that the settings name; a new one in SQLite where there is none."""
    settings.home.mkdir(parents=True, exist_ok=True)
    return ModelRegistry(settings.mlflow, settings.home / "mlruns", channel_root(settings))


def existing_registry(settings: Settings) -> ModelRegistry:
    """The registry for commands that must not make one. Raises InputError when there is none."""
    if is_missing(settings.mlflow):
        msg = f"no model registry at {settings.mlflow}: nothing was registered there; check --home or FEATUREDSL_MLFLOW"
        raise InputError(msg)
    return ModelRegistry(settings.mlflow, settings.home / "mlruns", channel_root(settings))


def channel_root(settings: Settings) -> Path:
    """Where champions are published."""
    return settings.home / "champions"


def _fingerprints(settings: Settings) -> dict[str, str]:
    """Versions of the applied feature groups; none where nothing was applied."""
    try:
        groups = Registry.load(settings.registry).groups
    except InputError:
        return {}
    return {name: group.version for name, group in sorted(groups.items())}


def _versions(registry: ModelRegistry, model: str | None) -> list[Version]:
    if model is not None:
        registry.require(model)
    return [entry for name in ([model] if model else registry.models()) for entry in registry.versions(name)]


def _warn_unless_registered(settings: Settings, model: str) -> None:
    """Raise InputError for a model that the registry does not know; say so when the registry cannot be asked."""
    try:
        existing_registry(settings).require(model)
    except DependencyError as error:
        click.echo(f"warning: {model!r} was never published here, and whether it exists is unknown: {error}", err=True)


def _is_good(directory: Path) -> bool:
    try:
        CcbScorer.load(directory).verify()
    except FeatureError:
        return False
    return True


def _document(entry: Version) -> dict[str, Any]:
    return {
        "model": entry.model,
        "version": entry.version,
        "status": entry.status.value,
        "gate": entry.outcome.value if entry.outcome else None,
        "aliases": list(entry.aliases),
        "trigger_id": entry.trigger_id,
    }


def _say(entry: Version) -> None:
    click.echo(f"{entry.model}: version {entry.version} is {entry.status.value} ({', '.join(entry.aliases)})")
