"""Durations and times. Inside featuredsl a time is an int: microseconds since the Unix epoch, UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from operator import index

from featuredsl.errors import InputError

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

TimeRange = tuple[str, str] | None
"""The first and the last year of times that are believed; None believes all."""
LIKELY_YEARS = ("1980", "2100")
TIME_RANGE: TimeRange = LIKELY_YEARS

UNIT_US: dict[str, int] = {"s": SECOND, "ms": 1_000, "us": 1}

ASKED_YEARS = ("1000", "9000")
"""Times that a command takes: any window around them can still be written as a date."""

_UNITS = {"us": 1, "ms": 1_000, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_TERM = re.compile(r"(\d+)\s*(us|ms|s|m|h|d|w)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str | int) -> int:
    """Microseconds of a duration such as `"1h"` or `"3h 20m"` (an int is taken as microseconds).

    >>> parse_duration("1h 30m") == 90 * MINUTE
    True
    """
    if isinstance(text, int):
        if text <= 0:
            raise InputError(f"{text!r} is not a positive duration; write it like '30s', '5m', '1h' or '7d'")
        if text < SECOND:
            raise InputError(f"{text!r} would be microseconds; write a duration like '30s', '5m', '1h' or '7d'")
        return text
    if not isinstance(text, str):
        raise InputError(f"{text!r} is not a duration; write it like '30s', '5m', '1h' or '7d'")
    rest = text.strip()
    total, position = 0, 0
    while position < len(rest):
        match = _TERM.match(rest, position)
        if match is None:
            raise InputError(f"{text!r} is not a duration; write it like '30s', '5m', '1h', '7d' or '3h 20m'")
        total += int(match[1]) * _UNITS[match[2]]
        position = match.end()
        while position < len(rest) and rest[position] == " ":
            position += 1
    if total <= 0:
        raise InputError(f"{text!r} is not a positive duration; write it like '30s', '5m', '1h' or '7d'")
    return total


def format_duration(us: int) -> str:
    """The shortest spelling of a duration: `format_duration(3_600_000_000) == "1h"`."""
    for name in ("d", "h", "m", "s", "ms"):
        if us and us % _UNITS[name] == 0:
            return f"{us // _UNITS[name]}{name}"
    return f"{us}us"


def floor(us: int, step_us: int) -> int:
    """The latest multiple of `step_us` that is not after `us` (also before 1970)."""
    return us - us % step_us


def from_datetime(value: datetime, what: str = "time") -> int:
    """Microseconds of an aware datetime; a naive one is an `InputError`."""
    if value.tzinfo is None:
        raise InputError(f"{what} {value.isoformat()} has no zone; add one, for example a final 'Z'")
    return (value - _EPOCH) // timedelta(microseconds=1)


def parse_time(value: str | int, unit: str = "ms", what: str = "time") -> int:
    """Microseconds of an ISO 8601 time with a zone, or of an integer (or its decimal text) in `unit`."""
    if isinstance(value, int):
        return value * UNIT_US[unit]
    text = value.strip()
    if re.fullmatch(r"[+-]?\d{6,}", text):
        return int(text) * UNIT_US[unit]
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{what} {value!r} is neither ISO 8601 with a zone (2026-01-02T03:04:05Z) nor an integer in {unit}"
        ) from None
    return from_datetime(parsed, what)


def asked_time(text: str, unit: str, what: str) -> int:
    """`parse_time` for an option of a command. Raises InputError outside of `ASKED_YEARS`, and for an integer that is a
    likely time in another unit only, which it names."""
    us = parse_time(text, unit, what)
    low, high = range_us(ASKED_YEARS)
    is_asked = low <= us <= high
    number = us // UNIT_US[unit]
    is_number = re.fullmatch(r"[+-]?\d+", text.strip()) is not None
    fitting = fitting_unit(number, LIKELY_YEARS) if is_number or not is_asked else None
    if is_asked and fitting in (None, unit):
        return us
    hint = f"; in {fitting!r} it would be {format_time(number * UNIT_US[fitting])}" if fitting else ""
    where = format_time(us) if is_asked else "not within the years 1000 to 9000"
    raise InputError(f"{what} {text!r} is {where} (integers are in {unit}){hint}")


def asked_us(at_us: int) -> int:
    """The time of a read. Raises InputError for what is no integer, and for a likely time in another unit only."""
    if type(at_us) is int and _is_likely(at_us):
        return at_us
    try:
        us = index(at_us)
    except TypeError:
        raise InputError(f"at_us is {at_us!r}; it is an integer in microseconds: time.time_ns() // 1000") from None
    fitting = "ns" if _is_likely(us // 1_000) else fitting_unit(us, LIKELY_YEARS)
    if fitting in ("us", None):
        return us
    raise InputError(f"at_us is {us}, a likely time in {fitting!r}; it is in microseconds: time.time_ns() // 1000")


def _is_likely(us: int) -> bool:
    return _LIKELY_US[0] <= us <= _LIKELY_US[1]


def format_time(us: int) -> str:
    """ISO 8601 in UTC with microseconds: `format_time(0) == "1970-01-01T00:00:00.000000Z"`."""
    moment = _EPOCH + timedelta(microseconds=us)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def range_us(time_range: tuple[str, str]) -> tuple[int, int]:
    """The first and the last microsecond of a range of years."""
    low, high = (parse_time(f"{year:04}-01-01T00:00:00Z") for year in (int(time_range[0]), int(time_range[1]) + 1))
    return low, high - 1


def fitting_unit(value: int, time_range: tuple[str, str]) -> str | None:
    """The unit in which an integer is a time of the range, or None."""
    low, high = range_us(time_range)
    return next((unit for unit, us in UNIT_US.items() if low <= value * us <= high), None)


_LIKELY_US = range_us(LIKELY_YEARS)
