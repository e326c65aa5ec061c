"""Values of conditional contextual bandits: what is decided, what was chosen, what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Scalar: TypeAlias = str | float | int | bool | None
Features: TypeAlias = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Action:
    """A candidate. `features` are those of the item; the id itself is a feature too when encoded."""

    action_id: str
    features: Features = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Slot:
    """A place to fill. `include`, when not empty, lists the only actions allowed; `exclude` forbids some."""

    slot_id: str
    features: Features = field(default_factory=dict)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """One decision: pick an action for every slot, in order, without repeats. `seed` makes it repeatable."""

    context: Features
    candidates: tuple[Action, ...]
    slots: tuple[Slot, ...]
    seed: str | None = None


@dataclass(frozen=True, slots=True)
class SlotLabel:
    """What was shown in a slot (`chosen`), at which cost (lower is better) and with which probability."""

    chosen: str
    cost: float
    probability: float
