"""Drift events as CloudEvents 1.0 in strict JSON. Ids and keys depend on the event's content alone."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from featuredsl.times import format_time
from monitors.compare import Comparison, bin_rows
from monitors.incidents import RESOLVED, Change, Incident
from monitors.policy import HOUR_US
from monitors.rules import Verdict

SCHEMA_VERSION = 1
MAX_BINS = 64
METHOD = "log buckets 1 % wide; PSI on 10 frozen inverted-CDF bins, clip 0.001; version 1"


@dataclass(frozen=True, slots=True)
class Identity:
    """What an incident is about; every part goes into its dedupe key, and nothing else does."""

    model: str
    version: str
    feature: str
    check: str
    tenant: str = ""
    segment: str = ""

    @property
    def dedup_key(self) -> str:
        """The same for the whole life of an incident, and for its next one."""
        parts = [self.tenant, self.model, self.version, self.feature, self.segment, self.check]
        return _digest(parts)

    @property
    def subject(self) -> str:
        """`model/version/feature`; a version of `*` means that all versions share a baseline."""
        return f"{self.model}/{self.version}/{self.feature}"


@dataclass(frozen=True, slots=True)
class Scene:
    """The hour that an event tells about, and what goes into all of its events."""

    hour_us: int
    source: str
    links: Mapping[str, str] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
    co_moving: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The comparison behind a verdict, the reference's span and its variance factor."""

    found: Comparison
    from_us: int
    to_us: int
    numeric: bool
    dispersion: float


def event(identity: Identity, change: Change, scene: Scene, evidence: Evidence | None) -> dict[str, Any]:
    """The CloudEvent of one change of an incident."""
    data = _data(identity, change.kind, change.verdict, scene)
    data |= _incident(change, scene)
    if evidence is not None:
        data |= _evidence(evidence)
    return envelope(identity, change.kind, scene, data)


def nodata_event(identity: Identity, scene: Scene, since_us: int) -> dict[str, Any]:
    """The CloudEvent that says that a series has stopped."""
    verdict = Verdict(identity.check, "unknown", "critical", reason="no rows in consecutive hours")
    data = _data(identity, "nodata", verdict, scene)
    return envelope(identity, "nodata", scene, data | {"status": "no_data", "since": format_time(since_us)})


def envelope(identity: Identity, kind: str, scene: Scene, data: dict[str, Any]) -> dict[str, Any]:
    """The outer attributes; the id is a function of dedupe key, hour and revision."""
    revision = 1
    return {
        "specversion": "1.0",
        "id": _digest([identity.dedup_key, scene.hour_us, revision]),
        "source": scene.source,
        "type": f"featuredsl.drift.{kind}",
        "subject": identity.subject,
        "time": format_time(scene.hour_us + HOUR_US),
        "datacontenttype": "application/json",
        "data": strict({"schema_version": SCHEMA_VERSION, "revision": revision} | data),
    }


def strict(value: Any) -> Any:
    """The value with null for every number that JSON cannot hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): strict(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [strict(part) for part in value]
    return value


def _data(identity: Identity, kind: str, verdict: Verdict, scene: Scene) -> dict[str, Any]:
    return {
        "dedup_key": identity.dedup_key,
        "tenant": identity.tenant or None,
        "model": identity.model,
        "model_version": identity.version,
        "feature": identity.feature,
        "segment": identity.segment or None,
        "check": identity.check,
        "state": kind,
        "severity": verdict.severity,
        "value": verdict.value,
        "threshold": verdict.threshold,
        "threshold_reason": verdict.reason,
        "p_value": verdict.p_value,
        "lower": verdict.lower,
        "window_start": format_time(scene.hour_us),
        "window_end": format_time(scene.hour_us + HOUR_US),
        "traffic": dict(scene.summary),
        "co_moving": [name for name in scene.co_moving if name != identity.feature],
        "links": dict(scene.links),
        "method": METHOD,
    }


def _incident(change: Change, scene: Scene) -> dict[str, Any]:
    incident: Incident = change.incident
    return {
        "severity": change.verdict.severity or incident.severity,
        "first_breach": format_time(incident.since_us),
        "breached_hours": incident.breaches,
        "peak": incident.peak,
        "duration_hours": (scene.hour_us + HOUR_US - incident.since_us) // HOUR_US,
        "resolved": change.kind == RESOLVED,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    found = evidence.found
    statistics = found.as_dict()
    rows = bin_rows(found.table)
    for row, part in zip(rows, found.psi.contributions if found.psi else (), strict=False):
        row["psi"] = part
    largest = sorted(rows, key=lambda row: -row.get("psi", 0.0))[:3]
    return {
        "status": found.status,
        "n_baseline": statistics["n_baseline"],
        "m_current": statistics["n_current"],
        "m_eff": statistics["n_current"] / evidence.dispersion,
        "dispersion": evidence.dispersion,
        "missing_rate": statistics["missing_rate"],
        "inf_rate": statistics["inf_rate"],
        "new_category_rate": statistics["new_category_rate"],
        "psi": statistics["psi"],
        "ks": statistics["ks"],
        "wasserstein": statistics["wasserstein"],
        "chi2": statistics["chi2"],
        "bins": rows[:MAX_BINS],
        "top_contributors": largest,
        "baseline": {
            "id": _digest([evidence.from_us, evidence.to_us, evidence.numeric])[:16],
            "from": format_time(evidence.from_us),
            "to": format_time(evidence.to_us),
        },
    }


def _digest(parts: Sequence[object]) -> str:
    text = json.dumps(list(parts), separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
