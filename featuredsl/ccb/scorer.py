"""Policies that answer decision requests. Vowpal Wabbit is never loaded here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featuredsl.ccb import artefact, decide, explore
from featuredsl.ccb.decide import Costs, DecisionResult, Judged, Ranked, SlotResult
from featuredsl.ccb.features import FeatureBuilder, SlotInput
from featuredsl.ccb.hashing import Block
from featuredsl.ccb.preprocess import Preprocessor
from featuredsl.ccb.runtime import onnxruntime
from featuredsl.ccb.types import Action, DecisionRequest, Example, Slot
from featuredsl.errors import CheckFailed, InputError

__all__ = ["CcbScorer", "DecisionResult", "Ranked", "SlotResult", "UniformPolicy"]

CPU = ("CPUExecutionProvider",)
COST_TOLERANCE = 2e-6
PROBABILITY_TOLERANCE = 1e-4


class UniformPolicy:
    """Every permitted candidate with the same probability: what serves while there is no champion yet."""

    model = "uniform"
    version = "0"

    def decide(self, request: DecisionRequest) -> DecisionResult:
        """Fill the slots of `request` uniformly at random; InputError when no decision is possible."""
        decide.check(request)
        costs = np.zeros(len(request.candidates), dtype=np.float32)
        rule = explore.EpsilonGreedy(1.0)
        return decide.decide(request, [costs] * len(request.slots), rule, (self.model, self.version))


class CcbScorer:
    """A trained model behind ONNX Runtime. Safe to share between threads."""

    def __init__(
        self, manifest: artefact.Manifest, session: onnxruntime.InferenceSession, builder: FeatureBuilder
    ) -> None:
        self.manifest = manifest
        self.model = manifest.model
        self.version = str(manifest.document.get("version") or manifest.sha256[:12])
        self.exploration = manifest.exploration
        self._session = session
        self._builder = builder

    @classmethod
    def load(cls, directory: Path | str, providers: Sequence[str] = CPU, threads: int = 1) -> CcbScorer:
        """Load an artefact directory; raises InputError when it is incomplete, damaged or of another format."""
        manifest = artefact.read_manifest(Path(directory))
        manifest.verify_files()
        pre = Preprocessor.from_json((manifest.directory / artefact.VOCABULARY).read_text(encoding="utf-8"))
        setup = onnxruntime.SessionOptions()
        setup.intra_op_num_threads = threads
        setup.inter_op_num_threads = 1
        _check_providers(providers)
        path = str(manifest.directory / artefact.ONNX)
        session = onnxruntime.InferenceSession(path, setup, providers=list(providers))
        return cls(manifest, session, FeatureBuilder(manifest.space, pre))

    def decide(self, request: DecisionRequest) -> DecisionResult:
        """Fill the slots of `request`; InputError when no decision is possible."""
        return self.decide_many([request])[0]

    def decide_many(self, requests: Sequence[DecisionRequest]) -> list[DecisionResult]:
        """Answer several requests with one run of the model; answers are those of `decide`, in order."""
        for request in requests:
            decide.check(request)
        scored = self.costs_many(requests)
        named = (self.model, self.version)
        return [
            decide.decide(request, costs, self.exploration, named)
            for request, costs in zip(requests, scored, strict=True)
        ]

    def judge_many(self, examples: Sequence[Example]) -> list[list[Judged]]:
        """This policy on logged examples, per slot; what off-policy evaluation needs."""
        scored = self.costs_many([example.request for example in examples])
        return [
            decide.judge(example.request, costs, self.exploration, [label.chosen for label in example.labels])
            for example, costs in zip(examples, scored, strict=True)
        ]

    def costs(self, request: DecisionRequest) -> list[Costs]:
        """Predicted cost of every candidate, one array per slot."""
        return self.costs_many([request])[0]

    def costs_many(self, requests: Sequence[DecisionRequest]) -> list[list[Costs]]:
        """As `costs`, for several requests in one run."""
        inputs = [self._builder.build(request) for request in requests]
        flat = self._run([slot for slots in inputs for slot in slots])
        remaining = iter(flat)
        return [[next(remaining) for _ in slots] for slots in inputs]

    def verify(self) -> None:
        """Score the golden requests; raise CheckFailed when an answer is not the one that was recorded."""
        path = self.manifest.directory / artefact.GOLDEN
        for number, case in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            request = _golden_request(case["request"])
            answer = self.decide(request)
            for slot, expected in zip(answer.slots, case["slots"], strict=True):
                problem = _difference(slot, expected)
                if problem:
                    msg = f"{path}, case {number}, slot {slot.slot_id!r}: {problem}"
                    raise CheckFailed(msg)

    def _run(self, slots: Sequence[SlotInput]) -> list[Costs]:
        counts = [slot.own[0].shape[1] for slot in slots]
        own_index, own_value = _beside([slot.own for slot in slots])
        shared_index, shared_value = _beside([slot.shared for slot in slots])
        scores = self._session.run(
            ["score"],
            {
                "idx": own_index,
                "val": own_value,
                "shared_idx": shared_index,
                "shared_val": shared_value,
                "owner": np.repeat(np.arange(len(slots), dtype=np.int32), counts),
            },
        )[0]
        return np.split(scores, np.cumsum(counts)[:-1]) if len(slots) > 1 else [scores]


def _beside(blocks: Sequence[Block]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Blocks beside each other, padded with value 0. Indices are below 2**31, so that int32 holds them."""
    if len(blocks) == 1:
        index, value = blocks[0]
        return index.view(np.int32), value
    height = max(len(index) for index, _ in blocks)
    width = sum(index.shape[1] for index, _ in blocks)
    indices = np.zeros((height, width), dtype=np.int32)
    values = np.zeros((height, width), dtype=np.float32)
    start = 0
    for index, value in blocks:
        end = start + index.shape[1]
        indices[: len(index), start:end] = index.view(np.int32)
        values[: len(value), start:end] = value
        start = end
    return indices, values


def _check_providers(providers: Sequence[str]) -> None:
    available = onnxruntime.get_available_providers()
    missing = [name for name in providers if name not in available]
    if missing:
        msg = f"ONNX Runtime has no provider {missing[0]!r} here; available: {', '.join(available)}"
        raise InputError(msg)


def _golden_request(document: dict[str, Any]) -> DecisionRequest:
    return DecisionRequest(
        document["context"],
        tuple(Action(item["action_id"], item["features"]) for item in document["candidates"]),
        tuple(
            Slot(item["slot_id"], item["features"], tuple(item["include"]), tuple(item["exclude"]))
            for item in document["slots"]
        ),
        document["seed"],
    )


def _difference(slot: SlotResult, expected: list[list[Any]]) -> str | None:
    """What is wrong with a slot's answer, or None."""
    if {entry.action_id for entry in slot.ranking} != {entry[0] for entry in expected}:
        return "other candidates were ranked"
    recorded = {name: (cost, chance) for name, cost, chance in expected}
    largest = max((abs(cost) for cost, _ in recorded.values()), default=0.0)
    for name, score, chance in slot.ranking:
        cost, probability = recorded[name]
        if not abs(score - cost) <= COST_TOLERANCE * max(largest, 1.0):
            return f"the cost of {name!r} is {score:.9g}, recorded was {cost:.9g}"
        if not abs(chance - probability) <= PROBABILITY_TOLERANCE:
            return f"the probability of {name!r} is {chance:.9g}, recorded was {probability:.9g}"
    return None
