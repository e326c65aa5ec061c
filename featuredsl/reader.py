"""Features of entities, read from the online store: blocking and asynchronous, with one meaning (`read_core.py`)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from featuredsl.finalize import FeatureValue
from featuredsl.nodes import Value
from featuredsl.online.layout import StoreLayout
from featuredsl.online.store import AsyncOnlineStore, OnlineStore
from featuredsl.prepared import Prepared
from featuredsl.read_core import DEFAULTS, Clock, Core, Key, OnError, ReadOptions
from featuredsl.registry import Registry
from featuredsl.rows import Rows

__all__ = [
    "AsyncFeatureReader",
    "AsyncHandle",
    "FeatureReader",
    "FeatureValue",
    "Handle",
    "ReadOptions",
    "Registry",
    "Rows",
]


class FeatureReader:
    """Blocking reads; safe to share between threads.

    `clock` gives seconds that never go back, for the ages of what is kept; it decides no value.
    """

    def __init__(
        self,
        store: OnlineStore,
        registry: Registry,
        options: ReadOptions = DEFAULTS,
        clock: Clock = time.monotonic,
    ) -> None:
        self._store = store
        self._core = Core(store.operations, registry, options, clock)
        self._all = Handle(store, self._core, self._core.everything)

    def prepare(self, *names: str) -> Handle:
        """A handle on some features: `"group"` for a whole group, `"group.feature"` for one. Names are resolved here.

        Raises InputError for an unknown name.
        """
        return Handle(self._store, self._core, Prepared(self._core.registry, names))

    def get(
        self,
        keys: Sequence[Key],
        at_us: int,
        request: Mapping[str, Value] | None = None,
        *,
        deadline_s: float | None = None,
        on_error: OnError | None = None,
    ) -> Rows:
        """Feature name to value for every (group, key parts), in that order, as of `at_us`, in one round trip.

        Raises InputError for an unknown group, a key that does not fit it, a time in another unit. Without an answer of
        Redis within the deadline it raises DependencyError or, with `on_error="fallback"`, gives what was read last
        with status STALE, NOT_FOUND where nothing was; then `error` of the rows says why.
        """
        return self._all.get(keys, at_us, request, deadline_s=deadline_s, on_error=on_error)

    def layout(self, group: str) -> StoreLayout:
        """Where the last `get` found the values of a group, with its store version; before any, where one would."""
        return self._store.run(self._core.layout(group))


class Handle:
    """Prepared reads of some features; made by `FeatureReader.prepare`."""

    def __init__(self, store: OnlineStore, core: Core, prepared: Prepared) -> None:
        self._store, self._core, self._prepared = store, core, prepared

    def get(
        self,
        keys: Sequence[Key],
        at_us: int,
        request: Mapping[str, Value] | None = None,
        *,
        deadline_s: float | None = None,
        on_error: OnError | None = None,
    ) -> Rows:
        """Like `FeatureReader.get`, the prepared features only."""
        steps = self._core.get(self._prepared, keys, at_us, request, on_error)
        return self._store.run(steps, self._core.deadline_s(deadline_s))


class AsyncFeatureReader:
    """Asynchronous reads with the same meaning as `FeatureReader`, within one event loop."""

    def __init__(
        self,
        store: AsyncOnlineStore,
        registry: Registry,
        options: ReadOptions = DEFAULTS,
        clock: Clock = time.monotonic,
    ) -> None:
        self._store = store
        self._core = Core(store.operations, registry, options, clock)
        self._all = AsyncHandle(store, self._core, self._core.everything)

    def prepare(self, *names: str) -> AsyncHandle:
        """Like `FeatureReader.prepare`."""
        return AsyncHandle(self._store, self._core, Prepared(self._core.registry, names))

    async def get(
        self,
        keys: Sequence[Key],
        at_us: int,
        request: Mapping[str, Value] | None = None,
        *,
        deadline_s: float | None = None,
        on_error: OnError | None = None,
    ) -> Rows:
        """Like `FeatureReader.get`."""
        return await self._all.get(keys, at_us, request, deadline_s=deadline_s, on_error=on_error)


class AsyncHandle:
    """Prepared reads of some features; made by `AsyncFeatureReader.prepare`."""

    def __init__(self, store: AsyncOnlineStore, core: Core, prepared: Prepared) -> None:
        self._store, self._core, self._prepared = store, core, prepared

    async def get(
        self,
        keys: Sequence[Key],
        at_us: int,
        request: Mapping[str, Value] | None = None,
        *,
        deadline_s: float | None = None,
        on_error: OnError | None = None,
    ) -> Rows:
        """Like `Handle.get`."""
        steps = self._core.get(self._prepared, keys, at_us, request, on_error)
        return await self._store.run(steps, self._core.deadline_s(deadline_s))
