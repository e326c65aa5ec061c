"""The service as a process, on real Kafka and Redis, with a model that Vowpal Wabbit has trained."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
import httpx
import orjson
import pytest

from featuredsl.ccb.channel import publish
from featuredsl.ccb.encode import training_text
from featuredsl.ccb.preprocess import Preprocessor, build_vocabulary
from featuredsl.ccb.scorer import CcbScorer
from featuredsl.ccb.types import Action, DecisionRequest, Slot
from featuredsl.online.store import OnlineStore
from featuredsl.registry import Registry, apply
from featuredsl.settings import Settings
from jobs.kafka import ensure_topics, producer, read_all
from jobs.training import vw
from jobs.training.export import ExportSpec, export
from schemas import topics
from schemas.records import read
from serving.proto.featuredsl.v1 import scoring_pb2 as pb
from serving.proto.featuredsl.v1 import scoring_pb2_grpc
from serving.proto.inference import open_inference_pb2, open_inference_pb2_grpc
from serving.server import endpoint_file
from tests.support.ccb_data import random_examples
from tests.support.stack import TestStack
from tests.support.wait import until

MODEL = "shop"
DAY_US = 86_400_000_000
TODAY_US = time.time_ns() // 1_000 // DAY_US * DAY_US  # written values expire, so they are of today
AT_US = TODAY_US + DAY_US // 2
DEFINITIONS = Path(__file__).with_name("definitions.py")
ITEMS = {f"item {at}" if at % 5 else str(at): {"a text": "Red Shoe", "a:num": at / 2} for at in range(6)}
CONFIG = f"""
model = "{MODEL}"
replay = true
catalog = "kafka"
poll_interval_s = 0.1
[features]
budget_ms = 500
[log]
sampling = 1.0
impressions = true
[[groups]]
group = "visitor"
entity = ["user_id"]
"""


@dataclass
class Running:
    """A service process and where it answers."""

    process: subprocess.Popen[bytes]
    rest: str
    grpc: str
    home: Path

    def decide(self, body: dict[str, Any]) -> dict[str, Any]:
        response = httpx.post(f"{self.rest}/v1/decide", content=orjson.dumps(body), timeout=20)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def ready(self) -> dict[str, Any]:
        details: dict[str, Any] = httpx.get(f"{self.rest}/health/ready", timeout=20).json()
        return details

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@contextmanager
def running(home: Path, settings: Settings, config: str) -> Iterator[Running]:
    home.mkdir(exist_ok=True)
    (home / "serve.toml").write_text(config, encoding="utf-8")
    names = ("kafka", "redis", "prefix", "registry")
    environment = {f"FEATUREDSL_{name.upper()}": str(getattr(settings, name)) for name in names}
    command = [sys.executable, "-c", "from serving.cli import serve; serve()"]
    process = subprocess.Popen(
        [*command, "--config", str(home / "serve.toml"), "--home", str(home)], env={**os.environ, **environment}
    )
    try:
        path = endpoint_file(home, MODEL)
        until(lambda: path.exists() or process.poll() is not None, 60, "service ready")
        assert process.poll() is None
        endpoints = json.loads(path.read_text())
        yield Running(process, endpoints["rest"], endpoints["grpc"], home)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(10)


def train(folder: Path, seed: int) -> Path:
    """An artefact trained on seeded examples with the demo's kind of options."""
    folder.mkdir()
    examples = random_examples(random.Random(seed), 300, candidates=6, slots=2)
    pre = Preprocessor(build_vocabulary((example.request for example in examples), 3))
    text = "\n\n".join(training_text(example, pre) for example in examples)
    (folder / "data.txt").write_text(text + "\n\n", encoding="utf-8")
    arguments = "--ccb_explore_adf --cb_type mtr --clip_p 0.01 --epsilon 0.2 -q CA --random_seed 1 -b 16"
    vw.train(arguments, folder / "data.txt", folder / "model.vw")
    golden = [replace(example.request, seed=example.event_id) for example in examples[:5]]
    export(folder, ExportSpec(MODEL, pre, golden))
    return folder


def write_features(settings: Settings) -> None:
    apply(settings.registry, DEFINITIONS, store_suffix=settings.prefix)
    layout = Registry.load(settings.registry).layout("visitor")
    with OnlineStore(settings.redis, namespace=settings.prefix) as store:
        store.set_current("visitor", layout.version)
        store.write_batch(layout, "1d", TODAY_US - DAY_US, [(("U1",), (41,))])
        store.mark_batch(layout, "1d", TODAY_US - DAY_US)
        store.write_batch(layout, "1d", TODAY_US, [(("U1",), (7,))])
        store.mark_batch(layout, "1d", TODAY_US)


def send_item(settings: Settings, name: str, features: dict[str, Any] | None) -> None:
    out = producer(settings.kafka)
    payload = orjson.dumps({"action_id": name, "ts": AT_US // 1_000, "features": features})
    out.produce(topics.topic(settings.prefix, topics.CATALOG), payload, name.encode())
    out.flush()


@pytest.fixture(scope="module")
def settings(stack: TestStack) -> Settings:
    found = stack.need("kafka", "redis")
    ensure_topics(found.kafka, topics.every_topic(found.prefix), compacted=[found.prefix + topics.CATALOG])
    write_features(found)
    for name, features in ITEMS.items():
        send_item(found, name, features)
    return found


def request(number: int, **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "request_id": f"req {number}",
        "ts": AT_US // 1_000,
        "context": {"user": f"U{number % 6}", "hour": number % 24, "c text": "Red Shoe"},
        "request": {"price": 4.0},
        "entities": {"user_id": "U1"},
        "candidates": list(ITEMS),
        "slots": [{"slot_id": "1"}, {"slot_id": "2", "features": {"place": "top"}}],
    }
    return {**body, **changes}


class Caller(threading.Thread):
    """Sends requests one after another until told to stop; keeps version and status of every answer."""

    def __init__(self, service: Running) -> None:
        super().__init__()
        self._service, self._over = service, threading.Event()
        self.seen: list[tuple[int, str]] = []

    def run(self) -> None:
        with httpx.Client(timeout=20) as client:
            number = 1_000
            while not self._over.is_set():
                number += 1
                response = client.post(f"{self._service.rest}/v1/decide", content=orjson.dumps(request(number)))
                self.seen.append((response.status_code, response.json().get("model_version", "")))

    def finish(self) -> list[tuple[int, str]]:
        self._over.set()
        self.join(30)
        return self.seen


def as_message(body: dict[str, Any]) -> pb.DecideRequest:
    message = pb.DecideRequest(request_id=body["request_id"], ts=body["ts"])
    for name in ("context", "request", "entities"):
        for key, value in body[name].items():
            kind = {str: "text", int: "integer", float: "number"}[type(value)]
            setattr(getattr(message, name)[key], kind, value)
    for candidate in body["candidates"]:
        message.candidates.add(action_id=candidate)
    for slot in body["slots"]:
        entry = message.slots.add(slot_id=slot["slot_id"])
        for key, value in slot.get("features", {}).items():
            entry.features[key].text = value
    return message


def over_grpc(service: Running, body: dict[str, Any]) -> list[tuple[str, list[tuple[str, float, float]]]]:
    async def call() -> pb.DecideResponse:
        async with grpc.aio.insecure_channel(service.grpc) as channel:
            answer: pb.DecideResponse = await scoring_pb2_grpc.ScoringStub(channel).Decide(as_message(body))
            inference = open_inference_pb2_grpc.GRPCInferenceServiceStub(channel)
            assert (await inference.ModelReady(open_inference_pb2.ModelReadyRequest(name=MODEL))).ready
            return answer

    response = asyncio.run(call())
    return [(slot.chosen, [(e.action_id, e.score, e.probability) for e in slot.ranking]) for slot in response.slots]


def rankings(answer: dict[str, Any]) -> list[tuple[str, list[tuple[str, float, float]]]]:
    return [(slot["chosen"], [tuple(entry.values()) for entry in slot["ranking"]]) for slot in answer["slots"]]


def by_library(folder: Path, body: dict[str, Any], features: dict[str, Any]) -> Any:
    actions = tuple(Action(name, found) for name, found in ITEMS.items())
    slots = tuple(Slot(slot["slot_id"], slot.get("features", {})) for slot in body["slots"])
    wanted = DecisionRequest({**body["context"], **features}, actions, slots, body["request_id"])
    result = CcbScorer.load(folder).decide(wanted)
    return [(slot.chosen, [tuple(entry) for entry in slot.ranking]) for slot in result.slots]


def records(settings: Settings, name: str, kind: str) -> list[dict[str, Any]]:
    found = read_all(settings.kafka, topics.topic(settings.prefix, name))
    return [read(kind, record.value) for record in found]


def test_a_service_from_no_model_to_a_drained_stop(settings: Settings, tmp_path: Path) -> None:
    champions = tmp_path / "home" / "champions"
    first = train(tmp_path / "first", 3)
    second = train(tmp_path / "second", 4)
    with running(tmp_path / "home", settings, CONFIG) as service:
        features = {"visitor__views": 7, "visitor__price_per_view": 0.5}
        uniform = service.decide(request(1))
        assert (uniform["model_version"], uniform["fallback"]) == ("uniform-0", ["no_model"])
        assert uniform["features"] == features
        assert set(uniform["feature_status"].values()) == {"OK"}
        yesterday = service.decide(request(2, ts=(AT_US - DAY_US) // 1_000))
        assert yesterday["features"] == {"visitor__views": 41, "visitor__price_per_view": 4.0 / 42}

        publish(champions, MODEL, "1", first)
        until(lambda: service.ready()["model_version"] == "1", 30)
        for number in range(3, 8):
            answer = service.decide(request(number))
            assert answer["fallback"] == []
            assert rankings(answer) == by_library(first, request(number), features)
            assert rankings(answer) == over_grpc(service, request(number)) == rankings(service.decide(request(number)))

        swap_under_load(service, champions, second)
        bad_artefact_is_refused(service, champions, second, tmp_path)
        catalog_is_followed(service, settings)

        started = time.monotonic()
        assert service.stop() == 0
        assert time.monotonic() - started < 20
        assert not endpoint_file(service.home, MODEL).exists()
    logs_are_complete(settings)


def swap_under_load(service: Running, champions: Path, second: Path) -> None:
    callers = [Caller(service) for _ in range(3)]
    for caller in callers:
        caller.start()
    until(lambda: all(len(caller.seen) > 5 for caller in callers), 30)
    publish(champions, MODEL, "2", second)
    until(lambda: all(caller.seen[-1][1] == "2" for caller in callers), 30)
    seen = [entry for caller in callers for entry in caller.finish()]
    assert {status for status, _ in seen} == {200}
    assert {version for _, version in seen} == {"1", "2"}


def bad_artefact_is_refused(service: Running, champions: Path, good: Path, tmp_path: Path) -> None:
    def damaged(name: str, change: Callable[[Path], object]) -> Path:
        folder = tmp_path / name
        shutil.copytree(good, folder)
        change(folder)
        return folder

    def flip(folder: Path) -> None:
        graph = bytearray((folder / "model.onnx").read_bytes())
        graph[len(graph) // 2] ^= 0xFF
        (folder / "model.onnx").write_bytes(graph)

    bad = {"3": damaged("flipped", flip), "4": damaged("short", lambda folder: (folder / "golden.json").unlink())}
    for version, folder in bad.items():
        publish(champions, MODEL, version, folder)
        error = until(
            lambda v=version: (text := service.ready()["model_error"]) and f"version {v}" in text and text, 30
        )
        assert "refused" in error
        assert service.decide(request(50))["model_version"] == "2"
    metrics = httpx.get(f"{service.rest}/metrics", timeout=20).text
    assert "featuredsl_model_swaps_total 2.0" in metrics


def catalog_is_followed(service: Running, settings: Settings) -> None:
    send_item(settings, "fresh", {"a text": "new"})
    body = request(60, candidates=[*ITEMS, "fresh"])
    until(lambda: "catalog_missing" not in service.decide(body)["fallback"], 30)
    assert service.ready()["catalog_actions"] == len(ITEMS) + 1
    reward = {"request_id": "req 60", "value": 1.0, "slot_id": "1", "ts": AT_US // 1_000 + 5}
    assert httpx.post(f"{service.rest}/v1/reward", json=reward, timeout=20).json()["accepted"] is True


def logs_are_complete(settings: Settings) -> None:
    predictions = records(settings, topics.PREDICTIONS, "prediction")
    impressions = records(settings, topics.IMPRESSIONS, "impression")
    exposures = records(settings, topics.EXPOSURES, "exposure")
    assert len(predictions) == len(impressions) == len(exposures) / 2
    assert {record["request_id"] for record in predictions} == {record["event_id"] for record in impressions}
    assert {record["sample_probability"] for record in predictions} == {1.0}
    assert {f"req {number}" for number in (1, 2, 3, 7, 50, 60, 1_001)} <= {r["request_id"] for r in predictions}
    last = next(record for record in impressions if record["event_id"] == "req 3")
    assert last["context"]["visitor__views"] == 7
    assert sum(last["slots"][0]["propensities"].values()) == pytest.approx(1.0, abs=1e-5)
    assert {record["value"] for record in records(settings, topics.CLICKS, "click")} == {1.0}
    assert {record["request_id"] for record in records(settings, topics.OUTCOMES, "outcome")} == {"req 60"}


def test_without_redis_the_service_starts_and_answers_degraded(settings: Settings, tmp_path: Path) -> None:
    away = Settings.load(
        home=tmp_path,
        kafka=settings.kafka,
        redis="redis://127.0.0.1:1/0",
        prefix=settings.prefix,
        registry=settings.registry,
    )
    with running(tmp_path / "home", away, CONFIG) as service:
        for number in range(8):
            answer = service.decide(request(number))
            assert answer["fallback"] == ["features_missing", "no_model"]
            # of an unknown key (counts of nothing are 0, and 4.0 is computed from them); none once reads are not tried
            assert set(answer["features"].values()) in ({0, 4.0}, {None})
        assert service.ready()["feature_breaker_open"] is True
        assert service.stop() == 0


def test_no_kafka_at_all_is_one_clear_message(tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FEATUREDSL_")}
    command = [sys.executable, "-m", "featuredsl.cli.main", "run", "serve", "--model", MODEL, "--home", str(tmp_path)]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 4
    assert "no Kafka address" in done.stderr
    assert "Traceback" not in done.stderr
