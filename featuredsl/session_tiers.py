"""The physical side of streamed sessions: what is kept of the sessions that the events of one source make.

All features of one source, gap, filter and tier of freshness share one tier: a field of the hash of an entity, in which
the newest sessions stand as records. A read takes the last of them that has closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from featuredsl.aggregators import Partial, WidePartial
from featuredsl.fingerprint import digest, node_data
from featuredsl.nodes import Node
from featuredsl.plan import GroupPlan, WindowFeature
from featuredsl.tiers import TIERS
from featuredsl.times import SECOND, format_duration
from featuredsl.wide.table import kept_as
from featuredsl.window_kinds import Session

SHORTEST_GAP_US = SECOND
"""A shorter gap would need thousands of records."""
OPEN_US = 90 * SECOND
"""How long before the newest event known of the time of a read may lie: events come up to a minute ahead (realtime),
and minutes are asked for up to a minute and a half later (5m). So many sessions may have begun or closed since."""


@dataclass(frozen=True, slots=True)
class SessionTier:
    """Sessions of one source under one filter, `forms`: of each the `numbers` and the `states`."""

    source: str
    window: Session
    freshness: str
    forms: Node | None
    numbers: tuple[Partial, ...]
    states: tuple[Partial | WidePartial, ...]

    @property
    def name(self) -> str:
        """For example `clicks/session_30m`, with a digest of a filter behind it, and `@5m` in a deferred tier."""
        which = "" if self.forms is None else f"_{digest(node_data(self.forms))[:8]}"
        tier = f"@{self.freshness}" if TIERS[self.freshness].is_deferred else ""
        return f"{self.source}/session_{format_duration(self.window.gap_us).replace(' ', '')}{which}{tier}"

    @property
    def mark(self) -> str:
        """Under which name it is marked how far it is complete."""
        return self.name

    @property
    def kept(self) -> int:
        """How many sessions stay: the one that a read wants, the one before it, and those that a read is too early
        for."""
        return 2 + -(-OPEN_US // self.window.gap_us)


def session_tiers(plan: GroupPlan) -> tuple[SessionTier, ...]:
    """The session tiers of a group, in order of first use."""
    found: dict[tuple[str, Session, str, Node | None], list[WindowFeature]] = {}
    for feature in session_features(plan):
        found.setdefault(_tier_of(feature), []).append(feature)
    return tuple(SessionTier(*at, *_parts(features)) for at, features in found.items())


def session_tier(tiers: tuple[SessionTier, ...], feature: WindowFeature) -> SessionTier:
    """The one of a feature."""
    wanted = _tier_of(feature)
    return next(tier for tier in tiers if (tier.source, tier.window, tier.freshness, tier.forms) == wanted)


def session_features(plan: GroupPlan) -> Iterator[WindowFeature]:
    """The features over sessions that a stream job maintains."""
    for tier in TIERS.values():
        if tier.engine == "flink":
            yield from (feature for feature in plan.windows(tier.name) if isinstance(feature.window, Session))


def _tier_of(feature: WindowFeature) -> tuple[str, Session, str, Node | None]:
    assert isinstance(feature.window, Session)
    (source,) = feature.aggregate.sources
    return source, feature.window, feature.freshness, feature.aggregate.filter


def _parts(features: list[WindowFeature]) -> tuple[tuple[Partial, ...], tuple[Partial | WidePartial, ...]]:
    partials = dict.fromkeys(partial for feature in features for partial in feature.aggregate.partials)
    wide = dict.fromkeys(kept_as(part) for feature in features for part in feature.aggregate.wide)
    numbers = tuple(partial for partial in partials if partial.dtype in ("int", "float"))
    return numbers, (*(partial for partial in partials if partial not in numbers), *wide)
