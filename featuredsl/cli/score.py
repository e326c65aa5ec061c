"""`featuredsl ccb score`: one decision by a trained model."""

from __future__ import annotations

import json
from pathlib import Path

import click

from featuredsl.ccb.decide import DecisionResult
from featuredsl.ccb.scorer import CcbScorer
from featuredsl.ccb.types import DecisionRequest
from featuredsl.ccb.validate import read_request
from featuredsl.errors import InputError
from schemas.records import RecordError, parse


@click.command("score", epilog="\b\nExample:\n  featuredsl ccb score --model model --request request.json --json")
@click.option("--model", required=True, type=click.Path(path_type=Path), help="Artefact directory.")
@click.option("--request", "file", required=True, type=click.Path(path_type=Path), help="Decision request (JSON).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def score(model: Path, file: Path, as_json: bool) -> None:
    """Decide one request: per slot the ranking with predicted costs (lower is better) and probabilities."""
    request = _read(file)
    result = CcbScorer.load(model).decide(request)
    if as_json:
        click.echo(json.dumps(document(result), allow_nan=False))
        return
    for slot in result.slots:
        click.echo(f"slot {slot.slot_id}: {slot.chosen or 'nothing allowed'}")
        for entry in slot.ranking:
            click.echo(f"  {entry.action_id}  cost {entry.score:.6g}  probability {entry.probability:.6g}")


def document(result: DecisionResult) -> dict[str, object]:
    """The JSON form of a decision."""
    return {
        "model": result.model,
        "version": result.version,
        "seed": result.seed,
        "slots": [
            {
                "slot_id": slot.slot_id,
                "ranking": [entry._asdict() for entry in slot.ranking],
                "chosen": slot.chosen,
                "probability": slot.probability,
            }
            for slot in result.slots
        ],
    }


def _read(file: Path) -> DecisionRequest:
    try:
        return read_request(parse(file.read_bytes()))
    except OSError as error:
        msg = f"{file} cannot be read: {error.strerror}"
        raise InputError(msg) from error
    except RecordError as error:
        msg = f"{file} is not a decision request: {error.reason}: {error.detail}"
        raise InputError(msg) from error
