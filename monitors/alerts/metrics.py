"""Firing incidents and counts of events in Prometheus' text format, for the node exporter's textfile collector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from monitors.alerts.messages import kind


class AlertMetrics:
    """Follows events and renders what is true now."""

    def __init__(self) -> None:
        self._firing: dict[str, dict[str, str]] = {}
        self._values: dict[str, float] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, event: Mapping[str, Any]) -> None:
        """Take one event or trigger into account."""
        name = kind(event)
        if name == "trigger":
            self._counts["trigger", str(event["decision"])] += 1
            return
        data = event["data"]
        self._counts["event", name] += 1
        key = str(data["dedup_key"])
        if name in ("resolved", "retracted"):
            self._firing.pop(key, None)
            self._values.pop(key, None)
            return
        fields = ("model", "model_version", "feature", "check", "severity")
        self._firing[key] = {field: str(data.get(field) or "") for field in fields}
        if isinstance(data.get("value"), int | float):
            self._values[key] = float(data["value"])

    def render(self) -> str:
        """The metrics as text."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield "# TYPE featuredsl_drift_firing gauge"
        for key in sorted(self._firing):
            yield f"featuredsl_drift_firing{_labels(self._firing[key])} 1"
        yield "# TYPE featuredsl_drift_value gauge"
        for key in sorted(self._values):
            yield f"featuredsl_drift_value{_labels(self._firing[key])} {self._values[key]!r}"
        yield "# TYPE featuredsl_drift_events_total counter"
        for (group, name), count in sorted(self._counts.items()):
            if group == "event":
                yield f"featuredsl_drift_events_total{_labels({'kind': name})} {count}"
        yield "# TYPE featuredsl_retrain_triggers_total counter"
        for (group, name), count in sorted(self._counts.items()):
            if group == "trigger":
                yield f"featuredsl_retrain_triggers_total{_labels({'decision': name})} {count}"


def _labels(labels: Mapping[str, str]) -> str:
    parts = [f'{name}="{_escape(value)}"' for name, value in labels.items()]
    return "{" + ",".join(parts) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
