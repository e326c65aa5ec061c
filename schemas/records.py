"""Strict parsing and validation of event records, with stable reason codes.

`parse` turns bytes into one JSON object or raises `RecordError`; `validate` checks an object against the
JSON Schema of its kind (`schemas/events/<kind>.v<N>.json`) and its event time. Reason codes are part of the
contract of dead letters: they are added to, never renamed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any, NoReturn

import fastjsonschema

VERSION = 1
MAX_BYTES = 1 << 20
MAX_DEPTH = 64
TIME_RANGE_US = (315_532_800_000_000, 4_133_980_799_999_999)  # 1980-01-01 .. 2100-12-31, UTC
_INT64 = (-(1 << 63), (1 << 63) - 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RULES = {
    "required": "missing_field",
    "type": "bad_type",
    "minimum": "out_of_range",
    "maximum": "out_of_range",
    "exclusiveMinimum": "out_of_range",
    "exclusiveMaximum": "out_of_range",
    "minLength": "empty",
    "minItems": "empty",
    "maxLength": "too_large",
}

PARSE_REASONS = (
    "null_value",
    "too_large",
    "bad_utf8",
    "bad_json",
    "too_deep",
    "duplicate_key",
    "not_object",
    "out_of_range",
    "not_finite",
)
VALIDATE_REASONS = (
    "missing_field",
    "bad_type",
    "bad_time",
    "out_of_range",
    "empty",
    "too_large",
    "bad_value",
)


class RecordError(ValueError):
    """A record was refused: `reason` is a stable code, `detail` a sentence for people."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def parse(payload: bytes | None, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """One strict JSON object: UTF-8, no NaN/Infinity, no duplicate keys, 64-bit integers, bounded depth."""
    text = _decode(payload, max_bytes)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except RecursionError:
        _refuse("too_deep", f"nesting is deeper than {MAX_DEPTH}")
    except json.JSONDecodeError as error:
        _refuse("bad_json", f"{error.msg} at character {error.pos}")
    if not isinstance(value, dict):
        _refuse("not_object", f"a JSON object is needed, found {_json_type(value)}")
    if text.count("{") + text.count("[") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        _refuse("too_deep", f"nesting is deeper than {MAX_DEPTH}")
    if "\\u" in text:
        _check_surrogates(value)
    return value


def kinds() -> tuple[str, ...]:
    """All record kinds that have a schema."""
    names = (item.name for item in resources.files("schemas").joinpath("events").iterdir())
    return tuple(sorted({name.split(".")[0] for name in names if name.endswith(".json")}))


@cache
def schema(kind: str, version: int = VERSION) -> dict[str, Any]:
    """The JSON Schema of a record kind. Unknown kinds raise ValueError with those that exist."""
    path = resources.files("schemas").joinpath("events", f"{kind}.v{version}.json")
    if not path.is_file():
        msg = f"no schema for record kind {kind!r} version {version}; kinds: {', '.join(kinds())}"
        raise ValueError(msg)
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def validate(kind: str, record: dict[str, Any]) -> None:
    """Check an already parsed record of a kind; raises `RecordError`. Extra fields are allowed."""
    try:
        _compiled(kind)(record)
    except fastjsonschema.JsonSchemaValueException as error:
        reason = _RULES.get(str(error.rule), "bad_value")
        _refuse(reason, _relative(str(error.message)))
    if "ts" in record and record["ts"] is not None:
        event_time_us(record["ts"])


def read(kind: str, payload: bytes | None) -> dict[str, Any]:
    """`parse` then `validate`."""
    record = parse(payload)
    validate(kind, record)
    return record


def is_heartbeat(record: dict[str, Any]) -> bool:
    """True for `{"heartbeat": true, "ts": ...}`."""
    return record.get("heartbeat") is True


def event_time_us(value: object) -> int:
    """Epoch milliseconds or ISO 8601 with a zone -> microseconds UTC; else `RecordError` `bad_time`."""
    if isinstance(value, str):
        micros = _iso_us(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        micros = value * 1000
    elif isinstance(value, float) and value.is_integer():
        micros = int(value) * 1000
    else:
        _refuse("bad_time", f"a time is an integer or a text, found {_json_type(value)}")
    low, high = TIME_RANGE_US
    if not low <= micros <= high:
        _refuse("bad_time", f"{value} is outside 1980..2100 when read as milliseconds{_unit_hint(value)}")
    return micros


def _iso_us(value: str) -> int:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        _refuse("bad_time", f"{value[:64]!r} is not an ISO 8601 time")
    if moment.tzinfo is None:
        _refuse("bad_time", f"{value!r} has no zone; write Z or an offset such as +00:00")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _unit_hint(value: object) -> str:
    if not isinstance(value, int):
        return ""
    low, high = TIME_RANGE_US
    units = (("seconds", 1_000_000), ("microseconds", 1))
    fits = [name for name, factor in units if low <= value * factor <= high]
    return f"; it would fit as {fits[0]}" if fits else ""


@cache
def _compiled(kind: str) -> Callable[[dict[str, Any]], Any]:
    validator: Callable[[dict[str, Any]], Any] = fastjsonschema.compile(schema(kind))
    return validator


def _decode(payload: bytes | None, max_bytes: int) -> str:
    if payload is None:
        _refuse("null_value", "the record has no value")
    if len(payload) > max_bytes:
        _refuse("too_large", f"{len(payload)} bytes; the limit is {max_bytes}")
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse("bad_utf8", f"byte {error.start} is not UTF-8")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                _refuse("duplicate_key", f"key {key[:64]!r} appears twice in one object")
            seen.add(key)
    return record


def _constant(text: str) -> NoReturn:
    _refuse("not_finite", f"{text} is not JSON")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _refuse("not_finite", f"{text[:32]} does not fit a 64-bit float")
    return value


def _int(text: str) -> int:
    if len(text) > 20 or not _INT64[0] <= int(text) <= _INT64[1]:
        _refuse("out_of_range", f"{text[:32]} does not fit a 64-bit integer")
    return int(text)


def _depth(value: object) -> int:
    deepest, stack = 0, [(value, 1)]
    while stack:
        item, depth = stack.pop()
        children: Iterable[object] = ()
        if isinstance(item, dict):
            children = item.values()
        elif isinstance(item, list):
            children = item
        else:
            continue
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in children)
    return deepest


def _check_surrogates(value: dict[str, Any]) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        _refuse("bad_utf8", "an escaped character is half of a surrogate pair")


def _json_type(value: object) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _relative(message: str) -> str:
    return message.removeprefix("data.").removeprefix("data ")[:300]


def _refuse(reason: str, detail: str) -> NoReturn:
    raise RecordError(reason, detail)
