"""Features of entities, read from the online store: blocking and asynchronous from one implementation."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from featuredsl.errors import InputError
from featuredsl.finalize import FeatureValue, Finalizer
from featuredsl.nodes import Value
from featuredsl.online.keys import KeyPart
from featuredsl.online.layout import StoreLayout
from featuredsl.online.meta import StoreMeta
from featuredsl.online.request import EntityState
from featuredsl.online.store import AsyncOnlineStore, OnlineStore
from featuredsl.registry import Registry
from featuredsl.tiles import store_layout

META_TTL_S = 0.1

Key = tuple[str, Sequence[KeyPart]]

__all__ = ["AsyncFeatureReader", "FeatureReader", "FeatureValue", "Registry"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request with what is needed to finish it."""

    finalizer: Finalizer
    layout: StoreLayout
    key: Sequence[KeyPart]


class _Prepared:
    """What both readers share: plans, layouts by version, the cached store meta."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._versions: dict[tuple[str, str], tuple[Finalizer, StoreLayout]] = {}
        self._meta: StoreMeta | None = None
        self._meta_until = 0.0

    def last_meta(self) -> StoreMeta | None:
        return self._meta

    def fresh_meta(self) -> StoreMeta | None:
        return self._meta if time.monotonic() < self._meta_until else None

    def remember(self, meta: StoreMeta) -> StoreMeta:
        self._meta, self._meta_until = meta, time.monotonic() + META_TTL_S
        return meta

    def asked(self, keys: Sequence[Key], meta: StoreMeta) -> list[_Asked]:
        return [_Asked(*self._version(group, meta), key) for group, key in keys]

    def layout(self, group: str, meta: StoreMeta) -> StoreLayout:
        return self._version(group, meta)[1]

    def _version(self, group: str, meta: StoreMeta) -> tuple[Finalizer, StoreLayout]:
        """Made at the first read of a store version, with the definition that its values belong to; so a group which
        works offline only does not stop the others."""
        version = meta.versions.get(group) or self._registry.store_version(group)
        found = self._versions.get((group, version))
        if found is None:
            plan = self._registry.plan_of(group, version)
            found = self._versions[group, version] = (Finalizer(plan), store_layout(plan, version))
        return found

    def finish(
        self,
        asked: Sequence[_Asked],
        states: Sequence[EntityState],
        meta: StoreMeta,
        at_us: int,
        request: Mapping[str, Value] | None,
    ) -> list[dict[str, FeatureValue]]:
        return [
            one.finalizer.values(state, at_us, meta.completed(one.layout.group, one.layout.version), request)
            for one, state in zip(asked, states, strict=True)
        ]


class FeatureReader:
    """Blocking reads: `get([(group, key), …], at_us)` in one round trip (a second one refreshes the meta)."""

    def __init__(self, store: OnlineStore, registry: Registry) -> None:
        self._store = store
        self._prepared = _Prepared(registry)

    def get(
        self, keys: Sequence[Key], at_us: int, request: Mapping[str, Value] | None = None
    ) -> list[dict[str, FeatureValue]]:
        """Feature name to value for every (group, key parts), in that order, as of `at_us`.

        Raises InputError for an unknown group or a key of the wrong type, DependencyError without Redis.
        """
        meta = self._prepared.fresh_meta() or self._prepared.remember(self._store.meta())
        asked = self._prepared.asked(keys, meta)
        states = self._store.read([(one.layout, one.key) for one in asked])
        return self._prepared.finish(asked, states, meta, at_us, request)

    def layout(self, group: str) -> StoreLayout:
        """Where the last `get` found the values of a group, with its store version; before any, where one would."""
        meta = self._prepared.last_meta() or self._prepared.remember(self._store.meta())
        return self._prepared.layout(group, meta)


class AsyncFeatureReader:
    """Asynchronous reads with the same meaning as `FeatureReader`."""

    def __init__(self, store: AsyncOnlineStore, registry: Registry) -> None:
        self._store = store
        self._prepared = _Prepared(registry)

    async def get(
        self, keys: Sequence[Key], at_us: int, request: Mapping[str, Value] | None = None
    ) -> list[dict[str, FeatureValue]]:
        """Like `FeatureReader.get`."""
        meta = self._prepared.fresh_meta() or self._prepared.remember(await self._store.meta())
        asked = self._prepared.asked(keys, meta)
        states = await self._store.read([(one.layout, one.key) for one in asked])
        return self._prepared.finish(asked, states, meta, at_us, request)


def typed_key(registry: Registry, group: str, parts: Sequence[object]) -> tuple[KeyPart, ...]:
    """Key parts checked against the entity's types: "1001" is no key of an int entity."""
    entity = registry.group(group).entity
    if len(parts) != len(entity):
        names = ", ".join(name for name, _ in entity)
        raise InputError(f"group {group!r} is keyed by ({names}); got {len(parts)} part(s)")
    checked: list[KeyPart] = []
    for (name, dtype), part in zip(entity, parts, strict=True):
        if type(part).__name__ != dtype:
            raise InputError(f"group {group!r}: key part {name!r} is {dtype}, got {part!r}")
        checked.append(part)  # type: ignore[arg-type]
    return tuple(checked)
