"""A seeded stream of decisions with everything that goes wrong, and what must come of it, by brute force."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
WINDOW = 30 * MINUTE
LATE = 24 * HOUR
SPAN = 2 * HOUR
ITEMS = [f"item {number}" for number in range(12)]
Record = dict[str, Any]


@dataclass
class Scenario:
    """Payloads by topic in the order of sending, each with the time at which it is sent; and the truth."""

    sent: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)
    impressions: list[Record] = field(default_factory=list)
    clicks: list[Record] = field(default_factory=list)
    auctions: list[Record] = field(default_factory=list)
    activations: list[Record] = field(default_factory=list)
    catalog: list[Record] = field(default_factory=list)
    refused: list[tuple[str, str, bytes]] = field(default_factory=list)

    def send(self, topic: str, record: Record, at: int | None = None) -> None:
        payload = json.dumps(record, ensure_ascii=False).encode()
        self.sent.setdefault(topic, []).append((record["ts"] if at is None else at, payload))

    def refuse(self, topic: str, reason: str, payload: bytes, at: int) -> None:
        self.sent.setdefault(topic, []).append((at, payload))
        self.refused.append((topic, reason, payload))


def build(start: int, decisions: int, seed: int) -> Scenario:
    """`start` is the time of the first decision in milliseconds."""
    rng = random.Random(seed)
    made = Scenario()
    _catalog(made, rng, start)
    for number in range(decisions):
        _decision(made, rng, start + number * SPAN // decisions, f"d{number} |:é" if number % 50 == 0 else f"d{number}")
    for number in range(20):
        _click(made, f"nobody {number}", "1", start + rng.randrange(SPAN))
    _broken(made, rng, start)
    return made


def _catalog(made: Scenario, rng: random.Random, start: int) -> None:
    for item in ITEMS[:-1]:
        at = start - 40 * 24 * HOUR
        while at < start + SPAN:
            gone = rng.random() < 0.1
            record = {
                "action_id": item,
                "ts": at,
                "features": None if gone else {"price": rng.randrange(1, 99), "b": "x y"},
            }
            made.catalog.append(record)
            made.send("catalog", record)
            at = max(at, start - HOUR) + rng.randrange(10 * MINUTE, HOUR)


def _decision(made: Scenario, rng: random.Random, ts: int, event_id: str) -> None:
    slots = rng.choice((1, 1, 1, 2, 3))
    names = rng.sample(ITEMS, 6)
    record: Record = {
        "event_id": event_id,
        "ts": ts,
        "context": {"user": rng.choice(("a", "b c")), "hour": rng.randrange(24)},
        "candidates": [{"action_id": name} for name in names],
        "slots": [{"slot_id": str(at), "chosen": names[at], "probability": 1 / (6 - at)} for at in range(slots)],
        "model": "m",
    }
    record["candidates"][0]["features"] = {"price": -1}
    if rng.random() < 0.05:
        record["activation_required"] = True
        if rng.random() < 0.5:
            _activation(made, event_id, ts + rng.choice((-5, 0, MINUTE, WINDOW, WINDOW + 1)))
    if rng.random() < 0.7:
        _auction(made, event_id, ts + rng.randrange(-SECOND, SECOND))
    _impressions(made, rng, record)
    for at in range(slots):
        _clicks(made, rng, event_id, str(at), ts)


def _impressions(made: Scenario, rng: random.Random, record: Record) -> None:
    """The record, sometimes late, repeated, sent again with another time, or preceded by an invalid copy."""
    fate = rng.random()
    if fate < 0.02:
        bad = json.loads(json.dumps(record))
        bad["slots"][0]["probability"] = 0
        made.refuse("impressions", "bad_probability", json.dumps(bad).encode(), record["ts"])
    delay = 45 * MINUTE if 0.02 <= fate < 0.03 else rng.randrange(5 * SECOND)
    copies = [(record, record["ts"] + delay)]
    if 0.05 <= fate < 0.10:
        copies.append((record, record["ts"] + rng.choice((0, SECOND, 40 * MINUTE))))
    if 0.10 <= fate < 0.13:
        later = record["ts"] + rng.choice((1, MINUTE, 40 * MINUTE))
        copies.append(({**record, "ts": later, "model": "again"}, later))
    for copy, at in copies:
        made.impressions.append(copy)
        made.send("impressions", copy, at)


def _clicks(made: Scenario, rng: random.Random, event_id: str, slot: str, ts: int) -> None:
    if rng.random() > 0.3:
        return
    edges = (-5 * SECOND, -1, 0, 1, WINDOW - 1, WINDOW, WINDOW + 1, WINDOW + LATE, WINDOW + LATE + 1, 5 * HOUR)
    delay = rng.choice(edges) if rng.random() < 0.4 else rng.randrange(WINDOW)
    _click(made, event_id, slot, ts + delay)
    extra = rng.random()
    if extra < 0.1:
        _click(made, event_id, slot, ts + delay)
    elif extra < 0.2:
        _click(made, event_id, slot, ts + rng.randrange(WINDOW))
    elif extra < 0.25:
        _click(made, event_id, "no such slot", ts + rng.randrange(WINDOW))


def _click(made: Scenario, event_id: str, slot: str, ts: int) -> None:
    record = {"event_id": event_id, "slot_id": slot, "ts": ts}
    made.clicks.append(record)
    made.send("clicks", record)


def _auction(made: Scenario, event_id: str, ts: int) -> None:
    record = {"event_id": event_id, "ts": ts, "floor_price": (ts % 1000) / 8}
    made.auctions.append(record)
    made.send("auctions", record)


def _activation(made: Scenario, event_id: str, ts: int) -> None:
    record = {"event_id": event_id, "ts": ts}
    made.activations.append(record)
    made.send("activations", record)


def _broken(made: Scenario, rng: random.Random, start: int) -> None:
    good = {"event_id": "x", "ts": start, "context": {}, "candidates": [{"action_id": "a"}], "slots": []}
    slot = {"slot_id": "1", "chosen": "zzz", "probability": 0.5}
    cases: list[tuple[str, str, bytes]] = [
        ("impressions", "bad_json", b'{"event_id": "x", '),
        ("impressions", "bad_utf8", b"\xff\xfe"),
        ("impressions", "not_object", b"[1]"),
        ("impressions", "missing_field", b'{"ts": 1700000000000}'),
        ("impressions", "no_slots", json.dumps(good).encode()),
        ("impressions", "unknown_action", json.dumps({**good, "slots": [slot]}).encode()),
        ("impressions", "bad_time", json.dumps({**good, "ts": start // 1000}).encode()),
        ("impressions", "future_time", json.dumps({**good, "ts": start + 400 * 24 * HOUR}).encode()),
        ("clicks", "missing_field", json.dumps({"event_id": "x", "ts": start}).encode()),
        ("clicks", "bad_type", json.dumps({"event_id": 7, "slot_id": "1", "ts": start}).encode()),
        ("clicks", "duplicate_key", b'{"event_id": "x", "event_id": "y", "slot_id": "1", "ts": 1700000000000}'),
        ("clicks", "empty", json.dumps({"event_id": "", "slot_id": "1", "ts": start}).encode()),
        ("auctions", "bad_json", b"nonsense"),
        ("activations", "bad_time", json.dumps({"event_id": "x", "ts": True}).encode()),
        ("catalog", "bad_type", json.dumps({"action_id": ITEMS[0], "ts": start, "features": "text"}).encode()),
    ]
    for topic, reason, payload in cases:
        made.refuse(topic, reason, payload, start + rng.randrange(SPAN))


@dataclass
class Truth:
    """What the join must give."""

    examples: dict[str, Record] = field(default_factory=dict)
    late: set[tuple[str, str, int]] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)


def truth(made: Scenario) -> Truth:
    """By looking at every record for every decision; no data structure shared with the code under test."""
    found = Truth()
    first: dict[str, Record] = {}
    for record in made.impressions:
        known = first.get(record["event_id"])
        if known is None or record["ts"] < known["ts"]:
            first[record["event_id"]] = record
    found.counts["duplicates"] = len(made.impressions) - len(first)
    clicks = _distinct_clicks(made, found)
    for event_id, record in first.items():
        mine = [click for click in clicks if click["event_id"] == event_id]
        _settle(made, found, record, mine)
    found.counts["orphan_clicks"] += sum(click["event_id"] not in first for click in clicks)
    found.counts["impressions"] = len(made.impressions) + sum(topic == "impressions" for topic, _, _ in made.refused)
    found.counts["invalid_impressions"] = found.counts["impressions"] - len(made.impressions)
    found.counts["clicks"] = len(made.clicks) + sum(topic == "clicks" for topic, _, _ in made.refused)
    return found


def _distinct_clicks(made: Scenario, found: Truth) -> list[Record]:
    distinct: list[Record] = []
    seen: set[tuple[Any, ...]] = set()
    for click in made.clicks:
        key = (click["event_id"], click["slot_id"], click["ts"])
        if key in seen:
            found.counts["duplicate_clicks"] += 1
        else:
            distinct.append(click)
        seen.add(key)
    return distinct


def _settle(made: Scenario, found: Truth, record: Record, clicks: list[Record]) -> None:
    slots = {slot["slot_id"] for slot in record["slots"]}
    hit = set()
    for click in clicks:
        delay = click["ts"] - record["ts"]
        if delay < 0:
            found.counts["early_clicks"] += 1
        elif delay <= WINDOW:
            hit.add(click["slot_id"])
            found.counts["orphan_clicks"] += click["slot_id"] not in slots
        elif delay <= WINDOW + LATE:
            found.late.add((click["event_id"], click["slot_id"], click["ts"]))
        else:
            found.counts["orphan_clicks"] += 1
    if record.get("activation_required") and not _any_in_window(made.activations, record):
        found.counts["inactive"] += 1
        return
    found.counts["examples"] += 1
    found.counts["clicked"] += bool(hit & slots)
    found.examples[record["event_id"]] = {
        "ts": record["ts"],
        "model": record["model"],
        "costs": [-1.0 if slot["slot_id"] in hit else 0.0 for slot in record["slots"]],
        "context": {**_auction_of(made, record), **record["context"]},
        "features": {item["action_id"]: _features(made, record, item) for item in record["candidates"]},
    }


def _any_in_window(records: list[Record], decision: Record) -> bool:
    inside: Callable[[Record], bool] = lambda r: 0 <= r["ts"] - decision["ts"] <= WINDOW  # noqa: E731
    return any(r["event_id"] == decision["event_id"] and inside(r) for r in records)


def _auction_of(made: Scenario, decision: Record) -> Record:
    mine = [r for r in made.auctions if r["event_id"] == decision["event_id"]]
    near = [r for r in mine if abs(r["ts"] - decision["ts"]) <= WINDOW]
    return {"auction_floor_price": min(near, key=lambda r: r["ts"])["floor_price"]} if near else {}


def _features(made: Scenario, decision: Record, candidate: Record) -> Record:
    known: Record = {}
    newest = None
    for version in made.catalog:
        is_known = version["action_id"] == candidate["action_id"] and version["ts"] <= decision["ts"]
        if is_known and (newest is None or version["ts"] >= newest):
            newest, known = version["ts"], version["features"] or {}
    return {**known, **candidate.get("features", {})}
