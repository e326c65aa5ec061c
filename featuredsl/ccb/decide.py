"""From costs to decisions: slots are filled in order, an action at most once, each by a seeded draw.

The probability of an action in a slot is conditional on the picks of the slots before it, which is what training on
the decision and off-policy evaluation need.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from featuredsl.ccb import explore
from featuredsl.ccb.preprocess import escape_value
from featuredsl.ccb.types import DecisionRequest, Slot
from featuredsl.errors import InputError

Costs: TypeAlias = NDArray[np.float32]


class Ranked(NamedTuple):
    """An action with its predicted cost (lower is better) and its probability of being shown in the slot."""

    action_id: str
    score: float
    probability: float


@dataclass(frozen=True, slots=True)
class SlotResult:
    """The pick of one slot: `ranking` starts with it, then ascending cost; empty where nothing was allowed."""

    slot_id: str
    ranking: tuple[Ranked, ...]
    chosen: str | None
    probability: float


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """The picks of all slots, in order; with the same `seed` and request the same version repeats them."""

    model: str
    version: str
    seed: str
    slots: tuple[SlotResult, ...]


def slot_tag(seed: str, position: int) -> str:
    """The Vowpal Wabbit seed tag of the slot at `position` (from 0)."""
    return f"{escape_value(seed)}-{position}"


def check(request: DecisionRequest) -> None:
    """Raise InputError when no decision is possible: no slot, fewer candidates than slots, an id given twice."""
    count = len(request.candidates)
    if not request.slots or count < len(request.slots):
        message = f"{len(request.slots)} slots for {count} candidates: give at least one slot and a candidate for each"
        raise InputError(message)
    if len({action.action_id for action in request.candidates}) != count:
        message = "candidates: an action_id is given more than once"
        raise InputError(message)


def permitted(request: DecisionRequest) -> list[NDArray[np.bool_]]:
    """Per slot, which candidates its include and exclude lists permit; unknown ids in the lists are an InputError."""
    if not any(slot.include or slot.exclude for slot in request.slots):
        return [np.ones(len(request.candidates), dtype=np.bool_) for _ in request.slots]
    position = {action.action_id: index for index, action in enumerate(request.candidates)}
    return [_permitted(slot, position) for slot in request.slots]


def decide(
    request: DecisionRequest, costs: Sequence[Costs], exploration: explore.Exploration, model: tuple[str, str]
) -> DecisionResult:
    """Fill the slots of a checked request; `costs` holds one array of candidate costs per slot."""
    seed = secrets.token_hex(8) if request.seed is None else request.seed
    free = np.ones(len(request.candidates), dtype=np.bool_)
    results = []
    for position, (slot, mask) in enumerate(zip(request.slots, permitted(request), strict=True)):
        available = np.nonzero(mask & free)[0]
        pick, result = _fill(request, slot, (available, costs[position]), (exploration, slot_tag(seed, position)))
        if pick is not None:
            free[pick] = False
        results.append(result)
    return DecisionResult(*model, seed, tuple(results))


class Judged(NamedTuple):
    """A policy on one logged slot: chance of the logged action, mean predicted cost, cost of the logged action."""

    chance: float
    expected_cost: float
    predicted_cost: float


def judge(
    request: DecisionRequest, costs: Sequence[Costs], exploration: explore.Exploration, shown: Sequence[str]
) -> list[Judged]:
    """What a policy thinks of a logged decision: per slot, given that the slots before show what was logged."""
    position = {action.action_id: index for index, action in enumerate(request.candidates)}
    free = np.ones(len(request.candidates), dtype=np.bool_)
    results = []
    for mask, slot_costs, name in zip(permitted(request), costs, shown, strict=True):
        available = np.nonzero(mask & free)[0]
        order = available[explore.ranked(slot_costs[available])]
        ordered = slot_costs[order]
        pmf = explore.normalised(explore.probabilities(exploration, ordered))
        chosen = position[name]
        free[chosen] = False
        results.append(Judged(float(pmf[order == chosen].sum()), float(pmf @ ordered), float(slot_costs[chosen])))
    return results


def _fill(
    request: DecisionRequest,
    slot: Slot,
    scored: tuple[NDArray[np.intp], Costs],
    rule: tuple[explore.Exploration, str],
) -> tuple[int | None, SlotResult]:
    available, costs = scored
    exploration, tag = rule
    if not len(available):
        return None, SlotResult(slot.slot_id, (), None, 0.0)
    order = available[explore.ranked(costs[available])]
    ordered = costs[order]
    pmf = explore.probabilities(exploration, ordered)
    drawn = explore.draw(pmf, explore.seed_of(tag))
    positions, scores, chances = order.tolist(), ordered.tolist(), explore.normalised(pmf).tolist()
    for values in (positions, scores, chances):
        values[0], values[drawn] = values[drawn], values[0]
    names = [request.candidates[position].action_id for position in positions]
    ranking = tuple(map(Ranked, names, scores, chances))
    return positions[0], SlotResult(slot.slot_id, ranking, ranking[0].action_id, ranking[0].probability)


def _permitted(slot: Slot, position: dict[str, int]) -> NDArray[np.bool_]:
    unknown = [name for name in (*slot.include, *slot.exclude) if name not in position]
    if unknown:
        message = f"slot {slot.slot_id!r}: {unknown[0]!r} in include/exclude is not among the candidates"
        raise InputError(message)
    mask = np.zeros(len(position), dtype=np.bool_) if slot.include else np.ones(len(position), dtype=np.bool_)
    mask[[position[name] for name in slot.include]] = True
    mask[[position[name] for name in slot.exclude]] = False
    return mask
