"""Strict parsing: what is refused, under which reason code."""

from __future__ import annotations

import pytest

from schemas import records, topics
from schemas.records import RecordError

TS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (None, "null_value"),
        (b"", "bad_json"),
        (b"{", "bad_json"),
        (b"{} {}", "bad_json"),
        (b"{'a': 1}", "bad_json"),
        (b'{"a": 01}', "bad_json"),
        (b"[]", "not_object"),
        (b'"x"', "not_object"),
        (b"null", "not_object"),
        (b"\xff\xfe", "bad_utf8"),
        (b'{"a": "\\ud800"}', "bad_utf8"),
        (b'{"a": NaN}', "not_finite"),
        (b'{"a": -Infinity}', "not_finite"),
        (b'{"a": 1e400}', "not_finite"),
        (b'{"a": 9223372036854775808}', "out_of_range"),
        (b'{"a": 1, "a": 2}', "duplicate_key"),
        (b'{"x": {"a": 1, "a": 1}}', "duplicate_key"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "too_deep"),
        (b'{"a":' * 100_000, "too_deep"),
        (b'"' + b"a" * records.MAX_BYTES, "too_large"),
    ],
)
def test_parse_refuses(payload: bytes | None, reason: str) -> None:
    with pytest.raises(RecordError) as caught:
        records.parse(payload)
    assert caught.value.reason == reason
    assert reason in records.PARSE_REASONS


def test_parse_keeps_what_is_good() -> None:
    nested = b'{"a":' * 64 + b"1" + b"}" * 64
    assert records.parse(nested)
    assert records.parse('{"é": "\\ud83d\\ude00", "n": 9223372036854775807}'.encode()) == {
        "é": "😀",
        "n": 2**63 - 1,
    }


@pytest.mark.parametrize(
    ("value", "micros"),
    [
        (TS, TS * 1000),
        ("2023-11-14T22:13:20Z", TS * 1000),
        ("2023-11-14T23:13:20.000001+01:00", TS * 1000 + 1),
        (315_532_800_000, 315_532_800_000_000),
    ],
)
def test_times(value: object, micros: int) -> None:
    assert records.event_time_us(value) == micros


@pytest.mark.parametrize("value", [1_700_000_000, TS * 1000, "2023-11-14T22:13:20", "soon", True, 1.5, None, -1])
def test_times_refused(value: object) -> None:
    with pytest.raises(RecordError) as caught:
        records.event_time_us(value)
    assert caught.value.reason == "bad_time"


def test_a_time_in_another_unit_is_named() -> None:
    with pytest.raises(RecordError, match="would fit as seconds"):
        records.event_time_us(1_700_000_000)


def test_every_topic_has_a_schema_with_its_key() -> None:
    assert set(topics.KEYS) == set(topics.ALL)
    for name, kind in topics.KINDS.items():
        schema = records.schema(kind)
        assert schema["$id"] == f"urn:featuredsl:event:{kind}:1"
        assert topics.KEYS[name][0] in schema["required"]


def test_extra_fields_are_allowed_and_missing_ones_are_not() -> None:
    records.validate("click", {"event_id": "e", "slot_id": "1", "ts": TS, "tenant": "t", "anything": [1]})
    with pytest.raises(RecordError, match=r"missing_field: .*slot_id"):
        records.validate("click", {"event_id": "e", "ts": TS})


def test_unknown_kind_names_the_kinds() -> None:
    with pytest.raises(ValueError, match="kinds: activation, auction"):
        records.schema("nothing")


def test_topic_names() -> None:
    assert topics.topic("p.", topics.CLICKS) == "p.clicks"
    assert topics.dead_letter("p.clicks") == "p.clicks.dlq"
    with pytest.raises(ValueError, match="known topics: impressions"):
        topics.topic("", "nope")
