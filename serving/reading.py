"""The online store behind a service: opens the reader, checks the configured groups against the registry."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from featuredsl.errors import FeatureError, InputError
from featuredsl.online.store import AsyncOnlineStore
from featuredsl.plan import GroupPlan
from featuredsl.reader import AsyncFeatureReader, ReadOptions, Registry
from featuredsl.settings import Settings
from serving.config import FeatureBudget, GroupLookup, ServeConfig
from serving.features import FeatureSource, Lookup

_STORE_TIMEOUT_S = 1.0
_SHARE = 0.9

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reading:
    """Where features come from. Without groups nothing is opened."""

    source: FeatureSource | None = None
    lookups: tuple[Lookup, ...] = ()
    store: AsyncOnlineStore | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self.store is not None:
            await self.store.close()


async def open_features(config: ServeConfig, settings: Settings) -> Reading:
    """Open what `config.groups` need. Raises InputError for groups, features or keys that are not applied.

    A store that does not answer is no error: the service starts and answers degraded.
    """
    if not config.groups:
        return Reading()
    registry = Registry.load(settings.registry)
    lookups = tuple(_lookup(registry.group(wanted.group), wanted) for wanted in config.groups)
    store = AsyncOnlineStore(settings.require("redis"), _STORE_TIMEOUT_S, namespace=settings.prefix)
    try:
        await store.ping()
    except FeatureError as error:
        log.warning("features are not available yet: %s", error)
    return Reading(AsyncFeatureReader(store, registry, _options(config.features)), lookups, store)


def _options(budget: FeatureBudget) -> ReadOptions:
    """A read ends before the budget does, so that what was read last can still be used within it."""
    return ReadOptions(
        on_error="fallback",
        deadline_s=_SHARE * budget.budget_ms / 1_000,
        kept=budget.stale_entries,
        stale_max_age_s=budget.stale_max_age_s,
    )


def _lookup(plan: GroupPlan, wanted: GroupLookup) -> Lookup:
    if len(wanted.entity) != len(plan.entity):
        names = ", ".join(name for name, _ in plan.entity)
        raise InputError(f"group {plan.name!r} is keyed by ({names}); groups[].entity names {len(wanted.entity)}")
    known = plan.feature_names
    if unknown := [name for name in wanted.features if name not in known]:
        raise InputError(f"group {plan.name!r} has no feature {unknown[0]!r}; it has {', '.join(known)}")
    return Lookup(
        group=plan.name,
        entity=wanted.entity,
        names=wanted.features or known,
        request_time=frozenset(feature.name for feature in plan.on_demand),
        key_types=tuple(dtype for _, dtype in plan.entity),
    )
