"""Kafka payloads to typed rows of a source: rules and reason codes of the Flink format `featuredsl-json`.

Pure: no engine, no client, no clock.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from featuredsl.dtypes import ELEMENTS, DType
from featuredsl.sources import EventSource
from featuredsl.times import UNIT_US, floor
from featuredsl.values import Value
from schemas.records import PARSE_REASONS, RecordError, is_heartbeat, parse

REASONS: tuple[str, ...] = tuple(dict.fromkeys((*PARSE_REASONS, "missing_field", "bad_type", "bad_time")))
"""Every reason for which a record is not landed."""

_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}(:\d{2})?)", re.IGNORECASE | re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT64 = (-(1 << 63), (1 << 63) - 1)


@dataclass(frozen=True, slots=True)
class Decoded:
    """One record: a row (`reject` None, `heartbeat` False), a heartbeat, or a refusal with its reason."""

    values: tuple[Value, ...]
    ts_us: int | None = None
    arrival_us: int | None = None
    heartbeat: bool = False
    reject: str | None = None
    detail: str | None = None


def decode(source: EventSource, payload: bytes | None) -> Decoded:
    """One payload as the columns of `source`, in schema order; never raises for bad input.

    An absent or null column is null. Of several problems the first in the record counts.
    """
    nothing: tuple[Value, ...] = (None,) * len(source.columns)
    try:
        record = parse(payload)
        if is_heartbeat(record):
            return Decoded(nothing, _heartbeat_time(source, record), heartbeat=True)
        cells: dict[str, Value] = {}
        times: dict[str, int] = {}
        for name, value in record.items():
            if name in source.time_columns.values() and value is not None:
                times[name] = _time(source, value, name)
            elif dtype := source.dtype(name):
                cells[name] = _cell(value, dtype, name)
        ts_us, arrival_us = _times(source, times)
        return Decoded(tuple(cells.get(name) for name in source.column_names), ts_us, arrival_us)
    except RecordError as error:
        return Decoded(nothing, reject=error.reason, detail=error.detail)


def decode_all(source: EventSource, payloads: Iterable[bytes | None]) -> list[Decoded]:
    """`decode` over many payloads, in order."""
    return [decode(source, payload) for payload in payloads]


def _cell(value: object, dtype: DType, name: str) -> Value:
    if value is None:
        return None
    if dtype in ELEMENTS:
        return _array(value, dtype, name)
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


def _array(value: object, dtype: DType, name: str) -> list[Value]:
    element = ELEMENTS[dtype]
    if not isinstance(value, list) or any(item is None or isinstance(item, dict | list) for item in value):
        raise _bad_type(value, dtype, name)
    return [_cell(item, element, name) for item in value]


def _text(value: object, name: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    raise _bad_type(value, "str", name)


def _bad_type(value: object, dtype: str, name: str) -> RecordError:
    found = json.dumps(value, ensure_ascii=False)[:64]
    return RecordError("bad_type", f"field {name!r} is {found}; the column is {dtype}")


def _times(source: EventSource, times: dict[str, int]) -> tuple[int, int | None]:
    """The event time, and the arrival in the resolution of the unit."""
    for name in source.time_columns.values():
        if name not in times:
            raise _no_time(name, "event" if name == source.event_time else "arrival")
    arrival = None if source.arrival_time is None else floor(times[source.arrival_time], UNIT_US[source.time_unit])
    return times[source.event_time], arrival


def _heartbeat_time(source: EventSource, record: dict[str, object]) -> int:
    """By the source's own field, else by `ts` in milliseconds: who sends it need not know the source."""
    value = record.get(source.event_time)
    if value is not None:
        return _time(source, value, source.event_time)
    value = record.get("ts")
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _no_time(source.event_time, "event")
    return _time(source, value, "ts", "ms")


def _no_time(field: str, kind: str) -> RecordError:
    return RecordError("missing_field", f"field {field!r} ({kind} time) is missing or null")


def _time(source: EventSource, value: object, name: str, unit: str = "") -> int:
    unit = unit or source.time_unit
    micros = _iso_us(value, name) if isinstance(value, str) else _epoch_us(value, unit, name)
    low, high = _time_range(source.time_range)
    if not low <= micros <= high:
        span = " to ".join(source.time_range or ("-2^63", "2^63 us"))
        raise RecordError("bad_time", f"{name!r} is {value!r}, outside {span} as {unit}")
    return micros


def _epoch_us(value: object, unit: str, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError("bad_time", f"{name!r} is {json.dumps(value)[:64]}; a time is an integer or ISO 8601")
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        raise RecordError("bad_time", f"{name!r} is {value}; a numeric time is a whole number of {unit}")
    return int(value) * UNIT_US[unit]


def _iso_us(value: str, name: str) -> int:
    try:
        if not _ISO.fullmatch(value):
            raise ValueError(value)
        return (datetime.fromisoformat(value.upper()) - _EPOCH) // timedelta(microseconds=1)
    except ValueError:
        found = value[:64]
        raise RecordError("bad_time", f"{name!r} is {found!r}, not ISO 8601 with a zone") from None


@lru_cache(maxsize=64)
def _time_range(time_range: tuple[str, str] | None) -> tuple[int, int]:
    if time_range is None:
        return _INT64
    low, high = (datetime(int(year), 1, 1, tzinfo=UTC) for year in time_range)
    last = datetime(high.year, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    return (low - _EPOCH) // timedelta(microseconds=1), (last - _EPOCH) // timedelta(microseconds=1)
