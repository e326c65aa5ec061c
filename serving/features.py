"""Features of one decision, within a time budget, with a last good value or nothing when that fails."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from featuredsl.errors import InputError
from serving.breaker import Breaker
from serving.config import FeatureBudget
from serving.metrics import Metrics
from serving.wire import Input, KeyPart, Scalar, refuse

STALE = "STALE"
DEGRADED = "DEGRADED"
TIMEOUT, STORE = "timeout", "store"
FLAG_STALE = "features_stale"
FLAG_MISSING = "features_missing"
FLAG_ENTITY = "entity_missing"
FLAG_NOT_FINITE = "features_not_finite"

log = logging.getLogger(__name__)


class Value(Protocol):
    """A feature as read: its value and a status of the contract (OK, NULL, NOT_FOUND, …)."""

    @property
    def value(self) -> Any: ...
    @property
    def status(self) -> str: ...


KeyRef: TypeAlias = tuple[str, tuple[KeyPart, ...]]


class FeatureSource(Protocol):
    """Reads features of several (group, key parts) at once, as of a time in microseconds.

    Rows with an `error` that is not None came from memory, because the store did not answer in time.
    """

    async def get(
        self, keys: Sequence[KeyRef], at_us: int, request: Mapping[str, Input] | None = None
    ) -> Sequence[Mapping[str, Value]]: ...


@dataclass(frozen=True, slots=True)
class Lookup:
    """One configured group: `names` are the features to take; `request_time` ones are never served stale.

    `key_types` are the types (int, str, bool) of the entity's parts; empty: not checked.
    """

    group: str
    entity: tuple[str, ...]
    names: tuple[str, ...]
    request_time: frozenset[str] = frozenset()
    key_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fetched:
    """Features under their public names `group__feature`, how each was obtained, and what went wrong."""

    values: dict[str, Scalar] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    error: str | None = None


class FeatureFetcher:
    """Reads the configured groups for each request. Not thread-safe: belongs to one event loop."""

    def __init__(
        self,
        source: FeatureSource | None,
        lookups: Sequence[Lookup],
        budget: FeatureBudget,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._lookups = tuple(lookups)
        self._budget = budget
        self._metrics = metrics
        self._clock = clock
        self._breaker = Breaker(budget.breaker_failures, budget.breaker_open_s)
        self._last_good: OrderedDict[KeyRef, tuple[float, dict[str, Scalar]]] = OrderedDict()

    @property
    def breaker_open(self) -> bool:
        """True while reads are not tried."""
        return self._breaker.is_open

    async def fetch(self, entities: Mapping[str, KeyPart], at_us: int, request: Mapping[str, Input]) -> Fetched:
        """Features for the request's entities as of `at_us`. Never raises for a store that fails.

        Raises RequestError (400) for a key of the wrong type.
        """
        if not self._lookups:
            return Fetched()
        wanted = [(lookup, _key(lookup, entities)) for lookup in self._lookups]
        keys = [key for _, key in wanted if key is not None]
        rows, error = await self._read(keys, at_us, request)
        result = Fetched()
        flags: dict[str, None] = {}
        given = iter(rows or ())
        for lookup, key in wanted:
            if key is None:
                self._put_missing(result, lookup, flags, FLAG_ENTITY)
            elif rows is None:
                self._put_last_good(result, lookup, key, flags)
            else:
                row, fell_back = next(given), error in (TIMEOUT, STORE)
                self._put(result, lookup, row, flags, key, fell_back)
        not_finite = "not_finite" if FLAG_NOT_FINITE in flags else None
        return Fetched(result.values, result.statuses, tuple(flags), error or not_finite)

    async def _read(
        self, keys: list[KeyRef], at_us: int, request: Mapping[str, Input]
    ) -> tuple[Sequence[Mapping[str, Value]] | None, str | None]:
        if not keys or self._source is None:
            return (), None
        if not self._breaker.allow(self._clock()):
            return None, "breaker_open"
        try:
            async with asyncio.timeout(self._budget.budget_ms / 1_000):
                rows = await self._source.get(keys, at_us, request)
        except TimeoutError:
            return None, self._failed(TIMEOUT, None)
        except asyncio.CancelledError:
            self._breaker.abandon()
            raise
        except InputError as error:
            self._breaker.abandon()
            refuse("bad_features", str(error))
        except Exception as error:  # a broken store degrades an answer, it never refuses one
            return None, self._failed(STORE, error)
        late: Exception | None = getattr(rows, "error", None)
        if late is not None:
            return rows, self._failed(TIMEOUT if isinstance(late.__cause__, TimeoutError) else STORE, late)
        self._breaker.success()
        self._metrics.breaker_open.set(0)
        return rows, None

    def _failed(self, reason: str, error: Exception | None) -> str:
        was_open = self._breaker.is_open
        self._breaker.failure(self._clock())
        self._metrics.feature_failures.labels(reason).inc()
        self._metrics.breaker_open.set(int(self._breaker.is_open))
        if self._breaker.is_open and not was_open:
            log.warning("feature reads fail (%s); last good values are used", error or "over the time budget")
        return reason

    def _put(
        self,
        result: Fetched,
        lookup: Lookup,
        row: Mapping[str, Value],
        flags: dict[str, None],
        key: KeyRef,
        fell_back: bool,
    ) -> None:
        kept: dict[str, Scalar] = {}
        for name in lookup.names:
            found = row.get(name)
            value = None if found is None else found.value
            if isinstance(value, float) and not math.isfinite(value):
                flags[FLAG_NOT_FINITE] = None
                value = None
            public = f"{lookup.group}__{name}"
            result.statuses[public] = DEGRADED if found is None else found.status
            if value is None or isinstance(value, str | int | float | bool):
                result.values[public] = value
                kept[name] = value
        if not fell_back:
            self._remember(key, kept)
        elif any(found.status == STALE for found in row.values()):
            flags[FLAG_STALE] = None
        else:
            flags[FLAG_MISSING] = None

    def _remember(self, key: KeyRef, values: dict[str, Scalar]) -> None:
        self._last_good[key] = (self._clock(), values)
        self._last_good.move_to_end(key)
        if len(self._last_good) > self._budget.stale_entries:
            self._last_good.popitem(last=False)

    def _put_last_good(self, result: Fetched, lookup: Lookup, key: KeyRef, flags: dict[str, None]) -> None:
        read_at, values = self._last_good.get(key, (-math.inf, {}))
        if self._clock() - read_at > self._budget.stale_max_age_s:
            self._put_missing(result, lookup, flags, FLAG_MISSING)
            return
        flags[FLAG_STALE] = None
        for name in lookup.names:
            public = f"{lookup.group}__{name}"
            usable = name in values and name not in lookup.request_time
            result.values[public] = values[name] if usable else None
            result.statuses[public] = STALE if usable else DEGRADED

    @staticmethod
    def _put_missing(result: Fetched, lookup: Lookup, flags: dict[str, None], flag: str) -> None:
        flags[flag] = None
        for name in lookup.names:
            public = f"{lookup.group}__{name}"
            result.values[public] = None
            result.statuses[public] = DEGRADED


def _key(lookup: Lookup, entities: Mapping[str, KeyPart]) -> KeyRef | None:
    if any(name not in entities for name in lookup.entity):
        return None
    parts = tuple(entities[name] for name in lookup.entity)
    for name, part, expected in zip(lookup.entity, parts, lookup.key_types, strict=False):
        if type(part).__name__ != expected:
            refuse("bad_key", f"$.entities.{name}: group {lookup.group!r} has {expected} keys, found {part!r}")
    return lookup.group, parts
