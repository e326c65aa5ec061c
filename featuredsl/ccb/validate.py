"""Checks that every decision passes before a learner or a scorer sees it.

Vowpal Wabbit accepts, or dies of, much that is wrong: a probability of 0 ruins a model for ever, an unknown
action loses its label silently, a missing shared line ends the process. Each check here has a stable reason
code (`REASONS`) which dead letters and HTTP errors carry.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from featuredsl.ccb.types import Action, DecisionRequest, Features, Impression, Shown, Slot, SlotLabel
from schemas.records import RecordError, event_time_us, validate

MAX_COST = 1_000.0
PMF_TOLERANCE = 1e-4
MIN_PROBABILITY = 1.1754943508222875e-38
"""Smallest normal 32-bit float: below it the learner would read 0."""

REASONS = (
    "no_candidates",
    "no_slots",
    "duplicate_candidate",
    "duplicate_slot",
    "too_many_slots",
    "unknown_action",
    "repeated_action",
    "action_not_allowed",
    "no_allowed_action",
    "bad_probability",
    "bad_propensities",
    "bad_drop_probability",
    "bad_cost",
    "bad_label",
    "not_finite",
)


def read_request(record: Mapping[str, Any]) -> DecisionRequest:
    """A decision request from its JSON shape; raises `RecordError` with a reason code."""
    validate("decision_request", dict(record))
    request = _request(record)
    check_request(request)
    return request


def read_impression(record: Mapping[str, Any]) -> Impression:
    """A logged decision from an impression record; raises `RecordError` with a reason code."""
    validate("impression", dict(record))
    impression = validated_impression(record)
    request, shown = impression.request, impression.shown
    check_request(request)
    check_shown(request, shown)
    for index, item in enumerate(record["slots"]):
        if item.get("propensities") is not None:
            _check_propensities(request, shown[index], item["propensities"])
    if not 0.0 <= impression.drop_probability < 1.0:
        _refuse("bad_drop_probability", f"{impression.drop_probability} is not in [0, 1)")
    return impression


def validated_impression(record: Mapping[str, Any]) -> Impression:
    """The impression of a record that `read_impression` has accepted before; nothing is checked again."""
    return Impression(
        event_id=record["event_id"],
        ts_us=event_time_us(record["ts"]),
        request=_request(record),
        shown=tuple(Shown(item["chosen"], float(item["probability"])) for item in record["slots"]),
        model=record.get("model"),
        model_version=record.get("model_version"),
        drop_probability=float(record.get("drop_probability") or 0.0),
        activation_required=bool(record.get("activation_required")),
    )


def check_request(request: DecisionRequest) -> None:
    """Candidates and slots exist, are distinct and fit; every number is finite."""
    if not request.candidates:
        _refuse("no_candidates", "a decision needs at least one candidate")
    if not request.slots:
        _refuse("no_slots", "a decision needs at least one slot")
    known = _distinct("duplicate_candidate", (action.action_id for action in request.candidates))
    _distinct("duplicate_slot", (slot.slot_id for slot in request.slots))
    if len(request.slots) > len(request.candidates):
        _refuse("too_many_slots", f"{len(request.slots)} slots for {len(request.candidates)} candidates")
    _check_finite("context", request.context)
    for action in request.candidates:
        _check_finite(f"candidate {action.action_id!r}", action.features)
    for slot in request.slots:
        _check_finite(f"slot {slot.slot_id!r}", slot.features)
        if not known.intersection(slot.include or known).difference(slot.exclude):
            _refuse("no_allowed_action", f"slot {slot.slot_id!r} allows none of the candidates")


def check_shown(request: DecisionRequest, shown: Sequence[Shown]) -> None:
    """Each slot shows one known, allowed action, no action twice, with a probability in (0, 1]."""
    known = {action.action_id for action in request.candidates}
    used: set[str] = set()
    for slot, item in zip(request.slots, shown, strict=True):
        where = f"slot {slot.slot_id!r}"
        if item.chosen not in known:
            _refuse("unknown_action", f"{where} shows {item.chosen!r}, which is not a candidate")
        if item.chosen in used:
            _refuse("repeated_action", f"{where} shows {item.chosen!r}, as a slot before it does")
        if (slot.include and item.chosen not in slot.include) or item.chosen in slot.exclude:
            _refuse("action_not_allowed", f"{where} shows {item.chosen!r}, which its lists forbid")
        if not MIN_PROBABILITY <= item.probability <= 1.0:
            _refuse("bad_probability", f"{where}: probability {item.probability} is not in (0, 1]")
        used.add(item.chosen)


def check_labels(request: DecisionRequest, labels: Sequence[SlotLabel], max_cost: float = MAX_COST) -> None:
    """Labels are complete and learnable: as `check_shown`, with finite costs of at most `max_cost`."""
    if len(labels) != len(request.slots):
        _refuse("bad_label", f"{len(labels)} labels for {len(request.slots)} slots; each shown slot needs one")
    check_shown(request, [Shown(label.chosen, label.probability) for label in labels])
    for slot, label in zip(request.slots, labels, strict=True):
        if not abs(label.cost) <= max_cost:
            _refuse("bad_cost", f"slot {slot.slot_id!r}: cost {label.cost} is beyond ±{max_cost:g}")


def _request(record: Mapping[str, Any]) -> DecisionRequest:
    return DecisionRequest(
        context=record["context"],
        candidates=tuple(Action(item["action_id"], item.get("features") or {}) for item in record["candidates"]),
        slots=tuple(
            Slot(
                item["slot_id"],
                item.get("features") or {},
                tuple(item.get("include") or ()),
                tuple(item.get("exclude") or ()),
            )
            for item in record["slots"]
        ),
        seed=record.get("seed"),
    )


def _distinct(reason: str, names: Iterable[str]) -> set[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            _refuse(reason, f"{name!r} appears twice")
        seen.add(name)
    return seen


def _check_finite(where: str, features: Features) -> None:
    for name, value in features.items():
        if isinstance(value, float) and not math.isfinite(value):
            _refuse("not_finite", f"{where}: feature {name!r} is {value}")


def _check_propensities(request: DecisionRequest, shown: Shown, pmf: Mapping[str, float]) -> None:
    known = {action.action_id for action in request.candidates}
    unknown = sorted(set(pmf) - known)
    if unknown:
        _refuse("bad_propensities", f"{unknown[0]!r} is not a candidate")
    if not all(0.0 <= value <= 1.0 for value in pmf.values()):
        _refuse("bad_propensities", "a probability is outside [0, 1]")
    total = math.fsum(pmf.values())
    if not abs(total - 1.0) <= PMF_TOLERANCE:
        _refuse("bad_propensities", f"they sum to {total:.6g}, not to 1")
    if not abs(pmf.get(shown.chosen, 0.0) - shown.probability) <= PMF_TOLERANCE:
        _refuse("bad_propensities", f"{shown.chosen!r} has another probability there than the slot says")


def _refuse(reason: str, detail: str) -> NoReturn:
    raise RecordError(reason, detail)
