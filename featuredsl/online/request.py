"""One read of the online store without a connection: its commands, and the parsing of their replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, repeat
from typing import Any

import msgspec
from msgspec.structs import replace

from featuredsl.errors import CodecError, DependencyError
from featuredsl.online.codec import Rank, Snapshot, Tile, decode_rank, decode_ring, decode_snapshots
from featuredsl.online.exchange import Command, ReplyError
from featuredsl.online.keys import KeyPart
from featuredsl.online.layout import StoreLayout
from featuredsl.online.session_codec import StoredSessions, decode_sessions
from featuredsl.online.wide_codec import WideTile, decode_wide

EntityRef = tuple[StoreLayout, Sequence[KeyPart]]


class EntityState(msgspec.Struct, frozen=True):
    """What is stored for one entity of one group; `exists` is False when neither key is there."""

    exists: bool
    ring: Mapping[str, Sequence[Tile]]
    lookups: Mapping[str, Rank]
    batch: Mapping[str, tuple[Snapshot, ...]]
    wide: Mapping[str, tuple[WideTile, ...]] = msgspec.field(default_factory=dict)
    sessions: Mapping[str, StoredSessions] = msgspec.field(default_factory=dict)


class RawState(msgspec.Struct, frozen=True, gc=False):
    """The bytes of one entity: its ring, and the fields of its hash in the order of the layout.

    `exists` is True when the entity is known to exist by a key that was not read.
    """

    ring: bytes | None
    fields: Sequence[bytes | None]
    exists: bool = False


class RawRequest:
    """The commands of one read and the bytes in their replies; knows no connection.

    `texts` are the entities' keys as one text each, `rings` the keys of their rings where nothing else is read.
    """

    def __init__(
        self, layouts: Sequence[StoreLayout], texts: Sequence[str], rings: Sequence[str] | None = None
    ) -> None:
        self._layouts = layouts
        named = list(zip(layouts, texts, strict=True)) if rings is None else []
        ring_keys = rings or [layout.key_of(text, "R") for layout, text in named if layout.ring]
        hashes = [(layout.key_of(text, "X"), layout.hash_fields) for layout, text in named if layout.hash_fields]
        self._hash_keys = [key for key, _ in hashes]
        self._only_rings = not hashes and len(ring_keys) == len(layouts)
        self._mget: list[Command] = [("MGET", *ring_keys)] if ring_keys else []
        self._hmgets: list[Command] = [("HMGET", key, *fields) for key, fields in hashes]

    @property
    def commands(self) -> list[Command]:
        """Commands of the one round trip, in the order in which `raw` wants the replies."""
        return self._mget + self._hmgets

    def raw(self, replies: Sequence[Any]) -> list[RawState]:
        """The bytes of each entity, in the order of the request."""
        rings: Iterator[Any] = iter(self._checked(replies[0], "MGET") if self._mget else ())
        hashes = iter(replies[len(self._mget) :])
        keys = iter(self._hash_keys)
        if self._only_rings:
            return list(map(RawState, rings, repeat(())))
        return [
            RawState(
                next(rings) if layout.ring else None,
                self._checked(next(hashes), next(keys)) if layout.hash_fields else (),
            )
            for layout in self._layouts
        ]

    @staticmethod
    def _checked(reply: Any, key: str) -> Any:
        if isinstance(reply, ReplyError):
            message = f"Redis refused to read {key}: {reply}"
            raise (CodecError if reply.code == "WRONGTYPE" else DependencyError)(message) from reply
        return reply


class ReadRequest(RawRequest):
    """The commands of one read and the parsing of their replies."""

    def __init__(self, entities: Sequence[EntityRef]) -> None:
        super().__init__([layout for layout, _ in entities], [layout.text(parts) for layout, parts in entities])

    def parse(self, replies: Sequence[Any]) -> list[EntityState]:
        """One state per entity, in the order of the request."""
        raw = self.raw(replies)
        return [state_of(layout, one) for layout, one in zip(self._layouts, raw, strict=True)]


def state_of(layout: StoreLayout, raw: RawState) -> EntityState:
    """What the bytes of an entity hold. Raises CodecError, StateError for bytes of another definition."""
    state = _state(layout, raw.ring, raw.fields)
    return replace(state, exists=True) if raw.exists and not state.exists else state


def _state(layout: StoreLayout, ring: bytes | None, values: Sequence[bytes | None]) -> EntityState:
    if not layout.hash_fields:
        return EntityState(ring is not None, decode_ring(layout, ring), {}, {}, {})
    exists = ring is not None or any(value is not None for value in values)
    rest = iter(values)
    ranks = [(item, next(rest)) for item in layout.lookups]
    lookups = {item.name: decode_rank(item.columns, value) for item, value in ranks if value is not None}
    batch = {tier.name: decode_snapshots(tier.columns, next(rest)) for tier in layout.batch}
    wide = {tier.name: decode_wide(tier, islice(rest, tier.slots)) for tier in layout.wide}
    sessions = {item.name: decode_sessions(item, next(rest)) for item in layout.sessions}
    return EntityState(exists, decode_ring(layout, ring), lookups, batch, wide, sessions)
