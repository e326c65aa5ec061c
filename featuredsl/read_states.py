"""The states that a reader read last, by key: fresh ones spare a round trip, older ones stand in when Redis is away.

Kept are the bytes as they were stored, so that every read decodes values of its own and the time of a read stays an
argument. Bounded: what was read from Redis longest ago goes first. Times are seconds of a monotonic clock that the
caller gives.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from threading import Lock

import msgspec

from featuredsl.online.request import RawState


class Kept(msgspec.Struct, frozen=True, gc=False):
    """A state, when its reading began, and the event time that was asked then.

    `marks` are the completed times of batch tiers, read no later than the state: an entity that lacks the snapshot of
    a later one may have had it since.
    """

    state: RawState
    marks: Mapping[str, tuple[int, ...]]
    read_s: float
    at_us: int


class ReadStates:
    """At most `entries` states; a state is fresh for `ttl_s` and usable for `max_age_s`. Safe between threads."""

    def __init__(self, entries: int, ttl_s: float, max_age_s: float) -> None:
        self._entries, self._ttl_s, self._max_age_s = entries, ttl_s, max_age_s
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def fresh(self, key: Hashable, now_s: float) -> Kept | None:
        """The state, when it may be used instead of reading again."""
        kept = self._kept.get(key) if self._ttl_s > 0 else None
        return kept if kept is not None and now_s - kept.read_s < self._ttl_s else None

    def last(self, key: Hashable, now_s: float) -> Kept | None:
        """What was read last, unless that is too long ago."""
        kept = self._kept.get(key)
        return kept if kept is not None and now_s - kept.read_s <= self._max_age_s else None

    def put(self, keys: Iterable[Hashable], states: Iterable[Kept]) -> None:
        """Keep states, each unless one of a later read is there."""
        if self._entries <= 0:
            return
        everything = self._kept
        get, move_to_end = everything.get, everything.move_to_end
        with self._lock:
            for key, kept in zip(keys, states, strict=True):
                earlier = get(key)
                if earlier is None:
                    everything[key] = kept
                    continue
                if earlier.read_s <= kept.read_s:
                    everything[key] = kept
                move_to_end(key)
            while len(everything) > self._entries:
                everything.popitem(last=False)
