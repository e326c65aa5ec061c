from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from featuredsl.errors import DependencyError
from serving.config import Caps, FeatureBudget, LogConfig, ServeConfig
from serving.features import Lookup
from tests.support.serving import (
    MODEL,
    NOW_MS,
    Bench,
    BrokenPolicy,
    FakeSource,
    FirstPolicy,
    Read,
    decide_request,
)

USER = Lookup("user", ("user_id",), ("clicks", "last"))


def bench(tmp_path: Path, **changes: Any) -> Bench:
    source = changes.pop("source", None)
    lookups = (USER,) if source else ()
    return Bench(ServeConfig(MODEL, **changes), tmp_path / "champions", source=source, lookups=lookups)


def test_without_a_champion_the_choice_is_uniform_flagged_and_repeatable(tmp_path: Path) -> None:
    async def scenario() -> list[dict[str, Any]]:
        one = bench(tmp_path)
        answers = []
        for number in range(40):
            answers.append((await one.post("/v1/decide", decide_request(request_id=f"r-{number // 2}"))).json())
        return answers

    answers = asyncio.run(scenario())
    first = answers[0]
    assert (first["model"], first["model_version"], first["fallback"]) == (MODEL, "uniform-0", ["no_model"])
    slot = first["slots"][0]
    assert {entry["action_id"] for entry in slot["ranking"]} == {"a", "b"}
    assert [entry["probability"] for entry in slot["ranking"]] == [0.5, 0.5]
    assert slot["chosen"] == slot["ranking"][0]["action_id"]
    assert slot["probability"] == 0.5
    chosen = [answer["slots"][0]["chosen"] for answer in answers]
    assert chosen[0::2] == chosen[1::2]
    assert set(chosen) == {"a", "b"}
    assert set(first["stages"]) == {"parse", "features", "assembly", "inference", "total"}
    assert first["latency_ms"] == first["stages"]["total"]


def test_slots_are_filled_in_order_without_repeats_and_lists_are_obeyed(tmp_path: Path) -> None:
    slots = [{"slot_id": "1", "exclude": ["a"]}, {"slot_id": "2", "include": ["b", "a"]}]
    answer = asyncio.run(bench(tmp_path).post("/v1/decide", decide_request(slots=slots))).json()
    assert [slot["chosen"] for slot in answer["slots"]] == ["b", "a"]
    assert [slot["probability"] for slot in answer["slots"]] == [1.0, 1.0]


def test_features_reach_the_model_the_answer_and_the_log(tmp_path: Path) -> None:
    async def scenario() -> tuple[Bench, FakeSource, FirstPolicy, dict[str, Any]]:
        source = FakeSource({("user", (7,)): {"clicks": Read(3), "last": Read(None, "NOT_FOUND")}})
        one = bench(tmp_path, source=source, replay=True, log=LogConfig(sampling=1.0))
        policy = FirstPolicy()
        await one.publish("1", policy)
        body = decide_request(entities={"user_id": 7}, request={"price": 2.5}, ts=NOW_MS - 5)
        return one, source, policy, (await one.post("/v1/decide", body)).json()

    one, source, policy, answer = asyncio.run(scenario())
    context = {"device": "mobile", "hour": 7, "user__clicks": 3, "user__last": None}
    assert answer["features"] == {"user__clicks": 3, "user__last": None}
    assert answer["feature_status"] == {"user__clicks": "OK", "user__last": "NOT_FOUND"}
    assert dict(policy.seen[0].context) == context
    assert source.calls[0][1:] == ((NOW_MS - 5) * 1_000, {"device": "mobile", "hour": 7, "price": 2.5})
    (record,) = one.sink.of("predictions")
    assert (record["features"], record["ts"]) == (context, NOW_MS - 5)


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/decide", decide_request(model="other"), 404, "unknown_model"),
        ("/v1/decide", decide_request(slots=[{"slot_id": str(n)} for n in range(3)]), 400, "impossible"),
        ("/v1/decide", decide_request(slots=[{"slot_id": "1", "include": ["z"]}]), 400, "impossible"),
        ("/v1/decide", decide_request(context={"x": "y" * 3_000}), 413, "body_too_large"),
        ("/v1/decide", b"\x00", 400, "invalid_json"),
        ("/v1/reward", {"request_id": "r"}, 400, "invalid_field"),
    ],
)
def test_refusals_have_a_status_a_code_and_a_sentence(
    tmp_path: Path, path: str, body: Any, status: int, code: str
) -> None:
    response = asyncio.run(bench(tmp_path, caps=Caps(body_bytes=2_000)).post(path, body))
    assert response.status_code == status
    assert response.json()["error"]["code"] == code
    assert len(response.json()["error"]["message"]) > 10


def test_a_failing_store_or_model_degrades_but_answers(tmp_path: Path) -> None:
    async def scenario() -> list[dict[str, Any]]:
        source = FakeSource(error=DependencyError("Redis is away"))
        one = bench(tmp_path, source=source, log=LogConfig(sampling=1e-9))
        body = decide_request(entities={"user_id": 7})
        await one.publish("1", BrokenPolicy())
        broken = (await one.post("/v1/decide", body)).json()
        await one.publish("2", FirstPolicy())
        await one.publish("3", BrokenPolicy())
        previous = (await one.post("/v1/decide", body)).json()
        assert [record["error"] for record in one.sink.of("predictions")] == ["RuntimeError", "RuntimeError"]
        return [broken, previous]

    broken, previous = asyncio.run(scenario())
    assert (broken["model_version"], broken["fallback"]) == ("uniform-0", ["features_missing", "model_error"])
    assert (previous["model_version"], previous["fallback"]) == (
        "2",
        ["features_missing", "model_error", "previous_model"],
    )


def test_overload_is_answered_uniformly_then_refused(tmp_path: Path) -> None:
    async def scenario() -> tuple[list[tuple[int, Any]], Bench]:
        source = FakeSource({("user", (7,)): {"clicks": Read(3)}}, gate=asyncio.Event())
        caps = Caps(soft_inflight=2, hard_inflight=2)
        one = bench(tmp_path, source=source, caps=caps, features=FeatureBudget(budget_ms=60_000))
        await one.publish("1", FirstPolicy())
        body = decide_request(entities={"user_id": 7})
        waiting = [asyncio.create_task(one.post("/v1/decide", body)) for _ in range(2)]
        while one.engine.inflight < 2:
            await asyncio.sleep(0)
        refused = await one.post("/v1/decide", body)
        assert refused.headers["retry-after"] == "1"
        source.gate.set()
        answers = [refused, *[await task for task in waiting], await one.post("/v1/decide", body)]
        return [(a.status_code, a.json().get("fallback")) for a in answers], one

    answers, one = asyncio.run(scenario())
    assert answers == [(503, None), (200, []), (200, []), (200, [])]
    assert one.engine.inflight == 0

    async def soft() -> Any:
        source = FakeSource(gate=asyncio.Event())
        two = bench(tmp_path / "b", source=source, caps=Caps(soft_inflight=1), log=LogConfig(sampling=1e-9))
        first = asyncio.create_task(two.post("/v1/decide", decide_request(entities={"user_id": 7})))
        while two.engine.inflight < 1:
            await asyncio.sleep(0)
        second = (await two.post("/v1/decide", decide_request(request_id="r-2"))).json()
        source.gate.set()
        await first
        return second, [record["error"] for record in two.sink.of("predictions")]

    shed, errors = asyncio.run(soft())
    assert (shed["model_version"], shed["fallback"]) == ("uniform-0", ["overload"])
    assert "overload" in errors


def test_cancelled_requests_leave_nothing_behind(tmp_path: Path) -> None:
    async def scenario() -> tuple[Bench, FakeSource, Any]:
        source = FakeSource({("user", (7,)): {"clicks": Read(3)}}, gate=asyncio.Event())
        one = bench(tmp_path, source=source, features=FeatureBudget(budget_ms=60_000))
        await one.publish("1", FirstPolicy())
        body = decide_request(entities={"user_id": 7})
        tasks = [asyncio.create_task(one.post("/v1/decide", body)) for _ in range(20)]
        while one.engine.inflight < 20:
            await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks[::2], return_exceptions=True)
        source.gate.set()
        answers = [(await task).json()["features"]["user__clicks"] for task in tasks[1::2]]
        after = [(await one.post("/v1/decide", body)).status_code for _ in range(20)]
        return one, source, (answers, after)

    one, source, (answers, after) = asyncio.run(scenario())
    assert (answers, after) == ([3] * 10, [200] * 20)
    assert source.cancelled == 10
    assert one.engine.inflight == 0


def test_a_swap_while_requests_are_in_flight_drops_none(tmp_path: Path) -> None:
    async def scenario() -> list[tuple[int, str, float]]:
        one = bench(tmp_path)
        await one.publish("1", FirstPolicy(1.0))
        seen: list[tuple[int, str, float]] = []
        done = asyncio.Event()

        async def caller() -> None:
            while not done.is_set():
                response = await one.post("/v1/decide", decide_request())
                await asyncio.sleep(0)
                answer = response.json()
                score = answer["slots"][0]["ranking"][0]["score"]
                seen.append((response.status_code, answer["model_version"], score))

        callers = [asyncio.create_task(caller()) for _ in range(4)]
        for version in range(2, 8):
            await one.publish(str(version), FirstPolicy(float(version)))
            served = len(seen)
            while len(seen) < served + 8:
                await asyncio.sleep(0)
        done.set()
        await asyncio.gather(*callers)
        return seen

    seen = asyncio.run(scenario())
    assert {status for status, _, _ in seen} == {200}
    assert {version for _, version, _ in seen} >= {str(version) for version in range(2, 8)}
    assert all(float(version) == score for _, version, score in seen)


def test_health_and_metrics(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = bench(tmp_path)
        await one.publish("1", FirstPolicy())
        await one.post("/v1/decide", decide_request(entities={"user_id": "secret-user"}))
        await one.post("/v1/decide", b"{")
        async with one.client() as client:
            assert (await client.get("/health/live")).json() == {"live": True}
            assert (await client.get("/health/ready")).status_code == 200
            one.state = (False, {"state": "draining"})
            ready = await client.get("/health/ready")
            assert (ready.status_code, ready.json()["state"]) == (503, "draining")
            metrics = await client.get("/metrics")
        assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert "secret-user" not in metrics.text
        assert one.metric("featuredsl_decisions_total", model_version="1", outcome="ok") == 1
        assert one.metric("featuredsl_decisions_total", model_version="", outcome="refused_400") == 1
        assert one.metric("featuredsl_decide_seconds_count", stage="inference") == 1

    asyncio.run(scenario())
