"""What a feature over sessions takes of those that are stored for an entity: the last one that has closed by a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from featuredsl.aggregators import Merge, merge_values
from featuredsl.nodes import Value
from featuredsl.online.request import EntityState
from featuredsl.online.session_codec import SessionRecord, StoredSessions
from featuredsl.plan import GroupPlan, WindowFeature
from featuredsl.session_tiers import SessionTier, session_features, session_tier, session_tiers
from featuredsl.wide.monoid import Monoid
from featuredsl.wide.plain import Plain
from featuredsl.wide.table import kept_as, monoid_of


@dataclass(frozen=True, slots=True)
class SessionFound:
    """The columns of the expression of the value, and the last event of the session; no session has closed where there
    is none. It is short where a state was left out, and where an older session that has closed had to make room."""

    columns: Mapping[str, Value]
    last_us: int | None
    is_short: bool = False


@dataclass(frozen=True, slots=True)
class SessionRead:
    """Where the parts of a feature stand in the records of its tier: numbers by column and place, states likewise."""

    feature: WindowFeature
    tier: SessionTier
    numbers: tuple[tuple[str, int, Merge], ...]
    states: tuple[tuple[str, int, Monoid[Any]], ...]

    def found(self, state: EntityState, at_us: int) -> SessionFound:
        """The last session that has closed by `at_us`. A later event never changes it."""
        stored = state.sessions.get(self.tier.name, StoredSessions())
        closed = next((one for one in stored.records if one.last_us + self.tier.window.gap_us <= at_us), None)
        if closed is None:
            return SessionFound(self.feature.aggregate.nothing, None, stored.is_cut)
        columns: dict[str, Value] = {c: merge_values(merge, [closed.numbers[i]]) for c, i, merge in self.numbers}
        columns |= {c: _value(closed, i, monoid, at_us) for c, i, monoid in self.states}
        return SessionFound(columns, closed.last_us, any(i in closed.lost for _, i, _ in self.states))


def _value(record: SessionRecord, place: int, monoid: Monoid[Any], at_us: int) -> Value:
    stored = record.states[place]
    value: Value = monoid.finalize(monoid.empty() if stored is None else monoid.from_bytes(stored), at_us)
    return value


def session_reads(plan: GroupPlan) -> dict[str, SessionRead]:
    """The reads of every streamed feature over sessions, by name."""
    tiers = session_tiers(plan)
    return {feature.name: _read(feature, session_tier(tiers, feature)) for feature in session_features(plan)}


def _read(feature: WindowFeature, tier: SessionTier) -> SessionRead:
    numbers: list[tuple[str, int, Merge]] = []
    states: list[tuple[str, int, Monoid[Any]]] = []
    for i, partial in enumerate(feature.aggregate.partials):
        if partial in tier.numbers:
            numbers.append((f"p{i}", tier.numbers.index(partial), partial.merge))
        else:
            states.append((f"p{i}", tier.states.index(partial), Plain(partial.merge)))
    for i, part in enumerate(feature.aggregate.wide):
        states.append((f"v{i}", tier.states.index(kept_as(part)), monoid_of(part)))
    return SessionRead(feature, tier, tuple(numbers), tuple(states))
