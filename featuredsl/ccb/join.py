"""The join of impressions with what followed them, in memory: the meaning of `featuredsl ccb join`.

Identity: impressions = examples + duplicates + inactive + rejected["impressions"].
"""

from __future__ import annotations

import base64
import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from featuredsl.ccb.attribution import Click, Evidence, JoinConfig, build_example, in_window, is_clicked
from featuredsl.ccb.types import Example, Features, Impression
from featuredsl.ccb.validate import read_impression
from schemas.records import MAX_BYTES, RecordError, event_time_us, is_heartbeat, parse, validate
from schemas.topics import ACTIVATIONS, AUCTIONS, CATALOG, CLICKS, IMPRESSIONS, KINDS

T = TypeVar("T")

IN_WINDOW = "in_window"
LATE = "late_clicks"
EARLY = "early_clicks"
ORPHAN = "orphan_clicks"


@dataclass(frozen=True, slots=True)
class Line:
    """One record as it was found: where (a topic or file, a partition, an offset or line) and its bytes."""

    source: str
    offset: int
    payload: bytes | None
    partition: int = 0


@dataclass(frozen=True, slots=True)
class JoinInput:
    """Lines of each input; those not given are empty."""

    impressions: Iterable[Line]
    clicks: Iterable[Line] = ()
    catalog: Iterable[Line] = ()
    auctions: Iterable[Line] = ()
    activations: Iterable[Line] = ()


@dataclass(slots=True)
class JoinResult:
    """Examples by decision time, dead letters, late clicks, and the counts of contract."""

    examples: list[Example] = field(default_factory=list)
    dead_letters: list[dict[str, Any]] = field(default_factory=list)
    late_clicks: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    rejected_by: Counter[str] = field(default_factory=Counter)

    def summary(self) -> dict[str, Any]:
        """Counts as JSON."""
        names = (
            "impressions",
            "examples",
            "clicked",
            "duplicates",
            "late_clicks",
            "orphan_clicks",
            "rejected",
        )
        more = ("inactive", "clicks", "duplicate_clicks", "early_clicks")
        return {**{name: self.counts[name] for name in names + more}, "rejected_by": dict(self.rejected_by)}

    def reject(self, line: Line, error: RecordError) -> None:
        """Keep a refused line as a dead letter."""
        self.counts["rejected"] += 1
        self.dead_letters.append(dead_letter(line, error))


@dataclass(frozen=True, slots=True)
class _Decision:
    impression: Impression
    line: Line


def join(inputs: JoinInput, config: JoinConfig) -> JoinResult:
    """One example for each distinct valid decision, with everything that is not one counted or kept."""
    result = JoinResult()
    decisions = _decisions(inputs.impressions, result)
    clicks = _clicks(inputs.clicks, decisions, config, result)
    catalog = _Catalog(_records(CATALOG, inputs.catalog, result))
    auctions = _earliest(_records(AUCTIONS, inputs.auctions, result), decisions, config)
    activations = _activations(_records(ACTIVATIONS, inputs.activations, result), decisions, config)
    for event_id, decision in decisions.items():
        evidence = Evidence(
            clicks=tuple(clicks.get(event_id, ())),
            auction=auctions.get(event_id),
            catalog=catalog.as_of(decision.impression),
            activation_us=activations.get(event_id),
        )
        _finish(decision, evidence, config, result)
    return result


def dead_letter(line: Line, error: RecordError) -> dict[str, Any]:
    """The record of a refused line (contract: dead letter)."""
    payload = line.payload
    return {
        "topic": line.source,
        "partition": line.partition,
        "offset": line.offset,
        "ts": None,
        "reason": error.reason,
        "detail": error.detail,
        "payload": None if payload is None else base64.b64encode(payload[:MAX_BYTES]).decode("ascii"),
        "sha256": None if payload is None else hashlib.sha256(payload).hexdigest(),
    }


def _finish(decision: _Decision, evidence: Evidence, config: JoinConfig, result: JoinResult) -> None:
    try:
        example = build_example(decision.impression, evidence, config)
    except RecordError as error:
        result.reject(decision.line, error)
        result.rejected_by[IMPRESSIONS] += 1
        return
    if example is None:
        result.counts["inactive"] += 1
        return
    result.counts["examples"] += 1
    result.counts["clicked"] += is_clicked(example)
    result.examples.append(example)


def _decisions(lines: Iterable[Line], result: JoinResult) -> dict[str, _Decision]:
    """Valid impressions by event id, the first by (time, line) of each, in that order."""
    found = [_Decision(item, line) for line, item in _read(IMPRESSIONS, lines, read_impression, result)]
    found.sort(key=lambda decision: decision.impression.ts_us)
    decisions: dict[str, _Decision] = {}
    for decision in found:
        if decisions.setdefault(decision.impression.event_id, decision) is not decision:
            result.counts["duplicates"] += 1
    return decisions


def _clicks(
    lines: Iterable[Line], decisions: Mapping[str, _Decision], config: JoinConfig, result: JoinResult
) -> dict[str, list[Click]]:
    """Distinct clicks in the window by event id; late, early and orphan ones are counted."""
    clicks: dict[str, list[Click]] = {}
    seen: set[tuple[str, Click]] = set()
    for _, record in _records(CLICKS, lines, result):
        value = record.get("value")
        click = Click(record["slot_id"], event_time_us(record["ts"]), None if value is None else float(value))
        event_id = record["event_id"]
        if (event_id, click) in seen:
            result.counts["duplicate_clicks"] += 1
            continue
        seen.add((event_id, click))
        fate = click_fate(decisions.get(event_id), click, config)
        if fate == IN_WINDOW:
            clicks.setdefault(event_id, []).append(click)
            continue
        result.counts[fate] += 1
        if fate == LATE:
            result.late_clicks.append(_late_click(decisions[event_id].impression, click))
    return clicks


def click_fate(decision: _Decision | None, click: Click, config: JoinConfig) -> str:
    """Where a click belongs: its decision's window, or the count that it adds to."""
    if decision is None:
        return ORPHAN
    delay = click.ts_us - decision.impression.ts_us
    if delay < 0:
        return EARLY
    if delay > config.window_us:
        return LATE if delay <= config.window_us + config.late_us else ORPHAN
    known = any(slot.slot_id == click.slot_id for slot in decision.impression.request.slots)
    return IN_WINDOW if known else ORPHAN


def _late_click(impression: Impression, click: Click) -> dict[str, Any]:
    return {
        "event_id": impression.event_id,
        "slot_id": click.slot_id,
        "ts": click.ts_us // 1000,
        "value": click.value,
        "impression_ts": impression.ts_us // 1000,
        "delay_ms": (click.ts_us - impression.ts_us) // 1000,
        "reason": "late_click",
    }


def _earliest(
    records: Iterable[tuple[Line, dict[str, Any]]], decisions: Mapping[str, _Decision], config: JoinConfig
) -> dict[str, dict[str, Any]]:
    """The first auction record of each decision, at most one window away from it."""
    best: dict[str, tuple[int, dict[str, Any]]] = {}
    for _, record in records:
        event_id, ts_us = record["event_id"], event_time_us(record["ts"])
        decision = decisions.get(event_id)
        if decision is None or abs(ts_us - decision.impression.ts_us) > config.window_us:
            continue
        if event_id not in best or ts_us < best[event_id][0]:
            best[event_id] = (ts_us, record)
    return {event_id: record for event_id, (_, record) in best.items()}


def _activations(
    records: Iterable[tuple[Line, dict[str, Any]]], decisions: Mapping[str, _Decision], config: JoinConfig
) -> dict[str, int]:
    """The first activation in the window of each decision."""
    best: dict[str, int] = {}
    for _, record in records:
        event_id, ts_us = record["event_id"], event_time_us(record["ts"])
        decision = decisions.get(event_id)
        if decision is not None and in_window(decision.impression.ts_us, ts_us, config.window_us):
            best[event_id] = min(ts_us, best.get(event_id, ts_us))
    return best


class _Catalog:
    """Versions of item features by time; among equal times the later line wins."""

    def __init__(self, records: Iterable[tuple[Line, dict[str, Any]]]) -> None:
        versions: dict[str, list[tuple[int, Features | None]]] = {}
        for _, record in records:
            entry = (event_time_us(record["ts"]), record.get("features"))
            versions.setdefault(record["action_id"], []).append(entry)
        for entries in versions.values():
            entries.sort(key=_time)
        self._versions = versions

    def as_of(self, impression: Impression) -> dict[str, Features]:
        """Features of the impression's candidates at its time; deleted and unknown items are left out."""
        found: dict[str, Features] = {}
        for action in impression.request.candidates:
            entries = self._versions.get(action.action_id, [])
            at = bisect_right(entries, impression.ts_us, key=_time)
            features = entries[at - 1][1] if at else None
            if features:
                found[action.action_id] = features
        return found


def _time(entry: tuple[int, Features | None]) -> int:
    return entry[0]


def _records(name: str, lines: Iterable[Line], result: JoinResult) -> Iterator[tuple[Line, dict[str, Any]]]:
    def check(record: dict[str, Any]) -> dict[str, Any]:
        validate(KINDS[name], record)
        return record

    return _read(name, lines, check, result)


def _read(
    name: str, lines: Iterable[Line], check: Callable[[dict[str, Any]], T], result: JoinResult
) -> Iterator[tuple[Line, T]]:
    """Lines that pass `check`; the others are kept as dead letters. Heartbeats are not counted."""
    for line in lines:
        try:
            record = parse(line.payload)
            if is_heartbeat(record):
                continue
            checked = check(record)
        except RecordError as error:
            result.rejected_by[name] += 1
            result.reject(line, error)
        else:
            yield line, checked
        result.counts[name] += 1
