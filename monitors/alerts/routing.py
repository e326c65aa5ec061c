"""Which event goes to which sink, and which is a repetition."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from featuredsl.errors import InputError
from monitors.alerts.messages import kind
from monitors.rules import SEVERITIES

_RANKS: dict[object, int] = {None: 0} | dict(zip(SEVERITIES, (1, 2, 3), strict=True))


@dataclass(frozen=True, slots=True)
class Route:
    """Events of at least `min_severity` whose model, feature and check match go to `sink`; patterns are globs."""

    sink: str
    min_severity: str | None = None
    model: str = "*"
    feature: str = "*"
    check: str = "*"
    triggers: bool = True

    def __post_init__(self) -> None:
        if self.min_severity not in _RANKS:
            msg = f"unknown severity {self.min_severity!r} of a route; severities are {', '.join(SEVERITIES)}"
            raise InputError(msg)

    def takes(self, event: Mapping[str, Any]) -> bool:
        """Whether the event goes this way."""
        if kind(event) == "trigger":
            return self.triggers and fnmatchcase(str(event["model"]), self.model)
        data = event["data"]
        names = ("model", "feature", "check")
        if not all(fnmatchcase(str(data.get(name) or ""), getattr(self, name)) for name in names):
            return False
        return _RANKS.get(data.get("severity"), 0) >= _RANKS[self.min_severity]


@dataclass(slots=True)
class Throttle:
    """Tells news from repetitions: equal (source, id) never pass twice; updates pass only when they are news.

    An update is news when the severity has risen, or `reminder_hours` of event time after the last one told.
    Keeps the newest `capacity` ids.
    """

    reminder_hours: int = 6
    capacity: int = 100_000
    _seen: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict)
    _told: dict[str, tuple[int, int]] = field(default_factory=dict)

    def passes(self, event: Mapping[str, Any]) -> bool:
        """Whether to deliver the event; remembers it."""
        name = _name(event)
        if name in self._seen:
            return False
        self._seen[name] = None
        if len(self._seen) > self.capacity:
            self._seen.popitem(last=False)
        return kind(event) == "trigger" or self._is_news(event)

    def _is_news(self, event: Mapping[str, Any]) -> bool:
        data = event["data"]
        key = str(data["dedup_key"])
        rank, hours = _RANKS.get(data.get("severity"), 0), int(data.get("duration_hours") or 0)
        if kind(event) in ("resolved", "retracted"):
            self._told.pop(key, None)
            return True
        told = self._told.get(key)
        if kind(event) == "update" and told and rank <= told[0] and hours < told[1] + self.reminder_hours:
            return False
        self._told[key] = (max(rank, told[0] if told else 0), hours)
        return True


def _name(event: Mapping[str, Any]) -> tuple[str, str]:
    if kind(event) == "trigger":
        return "trigger", str(event["trigger_id"])
    return str(event["source"]), str(event["id"])


def sample_event() -> dict[str, Any]:
    """An event that shows whether alerts arrive; it is marked as a test and belongs to no model."""
    return {
        "specversion": "1.0",
        "id": "test",
        "source": "featuredsl/test",
        "type": "featuredsl.drift.firing",
        "subject": "test/*/test",
        "data": {
            "dedup_key": "test",
            "model": "test",
            "feature": "test",
            "check": "test",
            "severity": "warning",
            "threshold_reason": "this is a test: alerts arrive",
        },
    }
