"""A saved Vowpal Wabbit model -> an artefact directory that serves without Vowpal Wabbit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from featuredsl.ccb import artefact
from featuredsl.ccb.encode import encode_example
from featuredsl.ccb.preprocess import Preprocessor
from featuredsl.ccb.types import DecisionRequest
from featuredsl.errors import InputError, UnsupportedError
from jobs.training import options, vw
from jobs.training.onnx_graph import linear_model


@dataclass(frozen=True, slots=True)
class ExportSpec:
    """What goes into the artefact beside the model itself; `lineage` is copied into the manifest."""

    model: str
    pre: Preprocessor
    golden: Sequence[DecisionRequest]
    lineage: Mapping[str, Any] = field(default_factory=dict)


def export(directory: Path, spec: ExportSpec) -> artefact.Manifest:
    """Complete the artefact in `directory`, where model.vw is; returns its manifest.

    Raises UnsupportedError for options that cannot be exported and InputError for a model that has not learnt.
    """
    found = vw.inspect(directory / artefact.VW_MODEL)
    parsed = options.parse(found.arguments)
    options.check(parsed)
    space = options.feature_space(parsed, found.header)
    if found.stride != 1 or len(found.weights) != 1 << space.hashing.bits:
        msg = f"the reloaded model has {len(found.weights)} weights of stride {found.stride}; one per index is needed"
        raise UnsupportedError(msg)
    check_alive(found)
    onnx_model = linear_model(found.weights, {"vw_arguments": options.effective(parsed)})
    (directory / artefact.ONNX).write_bytes(onnx_model.SerializeToString())
    (directory / artefact.VOCABULARY).write_text(spec.pre.to_json(), encoding="utf-8")
    _write_json(directory / artefact.GOLDEN, golden_cases(directory / artefact.VW_MODEL, spec))
    names = (artefact.VW_MODEL, artefact.ONNX, artefact.VOCABULARY, artefact.GOLDEN)
    document = {
        "format": artefact.FORMAT,
        "model": spec.model,
        "files": {name: artefact.digest(directory / name) for name in names},
        "vw": {"version": found.header[0].removeprefix("Version "), "arguments": options.effective(parsed)},
        "features": artefact.space_document(space),
        "exploration": artefact.exploration_document(options.exploration(parsed, found.header)),
        **spec.lineage,
    }
    _write_json(directory / artefact.MANIFEST, document)
    return artefact.read_manifest(directory)


def check_alive(found: vw.Inspection) -> None:
    """A learner that has died has no weights or infinite ones; raise InputError then: its examples are why."""
    if not np.isfinite(found.weights).all():
        msg = "the trained model has weights that are not finite; look for extreme costs or feature values"
        raise InputError(msg)
    if not found.weights.any():
        msg = "the trained model has only zero weights: it saw no cost other than 0, or learning stopped"
        raise InputError(msg)


def golden_cases(model: Path, spec: ExportSpec) -> list[dict[str, Any]]:
    """Requests with what Vowpal Wabbit answers: per slot the ranking with costs and probabilities."""
    texts = [encode_example(request, None, spec.pre) for request in spec.golden]
    answers = vw.predict(model, texts) if texts else []
    return [
        {"request": _request_document(request), "slots": [_slot_document(request, slot) for slot in slots]}
        for request, slots in zip(spec.golden, answers, strict=True)
    ]


def _request_document(request: DecisionRequest) -> dict[str, Any]:
    return {
        "context": dict(request.context),
        "candidates": [
            {"action_id": action.action_id, "features": dict(action.features)} for action in request.candidates
        ],
        "slots": [
            {
                "slot_id": slot.slot_id,
                "features": dict(slot.features),
                "include": list(slot.include),
                "exclude": list(slot.exclude),
            }
            for slot in request.slots
        ],
        "seed": request.seed,
    }


def _slot_document(request: DecisionRequest, slot: Mapping[str, Any]) -> list[list[Any]]:
    return [
        [request.candidates[position].action_id, cost, probability]
        for (position, probability), cost in zip(slot["ranking"], slot["costs"], strict=True)
    ]


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, allow_nan=False), encoding="utf-8")
