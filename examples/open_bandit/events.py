"""Contract events of the replay, as JSON objects. Pure functions; event times in whole milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from examples.open_bandit.clicks import Click
from examples.open_bandit.dataset import CAMPAIGN, USER_FEATURES, Decision, Item

Record = dict[str, Any]


def millis(ts_us: int) -> int:
    """Microseconds as the milliseconds of event JSON (rounded down)."""
    return ts_us // 1000


def context(decision: Decision) -> Record:
    """What is known of the user before a decision."""
    return {**dict(zip(USER_FEATURES, decision.user, strict=True)), "affinity": decision.affinity}


def decide_request(decision: Decision, candidates: Sequence[str]) -> Record:
    """The body of POST /v1/decide that asks what the current champion would show."""
    return {
        "request_id": decision.event_id,
        "ts": millis(decision.ts_us),
        "context": {**context(decision), **_auction_context(decision)},
        "entities": {"segment": decision.segment},
        "candidates": list(candidates),
        "slots": [{"slot_id": decision.position}],
    }


def impression(decision: Decision, candidates: Sequence[Record], features: Mapping[str, Any]) -> Record:
    """The logged decision: the policy's choice and propensity, and the features that the service used."""
    return {
        "event_id": decision.event_id,
        "ts": millis(decision.ts_us),
        "model": decision.policy,
        "context": {**context(decision), **features},
        "candidates": list(candidates),
        "slots": [
            {
                "slot_id": decision.position,
                "chosen": decision.item_id,
                "probability": decision.probability,
            }
        ],
    }


def exposure(decision: Decision) -> Record:
    """The shown slot with its flat columns."""
    return {
        "event_id": decision.event_id,
        "slot_id": decision.position,
        "ts": millis(decision.ts_us),
        "segment": decision.segment,
        "item_id": decision.item_id,
        "policy": decision.policy,
        "position": decision.position,
        "affinity": decision.affinity,
    }


def click(click: Click) -> Record:
    """A click: the exposure's columns at the click's own time."""
    return exposure(click.decision) | {"ts": millis(click.ts_us)}


def auction(decision: Decision) -> Record:
    """What the data set says of how the slot came about; it has no prices."""
    return {
        "event_id": decision.event_id,
        "ts": millis(decision.ts_us),
        "campaign": CAMPAIGN,
        "position": decision.position,
    }


def _auction_context(decision: Decision) -> Record:
    """The auction under the names that the join gives it: what is learnt from is known when a decision is asked for."""
    return {f"auction_{name}": value for name, value in auction(decision).items() if name not in ("event_id", "ts")}


def catalog(item: Item, ts_us: int) -> Record:
    """An item with its features from `ts_us` on."""
    return {"action_id": item.action_id, "ts": millis(ts_us), "features": dict(item.features)}


def heartbeat(ts_us: int) -> Record:
    """Moves event time, is never counted."""
    return {"heartbeat": True, "ts": millis(ts_us)}
