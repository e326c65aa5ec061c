from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from serving.config import ServeConfig
from serving.features import Lookup
from serving.grpc_server import SERVICE, announce, create_server
from serving.proto.featuredsl.v1 import scoring_pb2 as pb
from serving.proto.featuredsl.v1 import scoring_pb2_grpc
from tests.support.serving import MODEL, NOW_MS, Bench, FakeSource, Read, decide_request

ROW = {"clicks": Read(3), "rate": Read(0.25), "last": Read("x"), "known": Read(True), "gone": Read(None, "NULL")}
USER = Lookup("user", ("user_id",), tuple(ROW))


def with_server(tmp_path: Path, use: Callable[[Bench, grpc.aio.Channel, Any], Awaitable[None]]) -> None:
    async def scenario() -> None:
        source = FakeSource({("user", (7,)): ROW})
        one = Bench(ServeConfig(MODEL, replay=True), tmp_path / "champions", source=source, lookups=(USER,))
        server, checks = create_server(one.engine, one.models, one.config, (lambda: (True, {}), one.metrics))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            await use(one, channel, checks)
        await server.stop(None)

    asyncio.run(scenario())


def message() -> pb.DecideRequest:
    request = pb.DecideRequest(request_id="r-9", ts=NOW_MS)
    request.entities["user_id"].integer = 7
    request.context["device"].text = "mobile"
    request.context["hour"].integer = 7
    request.context["ratio"].number = 1.5
    request.context["new"].flag = True
    request.context["none"].SetInParent()
    request.candidates.add(action_id="a")
    request.candidates.add(action_id="b").features["price"].number = 2.5
    request.candidates.add(action_id="c")
    request.slots.add(slot_id="1", exclude=["a"]).features["w"].integer = 3
    request.slots.add(slot_id="2")
    return request


BODY = decide_request(
    request_id="r-9",
    ts=NOW_MS,
    entities={"user_id": 7},
    context={"device": "mobile", "hour": 7, "ratio": 1.5, "new": True, "none": None},
    candidates=["a", {"action_id": "b", "features": {"price": 2.5}}, "c"],
    slots=[{"slot_id": "1", "exclude": ["a"], "features": {"w": 3}}, {"slot_id": "2"}],
)


def as_json(response: pb.DecideResponse) -> dict[str, Any]:
    def scalar(value: pb.Value) -> Any:
        kind = value.WhichOneof("kind")
        return None if kind is None else getattr(value, kind)

    return {
        "request_id": response.request_id,
        "model": response.model,
        "model_version": response.model_version,
        "slots": [
            {
                "slot_id": slot.slot_id,
                "ranking": [
                    {"action_id": e.action_id, "score": e.score, "probability": e.probability} for e in slot.ranking
                ],
                "chosen": slot.chosen,
                "probability": slot.probability,
            }
            for slot in response.slots
        ],
        "features": {name: scalar(value) for name, value in response.features.items()},
        "feature_status": dict(response.feature_status),
        "fallback": list(response.fallback),
    }


def test_grpc_and_rest_give_the_same_answer_and_see_the_same_request(tmp_path: Path) -> None:
    async def use(one: Bench, channel: grpc.aio.Channel, _: Any) -> None:
        stub = scoring_pb2_grpc.ScoringStub(channel)
        over_grpc = await stub.Decide(message())
        over_rest = (await one.post("/v1/decide", BODY)).json()
        assert over_grpc.latency_ms > 0
        assert set(over_grpc.stages) == set(over_rest["stages"])
        assert as_json(over_grpc) == {k: v for k, v in over_rest.items() if k not in ("latency_ms", "stages")}
        assert over_rest["features"]["user__known"] is True
        source = one.source
        assert isinstance(source, FakeSource)
        assert source.calls[0] == source.calls[1]

    with_server(tmp_path, use)


def test_refusals_are_statuses_with_the_same_text(tmp_path: Path) -> None:
    def with_nan(request: pb.DecideRequest) -> None:
        request.context["ratio"].number = float("nan")

    changes: list[tuple[Callable[[pb.DecideRequest], Any], grpc.StatusCode, str]] = [
        (lambda r: r.ClearField("request_id"), grpc.StatusCode.INVALID_ARGUMENT, "$.request_id"),
        (lambda r: r.ClearField("candidates"), grpc.StatusCode.INVALID_ARGUMENT, "$.candidates"),
        (lambda r: setattr(r, "model", "other"), grpc.StatusCode.NOT_FOUND, "unknown_model"),
        (lambda r: setattr(r, "ts", 5), grpc.StatusCode.INVALID_ARGUMENT, "bad_time"),
        (with_nan, grpc.StatusCode.INVALID_ARGUMENT, "$.context.ratio: NaN"),
        (lambda r: r.slots.add(slot_id="1"), grpc.StatusCode.INVALID_ARGUMENT, "duplicate_id: $.slots[2]"),
    ]

    async def use(one: Bench, channel: grpc.aio.Channel, _: Any) -> None:
        stub = scoring_pb2_grpc.ScoringStub(channel)
        for change, code, part in changes:
            request = message()
            change(request)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.Decide(request)
            assert refused.value.code() == code
            assert part in (refused.value.details() or "")
        assert one.engine.inflight == 0

    with_server(tmp_path, use)


def test_rewards_and_health(tmp_path: Path) -> None:
    async def use(one: Bench, channel: grpc.aio.Channel, checks: Any) -> None:
        stub = scoring_pb2_grpc.ScoringStub(channel)
        assert (await stub.Reward(pb.RewardRequest(request_id="r-9", value=1.0, slot_id="1"))).accepted
        assert [record["value"] for record in one.sink.of("clicks")] == [1.0]
        health = health_pb2_grpc.HealthStub(channel)
        for state, expected in ((True, "SERVING"), (False, "NOT_SERVING")):
            await announce(checks, state)
            status = (await health.Check(health_pb2.HealthCheckRequest(service=SERVICE))).status
            assert health_pb2.HealthCheckResponse.ServingStatus.Name(status) == expected

    with_server(tmp_path, use)
