"""Parts for tests of the scoring service: in-memory sink and feature source, artefacts, an application."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from featuredsl.ccb.channel import publish
from featuredsl.ccb.decide import DecisionResult, Ranked, SlotResult
from featuredsl.ccb.scorer import UniformPolicy
from featuredsl.ccb.types import DecisionRequest
from serving.catalog import Catalog
from serving.champion import Champion, Loader, Policy
from serving.config import ServeConfig
from serving.engine import Engine, Parts
from serving.features import FeatureFetcher, FeatureSource, Lookup
from serving.inference import OnnxModels
from serving.metrics import Metrics
from serving.recordlog import Recorder
from serving.rest import create_app

MODEL = "shop"
NOW_MS = 1_750_000_000_000


@dataclass(frozen=True)
class Read:
    """A feature as a source returns it."""

    value: Any
    status: str = "OK"


@dataclass
class FakeSource:
    """Answers `rows`; waits for `gate` when there is one; raises `error` when there is one."""

    rows: dict[tuple[str, tuple[Any, ...]], dict[str, Read]] = field(default_factory=dict)
    gate: asyncio.Event | None = None
    error: Exception | None = None
    calls: list[tuple[Any, int, Mapping[str, Any]]] = field(default_factory=list)
    cancelled: int = 0

    async def get(
        self, keys: Sequence[Any], at_us: int, request: Mapping[str, Any] | None = None
    ) -> list[Mapping[str, Read]]:
        self.calls.append((tuple(keys), at_us, dict(request or {})))
        try:
            if self.gate is not None:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return [self.rows.get(key, {}) for key in keys]


@dataclass
class MemorySink:
    """Keeps records by topic name; refuses them while `full`."""

    sent: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    full: bool = False

    def send(self, name: str, key: str, record: dict[str, Any]) -> bool:
        if not self.full:
            self.sent.append((name, key, json.loads(json.dumps(record, allow_nan=False))))
        return not self.full

    def of(self, name: str) -> list[dict[str, Any]]:
        return [record for topic, _, record in self.sent if topic == name]


class FirstPolicy:
    """Ranks candidates as given, with fixed probabilities; `score` marks the version in answers."""

    def __init__(self, score: float = -0.25) -> None:
        self.score = score
        self.seen: list[DecisionRequest] = []

    def decide(self, request: DecisionRequest) -> DecisionResult:
        self.seen.append(request)
        share = 1.0 / len(request.candidates)
        ranking = tuple(Ranked(action.action_id, self.score, share) for action in request.candidates)
        slots = tuple(SlotResult(s.slot_id, ranking, ranking[0].action_id, share) for s in request.slots)
        return DecisionResult(MODEL, "x", request.seed or "", slots)


class BrokenPolicy:
    """Fails on every request."""

    def decide(self, request: DecisionRequest) -> DecisionResult:
        raise RuntimeError("no weights")


@dataclass
class Bench:
    """An engine with its fakes and an application around it."""

    config: ServeConfig
    root: Path
    policies: dict[str, Policy] = field(default_factory=dict)
    source: FeatureSource | None = None
    lookups: tuple[Lookup, ...] = ()
    loader: Loader | None = None

    def __post_init__(self) -> None:
        self.metrics = Metrics()
        self.sink = MemorySink()
        self.catalog = Catalog(self.metrics)
        self.champion = Champion(self.root, self.config.model, self.loader or self._load, self.metrics)
        fetcher = FeatureFetcher(self.source, self.lookups, self.config.features, self.metrics)
        recorder = Recorder(self.sink, self.config.log)
        parts = Parts(self.config, self.champion, fetcher, self.catalog, recorder, self.metrics, lambda: NOW_MS)
        self.engine = Engine(parts)
        self.models = OnnxModels(self.root, self.config.providers)
        self.state: tuple[bool, dict[str, Any]] = (True, {"state": "ready"})
        probes = (lambda: self.state, self.metrics)
        self.app = create_app(self.engine, self.models, self.config, probes)

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(app=self.app), base_url="http://service")

    async def post(self, path: str, body: Any) -> httpx.Response:
        async with self.client() as client:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            return await client.post(path, content=content)

    async def publish(self, version: str, policy: Policy | None = None) -> None:
        publish_artefact(self.root, version)
        self.policies[version] = policy or UniformPolicy()
        await self.champion.poll()

    def _load(self, path: Path) -> Policy:
        return self.policies[path.name.rsplit("-", 1)[0]]

    def metric(self, name: str, **labels: str) -> float:
        wanted = "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}" if labels else ""
        for line in self.metrics.exposition().decode().splitlines():
            if line.startswith(f"{name}{wanted} "):
                return float(line.rsplit(" ", 1)[1])
        return 0.0


def publish_artefact(root: Path, version: str, model: str = MODEL, graph: bytes | None = None) -> str:
    """Publish a directory with a manifest that names the version, and a graph when given; its digest."""
    source = root.parent / f"artefact-{model}-{version}"
    source.mkdir(parents=True, exist_ok=True)
    manifest = json.dumps({"version": version}).encode()
    (source / "manifest.json").write_bytes(manifest)
    if graph is not None:
        (source / "model.onnx").write_bytes(graph)
    publish(root, model, version, source)
    return hashlib.sha256(manifest).hexdigest()


def linear_graph(weights: Sequence[Sequence[float]]) -> bytes:
    """An ONNX graph y[n, k] = x[n, m] @ weights[m, k]."""
    matrix = np.array(weights, dtype=np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", matrix.shape[0]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", matrix.shape[1]])],
        [numpy_helper.from_array(matrix, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def decide_request(**changes: Any) -> dict[str, Any]:
    """A decide request for two candidates and one slot."""
    body: dict[str, Any] = {
        "request_id": "r-1",
        "candidates": ["a", "b"],
        "slots": [{"slot_id": "top"}],
        "context": {"device": "mobile", "hour": 7},
    }
    return {**body, **changes}
