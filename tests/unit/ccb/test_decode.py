"""Text that we wrote reads back to a request that encodes to the same text."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from featuredsl.ccb.decode import decode_request
from featuredsl.ccb.encode import encode_example
from featuredsl.ccb.types import SlotLabel
from schemas.records import RecordError
from tests.support.ccb_data import random_request


@pytest.mark.parametrize("seed", range(20))
def test_text_survives_a_round_trip(seed: int) -> None:
    request = random_request(random.Random(seed), 6, 2, "request 1")
    decided = decode_request(encode_example(request, None), [slot.slot_id for slot in request.slots])
    assert encode_example(replace(decided, seed=request.seed), None) == encode_example(request, None)


def test_labels_are_left_out() -> None:
    request = random_request(random.Random(1), 4, 1, None, lists=False)
    text = encode_example(request, [SlotLabel(request.candidates[2].action_id, -1.0, 0.25)])
    assert encode_example(decode_request(text, [request.slots[0].slot_id]), None) == encode_example(request, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ccb action |A a",
        "hello",
        "ccb shared |C a\nccb shared |C a\nccb slot |S a",
        "ccb shared |C a:x\nccb slot |S a",
        "ccb shared |C a\nccb action |A a\nccb slot 7,8 |S a",
        "ccb shared |C a\nccb slot |S a\nccb slot |S b",
        "ccb shared",
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(RecordError) as caught:
        decode_request(text, ["s"])
    assert caught.value.reason == "bad_vw"


def test_plain_text_of_others() -> None:
    found = decode_request(
        "ccb shared |User dev=mobile age:3\nccb action | red\nccb action |B x:2 |C y\nccb slot |S s", ["a"]
    )
    assert found.context == {"dev": "mobile", "age": 3.0}
    assert [(action.action_id, dict(action.features)) for action in found.candidates] == [
        ("0", {"red": 1.0}),
        ("1", {"x": 2.0, "y": 1.0}),
    ]
