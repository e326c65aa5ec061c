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


@dataclass(frozen=True, slots=True)
class Shown:
    """What a policy did in one slot: the action, and the probability of it given the slots before."""

    chosen: str
    probability: float


@dataclass(frozen=True, slots=True)
class Impression:
    """A valid logged decision. `drop_probability` is the chance with which the log dropped such records."""

    event_id: str
    ts_us: int
    request: DecisionRequest
    shown: tuple[Shown, ...]
    model: str | None = None
    model_version: str | None = None
    drop_probability: float = 0.0
    activation_required: bool = False

    @property
    def weight(self) -> float:
        """Importance weight that undoes the log's dropping: 1 / (1 - drop_probability)."""
        return 1.0 / (1.0 - self.drop_probability)


@dataclass(frozen=True, slots=True)
class Example:
    """A decision with its labels. `labels[i]` belongs to `request.slots[i]`; every shown slot has one."""

    event_id: str
    ts_us: int
    request: DecisionRequest
    labels: tuple[SlotLabel, ...]
    weight: float = 1.0
    model: str | None = None
    model_version: str | None = None
