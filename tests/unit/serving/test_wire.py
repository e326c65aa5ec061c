from __future__ import annotations

import json
from typing import Any

import pytest

from serving.config import Caps
from serving.wire import CandidateBody, RequestError, parse_decide, parse_reward
from tests.support.serving import NOW_MS, decide_request

CAPS = Caps(candidates=5, slots=3)


def parse(body: Any, replay: bool = False) -> Any:
    payload = body if isinstance(body, bytes) else json.dumps(body).encode()
    return parse_decide(payload, CAPS, replay)


def test_every_field_is_read() -> None:
    body = parse(
        decide_request(
            candidates=["a", {"action_id": "b", "features": {"price": 2.5, "new": True, "brand": None}}],
            slots=[{"slot_id": "s", "features": {"w": 1}, "include": ["a"], "exclude": ["b"]}],
            entities={"user": 7},
            request={"price": 1.5, "vec": [0.5, 2], "ids": [9007199254740993], "tags": ["a"], "none": []},
            seed="s1",
            ts=NOW_MS,
            model="shop",
            unit_id="u",
            tenant="t",
        ),
        replay=True,
    )
    assert body.candidates == ("a", CandidateBody("b", {"price": 2.5, "new": True, "brand": None}))
    assert body.slots[0].include == ("a",)
    assert body.request == {"price": 1.5, "vec": [0.5, 2], "ids": [9007199254740993], "tags": ["a"], "none": []}
    assert (body.entities, body.seed, body.ts) == ({"user": 7}, "s1", NOW_MS)


def with_text(old: str, new: str) -> bytes:
    text = json.dumps(decide_request())
    assert old in text
    return text.replace(old, new).encode()


@pytest.mark.parametrize(
    ("payload", "code", "part"),
    [
        (b"", "invalid_json", "truncated"),
        (b"[]", "invalid_field", "Expected `object`, got `array`"),
        (b"{}", "invalid_field", "missing required field `request_id`"),
        (with_text("7", "NaN"), "invalid_json", "malformed"),
        (with_text("7", "Infinity"), "invalid_json", "malformed"),
        (with_text("7", "1e999"), "invalid_field", "$.context.hour"),
        (with_text("7", "[7]"), "invalid_field", "got `array` - at `$.context.hour`"),
        (with_text("7", "9223372036854775808"), "invalid_field", "$.context.hour"),
        (with_text('"mobile"', '"\\ud800"'), "invalid_json", "UTF-8"),
        (with_text("mobile", "MOB").replace(b"MOB", b"\xff"), "invalid_json", "UTF-8"),
        (b'{"a":' * 100_000, "invalid_field", "unknown field `a`"),
        (decide_request(request_id=""), "invalid_field", "$.request_id"),
        (decide_request(request_id=5), "invalid_field", "Expected `str`, got `int` - at `$.request_id`"),
        (decide_request(request_id="x" * 513), "invalid_field", "length <= 512"),
        (decide_request(extra=1), "invalid_field", "unknown field `extra`"),
        (decide_request(candidates=[]), "empty", "$.candidates"),
        (decide_request(candidates=["a", ""]), "empty_id", "$.candidates[1]"),
        (decide_request(candidates=["a", {"action_id": "a"}]), "duplicate_id", "$.candidates[1]: 'a'"),
        (decide_request(candidates=list("abcdef")), "too_many", "6 are more than the limit of 5"),
        (decide_request(candidates=[{"action_id": "a", "features": {"x": {}}}]), "invalid_field", "features.x"),
        (decide_request(slots=[]), "empty", "$.slots"),
        (decide_request(slots=[{"slot_id": "s"}] * 2), "duplicate_id", "$.slots[1]"),
        (decide_request(slots=[{"slot": "s"}]), "invalid_field", "$.slots[0]"),
        (decide_request(entities={"user": None}), "invalid_field", "$.entities.user"),
        (decide_request(entities={"user": 1.5}), "invalid_field", "$.entities"),
        (decide_request(request={"vec": [1, None]}), "invalid_field", "$.request.vec"),
        (decide_request(request={"vec": [True]}), "invalid_field", "$.request.vec"),
        (decide_request(request={"vec": [[1]]}), "invalid_field", "$.request.vec"),
        (decide_request(context={"vec": [1]}), "invalid_field", "$.context.vec"),
        (decide_request(context={"": 1}), "empty_name", "$.context"),
        (decide_request(ts=NOW_MS), "ts_refused", "replay = true"),
    ],
)
def test_a_wrong_request_is_refused_with_its_place(payload: Any, code: str, part: str) -> None:
    with pytest.raises(RequestError) as refused:
        parse(payload)
    assert refused.value.code == code
    assert part in refused.value.message
    assert refused.value.status == (413 if code == "too_many" else 400)


@pytest.mark.parametrize("ts", [NOW_MS // 1_000, NOW_MS * 1_000, -1])
def test_a_time_in_another_unit_is_refused_in_replay(ts: int) -> None:
    with pytest.raises(RequestError, match="epoch milliseconds"):
        parse(decide_request(ts=ts), replay=True)


def test_reward_is_read_and_checked() -> None:
    body = parse_reward(b'{"request_id": "r", "value": 1, "slot_id": "s", "columns": {"item": "a"}}', False)
    assert (body.value, body.slot_id, body.columns) == (1.0, "s", {"item": "a"})
    for bad in (b'{"request_id": "r"}', b'{"request_id": "r", "value": NaN}', b'{"request_id": "r", "value": "1"}'):
        with pytest.raises(RequestError):
            parse_reward(bad, False)
