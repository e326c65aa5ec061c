"""The steps of a read, whatever the wire: one round trip for any number of groups and entities.

The round trip asks for the state of every key that is not kept fresh and, every 100 ms, for what is known of groups
as a whole (the versions to follow, and completed batch times of the groups asked). When Redis does not answer before
the deadline, a read raises, or gives what was read last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from featuredsl.errors import DependencyError
from featuredsl.finalize import DEGRADED, NOT_FOUND, STALE, FeatureValue
from featuredsl.nodes import Value
from featuredsl.online.exchange import Command, Steps
from featuredsl.online.keys import KeyPart
from featuredsl.online.layout import StoreLayout
from featuredsl.online.meta import StoreMeta
from featuredsl.online.operations import Operations
from featuredsl.online.request import RawRequest
from featuredsl.prepared import Place, Prepared
from featuredsl.read_rows import row_of, rows_of
from featuredsl.read_states import Kept, ReadStates
from featuredsl.registry import Registry
from featuredsl.rows import Row, Rows
from featuredsl.times import asked_us

META_TTL_S: Final = 0.1
_NONE: Final[Mapping[str, tuple[int, ...]]] = {}

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


class _Asked(NamedTuple):
    """Keys of a read side by side: where each stands, its parts as one text, the name under which its state is kept."""

    places: list[Place]
    texts: list[str]
    names: list[str]


class _Known(msgspec.Struct, frozen=True):
    """What is known of groups as a whole, and until when it need not be asked again: the versions to follow, and the
    completed times of batch tiers and of deferred streams, by field, of those groups that were asked for since."""

    versions: Mapping[str, str]
    until_s: float
    marks: Mapping[str, tuple[int, ...]] = {}

    def with_more(self, meta: StoreMeta, now_s: float) -> _Known:
        """With what was asked for now; all of it is forgotten together."""
        if now_s >= self.until_s:
            return _Known(meta.versions, now_s + META_TTL_S, meta.times)
        return _Known(meta.versions, self.until_s, {**self.marks, **meta.times})


class Core:
    """What both readers share; everything but the wire."""

    def __init__(self, operations: Operations, registry: Registry, options: ReadOptions, clock: Clock) -> None:
        self._operations = operations
        self.registry, self.options = registry, options
        self._clock = clock
        self._states = ReadStates(options.kept, options.cache_ttl_s, options.stale_max_age_s)
        self._known = _Known({}, -math.inf)
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
        begun, at_us = self._clock(), asked_us(at_us)
        try:
            asked, found = yield from self._read(prepared, keys, at_us, begun)
        except DependencyError as error:
            if (on_error or self.options.on_error) == "raise":
                raise
            asked = self._asked(prepared, keys)
            named = zip(asked.places, asked.names, strict=True)
            return Rows([self._stood_in(at, name, begun, at_us, request) for at, name in named], error)
        return Rows(rows_of(list(zip(asked.places, found, strict=True)), at_us, request))

    def _read(
        self, prepared: Prepared, keys: Sequence[Key], at_us: int, begun: float
    ) -> Steps[tuple[_Asked, list[Kept]]]:
        """The keys asked, and the state of every one of them."""
        if self._known.until_s == -math.inf:
            yield from self._know(begun)
        while True:
            asked = self._asked(prepared, keys)
            hits = self._hits(asked.names, begun)
            missing = asked if not hits else _without(asked, hits)
            if missing.names or begun >= self._known.until_s:
                read = yield from self._fill(asked, missing, begun, at_us)
                if read is None:
                    continue
                self._states.put(missing.names, read)
                if not hits:
                    return asked, read
                hits.update(zip(missing.names, read, strict=True))
            return asked, [hits[name] for name in asked.names]

    def _hits(self, names: Sequence[str], now_s: float) -> dict[str, Kept]:
        if self.options.cache_ttl_s <= 0:
            return {}
        fresh = ((name, self._states.fresh(name, now_s)) for name in names)
        return {name: kept for name, kept in fresh if kept is not None}

    def _fill(self, asked: _Asked, missing: _Asked, begun: float, at_us: int) -> Steps[list[Kept] | None]:
        """What is missing, read in one round trip; None when the versions to follow have changed meanwhile.

        Completed batch times are asked before the states: a state that was read first could lack what a later mark
        says is there. The nodes of a cluster answer in any order, so times that are new come before another round trip.
        """
        places = dict.fromkeys(missing.places)
        rings = missing.names if all(at.is_ring for at in places) else None
        reading = RawRequest([at.read for at in missing.places], missing.texts, rings)
        own = reading.commands
        probes = _probes(missing) if any(at.probes for at in places) else []
        known = self._known
        expired = begun >= known.until_s
        named = {} if expired else known.marks
        marked = [at for at in places if at.marks or at.closed]
        fields = _unknown((at.marks for at in marked), named) if marked else []
        closed = _unknown((at.closed for at in marked), named) if marked else []
        whole = self._operations.keys.read_commands(fields, closed) if fields or closed or expired else []
        replies = yield from self._operations.request([*whole, *own, *(command for _, command in probes)])
        if whole:
            meta = self._operations.parsed_read(fields, closed, replies[: len(whole)])
            before, known = known.marks, known.with_more(meta, begun)
            self._known = known
            if self._operations.address.cluster and any(before.get(name) != now for name, now in meta.times.items()):
                return None
            if any(at.whole.version != self._version(at.whole.group) for at in dict.fromkeys(asked.places)):
                return None
        states = reading.raw(replies[len(whole) : len(whole) + len(own)])
        answers = zip(probes, replies[len(whole) + len(own) :], strict=True)
        for number in {number for (number, _), reply in answers if self._operations.checked(reply)}:
            states[number] = replace(states[number], exists=True)
        marks = {at: {t: known.marks[field] for t, field in (at.marks | at.closed).items()} for at in marked}
        of = [marks.get(at, _NONE) for at in missing.places] if marks else repeat(_NONE)
        return list(map(Kept, states, of, repeat(begun), repeat(at_us)))

    def _asked(self, prepared: Prepared, keys: Sequence[Key]) -> _Asked:
        known: dict[str, Place] = {}
        places, texts, names = [], [], []
        for group, parts in keys:
            at = known.get(group)
            if at is None:
                at = known[group] = prepared.part(group).place(self._version(group))
            text = at.text(parts)
            places.append(at)
            texts.append(text)
            names.append(at.name(text))
        return _Asked(places, texts, names)

    def _stood_in(self, at: Place, name: str, now_s: float, at_us: int, request: Mapping[str, Value] | None) -> Row:
        """The features of one key from what is kept, where Redis did not answer."""
        fresh = self._states.fresh(name, now_s)
        last = None if fresh is not None else self._states.last(name, now_s)
        kept = fresh or last or Kept(at.nothing, {}, now_s, at_us)
        row = row_of(at, kept, at_us, request)
        return row if last is None else {name: _stale(value, last.at_us) for name, value in row.items()}

    def _know(self, now_s: float) -> Steps[None]:
        """Ask for what is known of groups, where that never happened."""
        if self._known.until_s == -math.inf:
            (reply,) = yield from self._operations.request(self._operations.keys.read_commands(()))
            self._known = self._known.with_more(self._operations.parsed_read((), (), [reply]), now_s)

    def _version(self, group: str) -> str:
        return self._known.versions.get(group) or self.registry.store_version(group)

    def layout(self, group: str) -> Steps[StoreLayout]:
        """See `FeatureReader.layout`."""
        yield from self._know(self._clock())
        return self.everything.part(group).place(self._version(group)).whole

    def deadline_s(self, given: float | None) -> float | None:
        """The deadline of a read."""
        return self.options.deadline_s if given is None else given


def _without(asked: _Asked, hits: Collection[str]) -> _Asked:
    """Those of the keys whose states are not there."""
    left = [one for one in zip(*asked, strict=True) if one[2] not in hits]
    return _Asked([at for at, _, _ in left], [text for _, text, _ in left], [name for _, _, name in left])


def _probes(asked: _Asked) -> list[tuple[int, Command]]:
    """By number of the key, what has to be asked to know whether an entity exists at all."""
    return [
        (number, ("EXISTS", at.whole.key_of(text, suffix)))
        for number, (at, text) in enumerate(zip(asked.places, asked.texts, strict=True))
        for suffix in at.probes
    ]


def _unknown(needed: Iterable[Mapping[str, str]], known: Mapping[str, tuple[int, ...]]) -> list[str]:
    """The fields of completed times that are needed beside those known."""
    return list(dict.fromkeys(field for marks in needed for field in marks.values() if field not in known))


def _stale(value: FeatureValue, read_us: int) -> FeatureValue:
    """A value computed from a state that was read when `read_us` was asked: it knows of no later event."""
    status = value.status if value.status in (NOT_FOUND, DEGRADED, STALE) else STALE
    known = read_us if value.event_time_us is None else max(read_us, value.event_time_us + 1)
    as_of = None if value.as_of_us is None else min(value.as_of_us, known)
    return FeatureValue(value.value, status, as_of, value.event_time_us)
