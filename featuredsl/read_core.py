"""The steps of a read, whatever the wire: one round trip for any number of groups and entities.

The round trip asks for the state of every key that is not kept fresh and, every 100 ms, for what is known of groups
as a whole (the versions to follow, completed batch times). When Redis does not answer before the deadline, a read
raises, or gives what was read last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from featuredsl.errors import DependencyError
from featuredsl.finalize import DEGRADED, NOT_FOUND, STALE, FeatureValue
from featuredsl.nodes import Value
from featuredsl.online.exchange import Command, Steps
from featuredsl.online.keys import KeyPart, join_key
from featuredsl.online.layout import StoreLayout
from featuredsl.online.meta import StoreMeta
from featuredsl.online.request import RawState, ReadRequest, state_of
from featuredsl.online.store import Operations
from featuredsl.prepared import Place, Prepared
from featuredsl.read_states import Kept, ReadStates
from featuredsl.registry import Registry

META_TTL_S: Final = 0.1

Key = tuple[str, Sequence[KeyPart]]
OnError = Literal["raise", "fallback"]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a reader behaves; `on_error` and `deadline_s` (None: the store's time-out) may be given for a read, too.

    `kept` states at most stay in memory: each answers reads for `cache_ttl_s` (0: none), and stands in for a Redis
    that does not answer for `stale_max_age_s`.
    """

    on_error: OnError = "raise"
    deadline_s: float | None = None
    cache_ttl_s: float = 0.1
    kept: int = 10_000
    stale_max_age_s: float = 300.0


DEFAULTS: Final = ReadOptions()


class Rows(list[dict[str, FeatureValue]]):
    """One mapping of feature to value for each key asked, in order. `error` says why Redis did not give them all."""

    error: DependencyError | None = None


class _Asked(msgspec.Struct, frozen=True):
    """One key of a read: where it stands, and under which name its state is kept."""

    at: Place
    parts: Sequence[KeyPart]
    name: tuple[str, str]


class _Known:
    """What is known of groups as a whole, and until when it need not be asked again."""

    def __init__(self, meta: StoreMeta, until_s: float) -> None:
        self.meta, self.until_s = meta, until_s
        self._marks: dict[str, dict[str, tuple[int, ...]]] = {}

    def completed(self, layout: StoreLayout) -> Mapping[str, tuple[int, ...]]:
        """Completed times of the tiers of a layout."""
        found = self._marks.get(layout.key_prefix)
        if found is None:
            found = self._marks[layout.key_prefix] = self.meta.completed(layout.group, layout.version)
        return found


class Core:
    """What both readers share; everything but the wire."""

    def __init__(self, operations: Operations, registry: Registry, options: ReadOptions, clock: Clock) -> None:
        self._operations = operations
        self.registry, self.options = registry, options
        self._clock = clock
        self._states = ReadStates(options.kept, options.cache_ttl_s, options.stale_max_age_s)
        self._known = _Known(StoreMeta({}, {}), -math.inf)
        self.everything = Prepared(registry, ())

    def get(
        self,
        prepared: Prepared,
        keys: Sequence[Key],
        at_us: int,
        request: Mapping[str, Value] | None,
        on_error: OnError | None,
    ) -> Steps[Rows]:
        """The steps of a read. See `FeatureReader.get`."""
        begun = self._clock()
        error: DependencyError | None = None
        found: dict[int, RawState] = {}
        try:
            asked, found = yield from self._read(prepared, keys, at_us, begun)
        except DependencyError as caught:
            if (on_error or self.options.on_error) == "raise":
                raise
            error, asked = caught, self._asked(prepared, keys)
        return self._rows(asked, found, begun, at_us, request, error)

    def _read(
        self, prepared: Prepared, keys: Sequence[Key], at_us: int, begun: float
    ) -> Steps[tuple[list[_Asked], dict[int, RawState]]]:
        """The keys asked, and the state of every one of them."""
        yield from self._know(begun)
        while True:
            asked = self._asked(prepared, keys)
            found = self._hits(asked, begun)
            missing = [i for i in range(len(asked)) if i not in found]
            overdue = begun >= self._known.until_s
            if missing or overdue:
                moved = yield from self._fill(asked, missing, found, overdue, begun)
                if moved:
                    continue
                for i in missing:
                    self._states.put(asked[i].name, Kept(found[i], begun, at_us))
            return asked, found

    def _hits(self, asked: Sequence[_Asked], now_s: float) -> dict[int, RawState]:
        if self.options.cache_ttl_s <= 0:
            return {}
        fresh = ((i, self._states.fresh(one.name, now_s)) for i, one in enumerate(asked))
        return {i: state for i, state in fresh if state is not None}

    def _fill(
        self, asked: Sequence[_Asked], missing: Sequence[int], found: dict[int, RawState], overdue: bool, begun: float
    ) -> Steps[bool]:
        """Read what is missing, in one round trip; True when the versions to follow have changed meanwhile."""
        reading = ReadRequest([(asked[i].at.read, asked[i].parts) for i in missing])
        own = reading.commands
        probes: list[tuple[int, Command]] = [
            (i, ("EXISTS", asked[i].at.whole.key(asked[i].parts, suffix)))
            for i in missing
            for suffix in asked[i].at.probes
        ]
        meta_commands = self._operations.keys.commands if overdue else []
        replies = yield from self._operations.request([*own, *(command for _, command in probes), *meta_commands])
        if overdue:
            meta = self._operations.parsed_meta(replies[len(own) + len(probes) :])
            self._known = _Known(meta, begun + META_TTL_S)
            if any(one.at.whole.version != self._version(one.at.whole.group) for one in asked):
                return True
        alive = {
            i for (i, _), reply in zip(probes, replies[len(own) :], strict=False) if self._operations.checked(reply)
        }
        for i, state in zip(missing, reading.raw(replies[: len(own)]), strict=True):
            found[i] = replace(state, exists=True) if i in alive else state
        return False

    def _asked(self, prepared: Prepared, keys: Sequence[Key]) -> list[_Asked]:
        places: dict[str, Place] = {}
        asked = []
        for group, parts in keys:
            at = places.get(group)
            if at is None:
                at = places[group] = prepared.part(group).place(self._version(group))
            asked.append(_Asked(at, parts, (at.token, join_key(parts))))
        return asked

    def _rows(
        self,
        asked: Sequence[_Asked],
        found: Mapping[int, RawState],
        now_s: float,
        at_us: int,
        request: Mapping[str, Value] | None,
        error: DependencyError | None,
    ) -> Rows:
        rows, known = Rows(), self._known
        rows.error = error
        for i, one in enumerate(asked):
            state = found.get(i) if error is None else self._states.fresh(one.name, now_s)
            kept = None if state is not None else self._states.last(one.name, now_s)
            if state is None:
                state = one.at.nothing if kept is None else kept.state
            row = one.at.finalizer.values(state_of(one.at.read, state), at_us, known.completed(one.at.whole), request)
            rows.append(row if kept is None else {name: _stale(value, kept.at_us) for name, value in row.items()})
        return rows

    def _know(self, now_s: float) -> Steps[None]:
        """Ask for what is known of groups, where that never happened."""
        if self._known.until_s == -math.inf:
            self._known = _Known((yield from self._operations.meta()), now_s + META_TTL_S)

    def _version(self, group: str) -> str:
        return self._known.meta.versions.get(group) or self.registry.store_version(group)

    def layout(self, group: str) -> Steps[StoreLayout]:
        """See `FeatureReader.layout`."""
        yield from self._know(self._clock())
        return self.everything.part(group).place(self._version(group)).whole

    def deadline_s(self, given: float | None) -> float | None:
        """The deadline of a read."""
        return self.options.deadline_s if given is None else given


def _stale(value: FeatureValue, read_us: int) -> FeatureValue:
    """A value computed from a state that was read when `read_us` was asked: it knows of no later event."""
    status = value.status if value.status in (NOT_FOUND, DEGRADED, STALE) else STALE
    known = read_us if value.event_time_us is None else max(read_us, value.event_time_us + 1)
    as_of = None if value.as_of_us is None else min(value.as_of_us, known)
    return FeatureValue(value.value, status, as_of, value.event_time_us)
