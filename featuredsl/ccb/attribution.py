"""From a decision and what is known of it to one labelled example: the pure part of every join.

A click counts when `0 <= click - decision <= window`, both ends included. Shown slots without a click cost 0,
clicked ones minus the reward. Auction metadata join the context under a prefix; item features come from the
catalog as of the decision time, under those that the impression itself carries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from featuredsl.ccb.types import Action, Example, Features, Impression, Scalar, SlotLabel
from featuredsl.ccb.validate import MAX_COST, check_labels
from featuredsl.errors import InputError
from featuredsl.times import HOUR, MINUTE

REWARDS = ("click", "max", "sum")
_NOT_METADATA = frozenset({"event_id", "ts", "tenant", "heartbeat"})


@dataclass(frozen=True, slots=True)
class JoinConfig:
    """Rules of a join. `late_us` is how long after the window a click is still recognised as late."""

    window_us: int = 30 * MINUTE
    late_us: int = 24 * HOUR
    reward: str = "click"
    auction_prefix: str = "auction_"
    max_cost: float = MAX_COST

    def __post_init__(self) -> None:
        if self.reward not in REWARDS:
            msg = f"unknown reward {self.reward!r}; rewards: {', '.join(REWARDS)}"
            raise InputError(msg)
        if self.window_us <= 0 or self.late_us < 0:
            msg = "the attribution window must be positive and the late horizon must not be negative"
            raise InputError(msg)


@dataclass(frozen=True, slots=True)
class Click:
    """A click on a slot; `value` is its worth where the application knows one."""

    slot_id: str
    ts_us: int
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of one decision: all its clicks, its auction record, item features, its activation."""

    clicks: tuple[Click, ...] = ()
    auction: Mapping[str, Any] | None = None
    catalog: Mapping[str, Features] = field(default_factory=dict)
    activation_us: int | None = None


def in_window(impression_us: int, event_us: int, window_us: int) -> bool:
    """True when an event belongs to a decision: both ends of the window count."""
    return 0 <= event_us - impression_us <= window_us


def build_example(impression: Impression, evidence: Evidence, config: JoinConfig) -> Example | None:
    """The example of a decision whose window has closed; None when it lacks a required activation.

    Raises `schemas.records.RecordError` when the joined decision must not reach a learner.
    """
    if impression.activation_required and not _activated(impression, evidence, config):
        return None
    rewards = _rewards(impression, evidence, config)
    request = replace(
        impression.request,
        context={**_metadata(evidence.auction, config.auction_prefix), **impression.request.context},
        candidates=tuple(_enriched(action, evidence.catalog) for action in impression.request.candidates),
    )
    labels = tuple(
        SlotLabel(shown.chosen, 0.0 - rewards.get(slot.slot_id, 0.0), shown.probability)
        for slot, shown in zip(request.slots, impression.shown, strict=True)
    )
    check_labels(request, labels, config.max_cost)
    return Example(
        event_id=impression.event_id,
        ts_us=impression.ts_us,
        request=request,
        labels=labels,
        weight=impression.weight,
        model=impression.model,
        model_version=impression.model_version,
    )


def is_clicked(example: Example) -> bool:
    """True when at least one slot of the example earned something."""
    return any(label.cost != 0.0 for label in example.labels)


def _activated(impression: Impression, evidence: Evidence, config: JoinConfig) -> bool:
    at = evidence.activation_us
    return at is not None and in_window(impression.ts_us, at, config.window_us)


def _rewards(impression: Impression, evidence: Evidence, config: JoinConfig) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for click in evidence.clicks:
        if in_window(impression.ts_us, click.ts_us, config.window_us):
            values.setdefault(click.slot_id, []).append(1.0 if click.value is None else click.value)
    return {slot_id: _reward(items, config.reward) for slot_id, items in values.items()}


def _reward(values: Iterable[float], name: str) -> float:
    if name == "click":
        return 1.0
    return max(values) if name == "max" else float(sum(values))


def _metadata(auction: Mapping[str, Any] | None, prefix: str) -> dict[str, Scalar]:
    if auction is None:
        return {}
    return {
        f"{prefix}{name}": value
        for name, value in auction.items()
        if name not in _NOT_METADATA and isinstance(value, str | int | float | bool)
    }


def _enriched(action: Action, catalog: Mapping[str, Features]) -> Action:
    known = catalog.get(action.action_id)
    if not known:
        return action
    return Action(action.action_id, {**known, **action.features} if action.features else known)
