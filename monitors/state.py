"""State of the monitor of one model, and its versioned JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from featuredsl.errors import StateError
from monitors.incidents import Incident
from monitors.reference import Reference
from monitors.retrain import Guard, Run

STATE_VERSION = 1
Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SeriesState:
    """One series: hours collected until `baseline_to_us`, then the frozen reference and what followed."""

    baseline_from_us: int
    baseline_to_us: int
    hours: Mapping[int, Counts] = field(default_factory=dict)
    reference: Reference | None = None
    history: tuple[float, ...] = ()
    incidents: Mapping[str, Incident] = field(default_factory=dict)
    run: Run = field(default_factory=Run)
    absent: int = 0
    last_us: int = 0


@dataclass(frozen=True, slots=True)
class ModelState:
    """All series of a model by (name, version), the retrain guard, and hours without any row."""

    series: Mapping[tuple[str, str], SeriesState] = field(default_factory=dict)
    guard: Guard = field(default_factory=Guard)
    hour_us: int = 0
    idle: int = 0


def dumps(state: ModelState) -> bytes:
    """The state as bytes; the first field is the version."""
    series = [[name, version, _series(one)] for (name, version), one in sorted(state.series.items())]
    body = {
        "version": STATE_VERSION,
        "series": series,
        "guard": state.guard,
        "hour_us": state.hour_us,
        "idle": state.idle,
    }
    return orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS)


def loads(data: bytes | None) -> ModelState:
    """The state of `dumps`; None is the empty state. Raises StateError on another version or on damage."""
    if data is None:
        return ModelState()
    try:
        body = orjson.loads(data)
        version = body.get("version")
        if version != STATE_VERSION:
            msg = f"monitor state has version {version!r}; this release reads {STATE_VERSION}"
            raise StateError(msg)
        series = {(name, version): _parse_series(one) for name, version, one in body["series"]}
        guard = Guard(body["guard"]["last_accepted_us"], tuple(body["guard"]["seen"]))
        return ModelState(series, guard, body["hour_us"], body["idle"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        msg = f"monitor state cannot be read: {error}"
        raise StateError(msg) from error


def _series(state: SeriesState) -> dict[str, Any]:
    return {
        "from": state.baseline_from_us,
        "to": state.baseline_to_us,
        "hours": dict(state.hours),
        "reference": state.reference,
        "history": state.history,
        "incidents": dict(state.incidents),
        "run": state.run,
        "absent": state.absent,
        "last_us": state.last_us,
    }


def _parse_series(body: Mapping[str, Any]) -> SeriesState:
    kept = body["reference"]
    reference = None
    if kept is not None:
        seasons = {int(hour): counts for hour, counts in kept["seasons"].items()}
        reference = Reference(**{**kept, "seasons": seasons})
    return SeriesState(
        baseline_from_us=body["from"],
        baseline_to_us=body["to"],
        hours={int(start): counts for start, counts in body["hours"].items()},
        reference=reference,
        history=tuple(body["history"]),
        incidents={name: Incident(**one) for name, one in body["incidents"].items()},
        run=Run(tuple(body["run"]["breached"]), body["run"]["asked"]),
        absent=body["absent"],
        last_us=body["last_us"],
    )
