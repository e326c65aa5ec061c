"""gRPC transport: featuredsl.v1.Scoring, the Open Inference Protocol and health checking."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import grpc
import msgspec
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from serving.config import ServeConfig
from serving.engine import Engine
from serving.grpc_errors import abort
from serving.grpc_inference import InferenceServicer
from serving.inference import OnnxModels
from serving.metrics import Metrics
from serving.proto.featuredsl.v1 import scoring_pb2 as pb
from serving.proto.featuredsl.v1 import scoring_pb2_grpc
from serving.proto.inference import open_inference_pb2_grpc
from serving.records import Answer
from serving.rest import Readiness
from serving.wire import DecideBody, RequestError, RewardBody, Scalar, check_decide, check_reward, refuse

SERVICE = "featuredsl.v1.Scoring"
_Body = TypeVar("_Body", DecideBody, RewardBody)


class HealthChecks(Protocol):
    """What the health servicer is told."""

    async def set(self, service: str, status: int) -> None:
        """Set the status of one service; "" is the whole server."""
        ...


def create_server(
    engine: Engine, models: OnnxModels, config: ServeConfig, probes: tuple[Readiness, Metrics]
) -> tuple[grpc.aio.Server, HealthChecks]:
    """A server without a port yet, and its health servicer (not serving until told so)."""
    limit = config.caps.body_bytes
    server = grpc.aio.server(
        options=[("grpc.max_receive_message_length", limit), ("grpc.so_reuseport", 0)],
    )
    scoring_pb2_grpc.add_ScoringServicer_to_server(ScoringServicer(engine, config, probes[1]), server)
    inference = InferenceServicer(models, lambda: probes[0]()[0])
    open_inference_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(inference, server)
    checks: Any = health.aio.HealthServicer()  # type: ignore[attr-defined]
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    return server, checks


async def announce(checks: HealthChecks, serving: bool) -> None:
    """Set the health status of the server and of the scoring service."""
    states = health_pb2.HealthCheckResponse
    status = states.SERVING if serving else states.NOT_SERVING
    for name in ("", SERVICE):
        await checks.set(name, status)


class ScoringServicer(scoring_pb2_grpc.ScoringServicer):
    """The same pipeline as POST /v1/decide and /v1/reward."""

    def __init__(self, engine: Engine, config: ServeConfig, metrics: Metrics) -> None:
        self._engine = engine
        self._config = config
        self._metrics = metrics

    async def Decide(self, request: pb.DecideRequest, context: grpc.aio.ServicerContext[Any, Any]) -> pb.DecideResponse:
        started = time.perf_counter()
        try:
            body = decide_body(request)
            check_decide(body, self._config.caps, self._config.replay)
            answer = await self._engine.decide(body, started)
        except RequestError as error:
            self._metrics.decisions.labels("", f"refused_{error.status}").inc()
            await abort(context, error)
        response = decide_response(answer)
        self._engine.finish(answer, started)
        return response

    async def Reward(self, request: pb.RewardRequest, context: grpc.aio.ServicerContext[Any, Any]) -> pb.RewardResponse:
        try:
            body = reward_body(request)
            check_reward(body, self._config.replay)
        except RequestError as error:
            await abort(context, error)
        accepted = self._engine.reward(body)
        return pb.RewardResponse(request_id=body.request_id, accepted=accepted)


def decide_body(request: pb.DecideRequest) -> DecideBody:
    """The request as the value that REST parses to. Raises RequestError (400)."""
    fields: dict[str, Any] = {
        "request_id": request.request_id,
        "context": _features(request.context, "$.context"),
        "entities": _features(request.entities, "$.entities"),
        "request": _features(request.request, "$.request"),
        "candidates": [
            {
                "action_id": item.action_id,
                "features": _features(item.features, f"$.candidates[{place}].features"),
            }
            for place, item in enumerate(request.candidates)
        ],
        "slots": [
            {
                "slot_id": slot.slot_id,
                "features": _features(slot.features, f"$.slots[{place}].features"),
                "include": list(slot.include),
                "exclude": list(slot.exclude),
            }
            for place, slot in enumerate(request.slots)
        ],
    }
    optional = {name: getattr(request, name) or None for name in ("model", "unit_id", "tenant", "seed")}
    if request.HasField("ts"):
        fields["ts"] = request.ts
    return _convert({**fields, **optional}, DecideBody)


def reward_body(request: pb.RewardRequest) -> RewardBody:
    """The request as the value that REST parses to. Raises RequestError (400)."""
    fields: dict[str, Any] = {
        "request_id": request.request_id,
        "value": request.value,
        "slot_id": request.slot_id or None,
        "columns": _features(request.columns, "$.columns"),
    }
    if request.HasField("ts"):
        fields["ts"] = request.ts
    return _convert(fields, RewardBody)


def decide_response(answer: Answer) -> pb.DecideResponse:
    """The answer as a message."""
    response = pb.DecideResponse(
        request_id=answer.body.request_id,
        model=answer.model,
        model_version=answer.version,
        feature_status=answer.feature_status,
        fallback=answer.fallback,
        latency_ms=answer.latency_ms,
        stages=answer.stages,
    )
    for name, value in answer.features.items():
        _set(response.features[name], value)
    for slot in answer.result.slots:
        ranking = [pb.Ranked(action_id=name, score=score, probability=p) for name, score, p in slot.ranking]
        decision = pb.SlotDecision(slot_id=slot.slot_id, ranking=ranking)
        if slot.chosen is not None:
            decision.chosen, decision.probability = slot.chosen, slot.probability
        response.slots.append(decision)
    return response


def _convert(fields: dict[str, Any], kind: type[_Body]) -> _Body:
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        refuse("invalid_field", str(error))


def _features(values: Mapping[str, pb.Value], where: str) -> dict[str, Scalar]:
    result: dict[str, Scalar] = {}
    for name, value in values.items():
        kind = value.WhichOneof("kind")
        scalar = None if kind is None else getattr(value, kind)
        if isinstance(scalar, float) and not math.isfinite(scalar):
            refuse("not_finite", f"{where}.{name}: NaN and infinities are not feature values")
        result[name] = scalar
    return result


def _set(target: pb.Value, value: Scalar) -> None:
    if isinstance(value, bool):
        target.flag = value
    elif isinstance(value, int):
        target.integer = value
    elif isinstance(value, float):
        target.number = value
    elif isinstance(value, str):
        target.text = value
    else:
        target.SetInParent()
