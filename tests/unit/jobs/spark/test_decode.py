"""Decoding of landed records: the shared vectors of the Flink format, and exact values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from featuredsl.sources import EventSource
from jobs.flink.heartbeats import heartbeat
from jobs.spark.decode import REASONS, decode

VECTORS = Path(__file__).parents[3] / "golden" / "records"
SCHEMA = {"u": str, "q": int, "x": float, "b": bool, "s": str, "o": str}
SOURCE = EventSource("events", event_time="ts", schema=SCHEMA)
TS = 1_700_000_000_000


def refused(name: str) -> list[Any]:
    """The vectors of a file, without those about a 32-bit or a required column, which a source lacks."""
    vectors = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    kept = []
    for vector in vectors:
        text = bytes.fromhex(vector["payload"] or "").decode("utf-8", "replace")
        required = vector["reason"] == "missing_field" and '"ts":1' in text
        if not required and '"i":' not in text:
            kept.append(pytest.param(vector, id=f"{vector['reason']}-{text[:30]}"))
    return kept


@pytest.mark.parametrize("vector", refused("bad_json") + refused("bad_columns"))
def test_refused_like_the_flink_format(vector: dict[str, Any]) -> None:
    payload = None if vector["payload"] is None else bytes.fromhex(vector["payload"])
    decoded = decode(SOURCE, payload)
    assert decoded.reject == vector["reason"]
    assert decoded.reject in REASONS


ARRAYS = EventSource("arrays", event_time="ts", schema={"i": list[int], "d": list[float], "w": list[str]})


@pytest.mark.parametrize("vector", json.loads((VECTORS / "bad_arrays.json").read_text()), ids=lambda v: v["fields"])
def test_arrays_are_refused_like_in_the_flink_format(vector: dict[str, str]) -> None:
    decoded = decode(ARRAYS, f'{{"ts": {TS}, {vector["fields"]}}}'.encode())
    assert decoded.reject == vector["reason"]


def test_arrays_are_exact() -> None:
    record = {"ts": TS, "i": [2**53 + 1, -(2**63)], "d": [0.1, 2], "w": ["日", 'a"]', ""]}
    decoded = decode(ARRAYS, json.dumps(record).encode())
    assert decoded.values == ([2**53 + 1, -(2**63)], [0.1, 2.0], ["日", 'a"]', ""])
    assert [type(item) for item in decoded.values[1] or ()] == [float, float]
    assert decode(ARRAYS, f'{{"ts": {TS}, "i": [], "d": null}}'.encode()).values == ([], None, None)


@pytest.mark.parametrize(
    ("fields", "column", "value"),
    [
        ({"q": 2**53 + 1}, "q", 2**53 + 1),
        ({"q": -(2**63)}, "q", -(2**63)),
        ({"x": 3}, "x", 3.0),
        ({"x": 0.1}, "x", 0.1),
        ({"b": False}, "b", False),
        ({"s": "a\u0000ü"}, "s", "a\u0000ü"),
        ({"o": {"a": [1, None]}}, "o", '{"a":[1,null]}'),
        ({"o": []}, "o", "[]"),
        ({"s": None}, "s", None),
        ({}, "s", None),
        ({"unknown": {"x": 1}}, "s", None),
    ],
)
def test_value_is_exact(fields: dict[str, Any], column: str, value: object) -> None:
    decoded = decode(SOURCE, json.dumps({"ts": TS} | fields, ensure_ascii=False).encode())
    assert decoded.reject is None
    assert decoded.ts_us == TS * 1000
    assert decoded.values[list(SCHEMA).index(column)] == value
    assert type(decoded.values[list(SCHEMA).index(column)]) is type(value)


@pytest.mark.parametrize(
    ("time", "us"),
    [
        (TS, TS * 1000),
        (1.7e12, TS * 1000),
        ("2023-11-14T22:13:20Z", TS * 1000),
        ("2023-11-14T22:13:20.000001999z", TS * 1000 + 1),
        ("2023-11-15T00:13+02:00", TS * 1000 - 20_000_000),
    ],
)
def test_time(time: object, us: int) -> None:
    assert decode(SOURCE, json.dumps({"ts": time}).encode()).ts_us == us


@pytest.mark.parametrize(
    "time", ["2023-11-14 22:13:20Z", "20231114T221320Z", "2023-11-14T22:13:20", "", "1700000000000"]
)
def test_time_is_refused(time: str) -> None:
    assert decode(SOURCE, json.dumps({"ts": time}).encode()).reject == "bad_time"


def test_time_units_and_no_range() -> None:
    source = EventSource("e", event_time="at", schema={"x": int}, time_unit="us", time_range=None)
    assert decode(source, b'{"at": -5, "x": 1}').ts_us == -5
    assert decode(source, b'{"at": 5, "x": 1}').values == (1,)


def test_heartbeat_has_a_time_and_no_values() -> None:
    decoded = decode(SOURCE, json.dumps({"heartbeat": True, "ts": TS, "q": 1}).encode())
    assert decoded.heartbeat
    assert decoded.ts_us == TS * 1000
    assert set(decoded.values) == {None}


def test_a_heartbeat_need_not_know_the_field_and_the_unit_of_the_source() -> None:
    source = EventSource("e", event_time="at", schema={"x": int}, time_unit="s")
    for record, ts_us in (
        ({"ts": TS}, TS * 1000),
        ({"ts": "2023-11-14T22:13:20Z"}, 1_700_000_000_000_000),
        ({"at": TS // 1000, "ts": 5}, TS // 1000 * 1_000_000),
    ):
        decoded = decode(source, json.dumps({"heartbeat": True, **record}).encode())
        assert (decoded.heartbeat, decoded.ts_us) == (True, ts_us)
    for record, reason in (({"ts": 5}, "bad_time"), ({"ts": 1.5}, "missing_field"), ({}, "missing_field")):
        assert decode(source, json.dumps({"heartbeat": True, **record}).encode()).reject == reason
    assert decode(source, json.dumps({"ts": TS, "x": 1}).encode()).reject == "missing_field"
    for schema in ({"ts": str}, {"ts": int}, {"ts": bool}):
        source = EventSource("e", event_time="at", schema=schema)
        decoded = decode(source, json.dumps({"heartbeat": True, "ts": TS}).encode())
        assert (decoded.heartbeat, decoded.ts_us, decoded.values) == (True, TS * 1000, (None,))
    assert decode(source, json.dumps({"heartbeat": True, "ts": TS, "at": "never"}).encode()).reject == "bad_time"


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("field", ["ts", "at"])
def test_the_heartbeats_of_the_command_are_for_every_source(unit: Any, field: str) -> None:
    source = EventSource("e", event_time=field, schema={"x": int}, time_unit=unit)
    decoded = decode(source, heartbeat(TS))
    assert (decoded.heartbeat, decoded.ts_us) == (True, TS * 1000)


def test_first_problem_in_the_record_counts() -> None:
    assert decode(SOURCE, b'{"q": "x", "ts": "never"}').reject == "bad_type"
    assert decode(SOURCE, b'{"ts": "never", "q": "x"}').reject == "bad_time"


def test_arrival_has_the_resolution_of_the_unit_and_must_be_there() -> None:
    source = EventSource("e", event_time="ts", schema={"x": int}, arrival_time="at")
    given = decode(source, json.dumps({"ts": TS, "at": "2023-11-14T22:13:20.123999Z", "x": 1}).encode())
    assert (given.ts_us, given.arrival_us, given.values) == (TS * 1000, TS * 1000 + 123_000, (1,))
    missing = decode(source, json.dumps({"ts": TS, "at": None}).encode())
    assert (missing.reject, missing.detail) == ("missing_field", "field 'at' (arrival time) is missing or null")
    assert decode(source, json.dumps({"ts": TS, "at": TS // 1000}).encode()).reject == "bad_time"
    assert decode(source, json.dumps({"ts": TS, "heartbeat": True}).encode()).heartbeat
