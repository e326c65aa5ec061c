from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from schemas.records import validate
from serving.config import LogConfig, ServeConfig
from serving.records import is_sampled
from tests.support.serving import MODEL, NOW_MS, Bench, FirstPolicy, decide_request

EVERYTHING = LogConfig(impressions=True, sampling=1.0)


def run(tmp_path: Path, log: LogConfig, body: dict[str, Any], policy: Any = None) -> Bench:
    async def scenario() -> Bench:
        one = Bench(ServeConfig(MODEL, log=log), tmp_path / "champions")
        one.catalog.apply(None, b'{"action_id": "a", "ts": 1750000000000, "features": {"brand": "A"}}')
        await one.publish("3", policy or FirstPolicy())
        assert (await one.post("/v1/decide", body)).status_code == 200
        return one

    return asyncio.run(scenario())


def test_records_follow_their_schemas_and_tell_the_same_story(tmp_path: Path) -> None:
    body = decide_request(
        entities={"user_id": 7},
        slots=[{"slot_id": "top", "features": {"w": 1}, "include": ["a"]}, {"slot_id": "side"}],
        unit_id="u-1",
        tenant="t-1",
    )
    sink = run(tmp_path, EVERYTHING, body).sink
    (prediction,), (impression,), exposures = (
        sink.of("predictions"),
        sink.of("impressions"),
        sink.of("exposures"),
    )
    for kind, records in {"prediction": [prediction], "impression": [impression], "exposure": exposures}.items():
        for record in records:
            validate(kind, record)
    assert (prediction["model"], prediction["model_version"], prediction["ts"]) == (MODEL, "3", NOW_MS)
    assert prediction["features"] == impression["context"] == {"device": "mobile", "hour": 7}
    assert (prediction["error"], prediction["fallback"], prediction["arm"]) == (None, ["catalog_missing"], "champion")
    assert (prediction["tenant"], prediction["unit_id"], prediction["sample_probability"]) == ("t-1", "u-1", 1.0)
    assert prediction["prediction"][0] == {"slot_id": "top", "chosen": "a", "probability": 0.5, "score": -0.25}
    assert set(prediction["stages"]) == {"parse", "features", "assembly", "inference", "total"}
    assert impression["candidates"][0] == {"action_id": "a", "features": {"brand": "A"}}
    assert impression["slots"][0]["propensities"] == {"a": 0.5, "b": 0.5}
    assert impression["slots"][0]["include"] == ["a"]
    assert exposures[0] == {
        "event_id": "r-1",
        "slot_id": "top",
        "ts": NOW_MS,
        "action_id": "a",
        "brand": "A",
        "device": "mobile",
        "hour": 7,
        "user_id": 7,
    }
    assert {key for _, key, _ in sink.sent} == {"r-1"}


def test_only_the_sampled_share_is_written_and_it_says_so(tmp_path: Path) -> None:
    sampled = [is_sampled(f"request-{number}", 0.1) for number in range(20_000)]
    assert 0.09 < sum(sampled) / len(sampled) < 0.11
    assert sampled[:500] == [is_sampled(f"request-{number}", 0.1) for number in range(500)]
    assert all(is_sampled(f"request-{number}", 1.0) for number in range(500))
    skipped = next(f"request-{number}" for number, yes in enumerate(sampled) if not yes)
    kept = next(f"request-{number}" for number, yes in enumerate(sampled) if yes)
    assert run(tmp_path / "a", LogConfig(), decide_request(request_id=skipped)).sink.sent == []
    (record,) = run(tmp_path / "b", LogConfig(), decide_request(request_id=kept)).sink.of("predictions")
    assert record["sample_probability"] == 0.1


@pytest.mark.parametrize(("score", "error"), [(float("nan"), "nan"), (float("-inf"), "inf")])
def test_errors_are_always_written_with_their_code(tmp_path: Path, score: float, error: str) -> None:
    log = LogConfig(sampling=1e-9)
    (record,) = run(tmp_path, log, decide_request(), FirstPolicy(score)).sink.of("predictions")
    assert (record["error"], record["sample_probability"], record["arm"]) == (error, 1.0, "fallback")
    assert record["fallback"] == ["catalog_missing", "model_error"]


def test_rewards_become_outcomes_and_clicks(tmp_path: Path) -> None:
    one = Bench(ServeConfig(MODEL), tmp_path)
    reward = {"request_id": "r-1", "value": 1, "slot_id": "top", "columns": {"item": "a"}}
    assert asyncio.run(one.post("/v1/reward", reward)).json() == {"request_id": "r-1", "accepted": True}
    assert asyncio.run(one.post("/v1/reward", {"request_id": "r-2", "value": 0})).status_code == 202
    outcomes, (click,) = one.sink.of("outcomes"), one.sink.of("clicks")
    assert [(record["request_id"], record["value"], record["ts"]) for record in outcomes] == [
        ("r-1", 1.0, NOW_MS),
        ("r-2", 0.0, NOW_MS),
    ]
    assert click == {"event_id": "r-1", "slot_id": "top", "ts": NOW_MS, "value": 1.0, "item": "a"}
    validate("click", click)
    for record in outcomes:
        validate("outcome", record)
    one.sink.full = True
    refused = asyncio.run(one.post("/v1/reward", reward))
    assert (refused.status_code, refused.json()["accepted"]) == (503, False)
