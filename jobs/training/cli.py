"""Commands of training that need no registry: `ccb train`, `ccb gate`, `trigger`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from featuredsl.ccb import channel
from featuredsl.ccb.gate import GateConfig, Outcome
from featuredsl.ccb.scorer import CcbScorer
from featuredsl.ccb.types import Example
from featuredsl.cli.paths import refuse_overwrite
from featuredsl.errors import CheckFailed, InputError
from featuredsl.settings import Settings
from jobs.training import data
from jobs.training.judge import judge
from jobs.training.train import DEFAULT_ARGUMENTS, DEFAULT_CLIP_P, TrainConfig
from jobs.training.train import train as train_model
from jobs.training.trigger import describe, send_manual

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_DIRECTORY = click.Path(path_type=Path, exists=True, file_okay=False)
_REFUSED = (Outcome.REGRESSED, Outcome.INSUFFICIENT)


@click.command("train", epilog="\b\nExample:\n  featuredsl ccb train --examples examples.jsonl --out model")
@click.option("--examples", required=True, type=_FILE, help="ccb_example records (.jsonl, .csv, .parquet).")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="New directory for the artefact.")
@click.option("--model", default="ccb", show_default=True, help="Name of the model.")
@click.option("--vw", "arguments", default=DEFAULT_ARGUMENTS, show_default=True, help="Vowpal Wabbit options.")
@click.option("--holdout", default=0.2, show_default=True, help="Last share of the time-ordered examples, held out.")
@click.option("--days", type=float, help="Only decisions within so many days before the newest one.")
@click.option("--min-count", default=2, show_default=True, help="Decisions in which a text must appear to be known.")
@click.option("--clip-p", default=DEFAULT_CLIP_P, show_default=True, help="Lower bound of probabilities.")
@click.option("--seed", default=1, show_default=True, help="Random seed of the learner.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def train(examples: Path, out: Path, as_json: bool, **options: Any) -> None:
    """Train a conditional contextual bandit on a file of examples."""
    refuse_overwrite({"--out": out}, {"--examples": examples})
    config = TrainConfig(**options)
    console = Console(stderr=True)
    with console.status("reading examples") as status:
        dataset = data.read_file(examples)
        status.update(f"training on {len(dataset.examples)} examples")
        trained = train_model(dataset, config, out)
    document = trained.manifest.document
    if as_json:
        click.echo(json.dumps(document, allow_nan=False))
        return
    counts = document["data"]
    click.echo(f"{out}: {counts['training']} examples learnt, {counts['holdout']} held out")
    for reason, count in sorted(dataset.rejected.items()):
        click.echo(f"rejected: {count} {reason}")
    for name, value in document["metrics"].items():
        click.echo(f"{name}: {value}")


@click.command("gate", epilog="\b\nExample:\n  featuredsl ccb gate --examples examples.jsonl --candidate model --json")
@click.option("--examples", required=True, type=_FILE, help="ccb_example records (.jsonl, .csv, .parquet).")
@click.option("--candidate", required=True, type=_DIRECTORY, help="Artefact directory of the candidate.")
@click.option("--champion", type=_DIRECTORY, help="Artefact to compare with (default: the logging policy).")
@click.option("--alpha", default=0.05, show_default=True, help="Level of the interval of the difference.")
@click.option("--json", "as_json", is_flag=True, help="Print outcome, reasons and metrics as JSON.")
def gate(examples: Path, candidate: Path, champion: Path | None, alpha: float, as_json: bool) -> None:
    """Judge a candidate off-policy; exit 1 when it regressed or the data cannot tell.

    On the file that the candidate was trained on only the held-out decisions count; on another file all do.
    """
    limits = GateConfig(alpha=alpha)
    scorer = CcbScorer.load(candidate)
    other = None if champion is None else CcbScorer.load(champion)
    with Console(stderr=True).status("judging"):
        dataset = data.read_file(examples)
        _check_examples(examples, dataset)
        result = judge(_judged_on(dataset, scorer), scorer, other, limits)
    if as_json:
        click.echo(json.dumps(result.to_json(), allow_nan=False))
    else:
        click.echo(f"{result.outcome.value}: {'; '.join(result.reasons)}")
    if result.outcome in _REFUSED:
        msg = f"the gate refuses {candidate}: {result.outcome.value}"
        raise CheckFailed(msg)


@click.command("trigger", epilog="\b\nExample:\n  featuredsl trigger open_bandit --reason manual")
@click.argument("model")
@click.option("--reason", type=click.Choice(["manual"]), default="manual", show_default=True)
@click.option("--evidence", multiple=True, help="Id of a drift event or a ticket; may be repeated.")
@click.option("--home", type=click.Path(path_type=Path), help="State folder (default .featuredsl).")
def trigger(model: str, reason: str, evidence: tuple[str, ...], home: Path | None) -> None:
    """Ask for a retraining of MODEL now; a manual trigger is never limited."""
    settings = Settings.load(home=home)
    now_ms = time.time_ns() // 1_000_000
    _note_unless_known(settings.home, model)
    made = send_manual(settings.require("kafka"), settings.prefix, model, now_ms, evidence)
    click.echo(describe(made))


def _check_examples(path: Path, dataset: data.Dataset) -> None:
    """Raise InputError when no line is an example; say on stderr how many others were refused, and why."""
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(dataset.rejected.items()))
    if not dataset.examples:
        msg = f"{path} has no ccb example; rejected lines: {reasons or 'none, the file is empty'}"
        raise InputError(msg)
    if reasons:
        click.echo(f"warning: {path}: rejected lines: {reasons}", err=True)


def _note_unless_known(home: Path, model: str) -> None:
    """Say so when nobody here has trained or published `model`: a first training may be wanted, or the name wrong."""
    folders = (home / "champions", home / "training")
    if channel.known(folders[0], model) or (folders[1] / model).is_dir():
        return
    names = sorted({name for folder in folders for name in channel.models(folder)})
    click.echo(
        f"warning: no model {model!r} is known in {home} (models: {', '.join(names) or 'none'}); "
        f"the trigger waits for `featuredsl run train --model {model}`",
        err=True,
    )


def _judged_on(dataset: data.Dataset, scorer: CcbScorer) -> tuple[Example, ...]:
    known = scorer.manifest.document.get("data", {})
    start = known.get("holdout_from_us")
    if known.get("sha256") != dataset.sha256 or start is None:
        return dataset.examples
    return tuple(example for example in dataset.examples if example.ts_us >= start)
