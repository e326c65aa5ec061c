"""Kafka payloads to typed rows of a source: rules and reason codes of the Flink format `featuredsl-json`.

Pure: no engine, no client, no clock.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from featuredsl.dtypes import DType
from featuredsl.sources import EventSource
from featuredsl.times import UNIT_US
from schemas.records import PARSE_REASONS, RecordError, is_heartbeat, parse

REASONS: tuple[str, ...] = tuple(dict.fromkeys((*PARSE_REASONS, "missing_field", "bad_type", "bad_time")))
"""Every reason for which a record is not landed."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT64 = (-(1 << 63), (1 << 63) - 1)

Cell = int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class Decoded:
    """One record: a row (`reject` None, `heartbeat` False), a heartbeat, or a refusal with its reason."""

    values: tuple[Cell, ...]
    ts_us: int | None = None
    heartbeat: bool = False
    reject: str | None = None
    detail: str | None = None


def decode(source: EventSource, payload: bytes | None) -> Decoded:
    """One payload as the columns of `source`, in schema order; never raises for bad input.

    An absent or null column is null. Times are microseconds UTC.
    """
    empty: tuple[Cell, ...] = (None,) * len(source.columns)
    try:
        record = parse(payload)
        ts_us = _event_time(source, record)
        if is_heartbeat(record):
            return Decoded(empty, ts_us, heartbeat=True)
        return Decoded(tuple(_cell(record.get(n), dtype, n) for n, dtype in source.columns), ts_us)
    except RecordError as error:
        return Decoded(empty, reject=error.reason, detail=error.detail)


def decode_all(source: EventSource, payloads: Iterable[bytes | None]) -> list[Decoded]:
    """`decode` over many payloads, in order."""
    return [decode(source, payload) for payload in payloads]


def _cell(value: object, dtype: DType, name: str) -> Cell:
    if value is None:
        return None
    if dtype == "str":
        return _text(value, name)
    if dtype == "bool" and isinstance(value, bool):
        return value
    if isinstance(value, bool) or dtype == "bool" or not isinstance(value, int | float):
        raise _bad_type(value, dtype, name)
    if dtype == "float":
        return float(value)
    if isinstance(value, float):
        raise _bad_type(value, dtype, name)
    return value


def _text(value: object, name: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    raise _bad_type(value, "str", name)


def _bad_type(value: object, dtype: str, name: str) -> RecordError:
    found = json.dumps(value, ensure_ascii=False)[:64]
    return RecordError("bad_type", f"field {name!r} is {found}; the column is {dtype}")


def _event_time(source: EventSource, record: dict[str, object]) -> int:
    name = source.event_time
    name = "ts" if is_heartbeat(record) and name not in record else name
    value = record.get(name)
    if value is None:
        raise RecordError("missing_field", f"no event time: field {name!r} is absent or null")
    micros = _iso_us(value, name) if isinstance(value, str) else _epoch_us(value, source.time_unit, name)
    low, high = _time_range(source.time_range)
    if not low <= micros <= high:
        span = " to ".join(source.time_range or ("-2^63", "2^63 us"))
        raise RecordError("bad_time", f"{name!r} is {value!r}, outside {span} as {source.time_unit}")
    return micros


def _epoch_us(value: object, unit: str, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError("bad_time", f"{name!r} is {json.dumps(value)[:64]}; a time is an integer or ISO 8601")
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        raise RecordError("bad_time", f"{name!r} is {value}; a numeric time is a whole number of {unit}")
    return int(value) * UNIT_US[unit]


def _iso_us(value: str, name: str) -> int:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise RecordError("bad_time", f"{name!r} is {value[:64]!r}, not ISO 8601") from None
    if moment.tzinfo is None:
        raise RecordError("bad_time", f"{name!r} is {value!r}, which has no zone")
    return (moment - _EPOCH) // timedelta(microseconds=1)


@lru_cache(maxsize=64)
def _time_range(time_range: tuple[str, str] | None) -> tuple[int, int]:
    if time_range is None:
        return _INT64
    low, high = (datetime(int(year), 1, 1, tzinfo=UTC) for year in time_range)
    last = datetime(high.year, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    return (low - _EPOCH) // timedelta(microseconds=1), (last - _EPOCH) // timedelta(microseconds=1)
