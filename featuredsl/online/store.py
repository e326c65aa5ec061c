"""Reads and writes of the online store in Redis (7 or later).

A read of any number of (group, entity) pairs is one round trip: one MGET of the rings and one HMGET per
hash go out together. The blocking and the asynchronous store share `ReadRequest`, which makes the
commands and parses the replies. A connection on which anything went wrong in the middle of a call
(timeout, cancellation) is closed, never reused: the next call would otherwise read the replies of this
one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha1
from importlib import resources
from itertools import islice
from types import TracebackType
from typing import Any, Final, Self

import redis
import redis.asyncio
from redis.exceptions import NoScriptError, RedisError, ResponseError

from featuredsl.errors import DependencyError, InputError
from featuredsl.online.codec import Snapshot, encode_snapshot
from featuredsl.online.keys import KeyPart
from featuredsl.online.layout import StoreLayout
from featuredsl.online.meta import MetaKeys, StoreMeta, mark_field, parse_marks, parse_meta
from featuredsl.online.request import Command, EntityRef, EntityState, ReadRequest
from featuredsl.values import Value

__all__ = [
    "AsyncOnlineStore",
    "BatchWrite",
    "EntityRef",
    "EntityState",
    "OnlineStore",
    "ReadRequest",
]

_BATCH: Final = 200
_CONNECTION_TROUBLE: Final = (RedisError, OSError, TimeoutError)


@dataclass(frozen=True, slots=True)
class BatchWrite:
    """Outcome of `write_batch`: keys written, refused as older than both kept, holding something else."""

    written: int = 0
    older: int = 0
    wrong: int = 0


class OnlineStore:
    """Blocking store; safe to share between threads. `timeout_s` bounds each wait for the server.

    `namespace` is the topic prefix of the settings: the versions that readers follow and the completed batch times
    are kept for each namespace apart (the values for each store version).
    """

    def __init__(self, url: str, timeout_s: float = 1.0, *, namespace: str = "") -> None:
        self._url = _safe_url(url)
        self._meta = MetaKeys(namespace)
        with _readable(self._url):
            self._pool = redis.ConnectionPool.from_url(
                url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s, health_check_interval=0
            )

    def read(self, entities: Sequence[EntityRef]) -> list[EntityState]:
        """State of every (layout, key parts), in that order, in one round trip.

        Raises DependencyError when Redis does not answer, CodecError for bytes of another definition.
        """
        if not entities:
            return []
        request = ReadRequest(entities)
        return request.parse(self._round_trip(request.commands))

    def write_batch(
        self,
        layout: StoreLayout,
        tier: str,
        as_of_us: int,
        rows: Iterable[tuple[Sequence[KeyPart], Sequence[Value]]],
    ) -> BatchWrite:
        """Writes the snapshots of a batch tier as of one time; values in the order of the tier's columns.

        Idempotent: the same as_of overwrites, the newest and the one before it stay, older ones are refused.
        """
        batch_tier = layout.batch_tier(tier)
        expire_ms = _expire_ms(as_of_us, layout.expire_after_us)
        totals = [0, 0, 0]
        source = iter(rows)
        while chunk := list(islice(source, _BATCH)):
            keys = [layout.key(parts, "X") for parts, _ in chunk]
            snapshots = [encode_snapshot(batch_tier.columns, Snapshot(as_of_us, tuple(v))) for _, v in chunk]
            counts = self._script(keys, [batch_tier.hash_field, expire_ms, *snapshots])
            totals = [total + count for total, count in zip(totals, counts, strict=True)]
        return BatchWrite(*totals)

    def current(self, groups: Sequence[str]) -> dict[str, str]:
        """Store version that readers follow, for those of the groups that have one."""
        if not groups:
            return {}
        reply = self._command(("HMGET", self._meta.current, *groups))
        return {g: version.decode() for g, version in zip(groups, reply, strict=True) if version is not None}

    def set_current(self, group: str, version: str) -> None:
        """Moves the readers of a group to a store version."""
        self._command(("HSET", self._meta.current, group, version))

    def mark_batch(self, layout: StoreLayout, tier: str, as_of_us: int) -> None:
        """Records that a batch tier is complete as of a time; the newest and the one before it are kept.

        An entity that has no snapshot as of a marked time had no event in its windows then.
        """
        name = mark_field(layout.group, layout.version, tier)
        old = parse_marks(self._command(("HGET", self._meta.marks, name)))
        kept = sorted({*old, as_of_us}, reverse=True)[:2]
        self._command(("HSET", self._meta.marks, name, ",".join(map(str, kept))))

    def meta(self) -> StoreMeta:
        """The versions that readers follow and the completed batch times, in one round trip."""
        return parse_meta([self._unwrapped(reply) for reply in self._round_trip(self._meta.commands)])

    def round_trip(self, commands: Sequence[Command]) -> list[Any]:
        """Replies to commands of the caller's own, sent together; an error of the server stands in its place.

        Raises DependencyError when Redis does not answer.
        """
        return self._round_trip(commands) if commands else []

    def ping(self) -> None:
        """Raises DependencyError when Redis does not answer."""
        self._command(("PING",))

    def close(self) -> None:
        """Closes all connections."""
        self._pool.disconnect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _script(self, keys: Sequence[str], args: Sequence[str | bytes | int]) -> list[int]:
        reply = self._round_trip([("EVALSHA", _SNAPSHOT_SHA, len(keys), *keys, *args)])[0]
        if isinstance(reply, NoScriptError):
            reply = self._round_trip([("EVAL", _SNAPSHOT_LUA, len(keys), *keys, *args)])[0]
        return [int(count) for count in self._unwrapped(reply)]

    def _command(self, command: Command) -> Any:
        return self._unwrapped(self._round_trip([command])[0])

    def _unwrapped(self, reply: Any) -> Any:
        if isinstance(reply, RedisError):
            message = f"Redis at {self._url} refused: {reply}"
            raise DependencyError(message) from reply
        return reply

    def _round_trip(self, commands: Sequence[Command]) -> list[Any]:
        connection = None
        try:
            connection = self._pool.get_connection()
            connection.send_packed_command(connection.pack_commands(commands))
            return [_reply(connection) for _ in commands]
        except BaseException as error:
            if connection is not None:
                connection.disconnect()
            if isinstance(error, _CONNECTION_TROUBLE):
                raise _unreachable(self._url, error) from error
            raise
        finally:
            if connection is not None:
                self._pool.release(connection)


class AsyncOnlineStore:
    """Asynchronous reads of a namespace; use it within one event loop. `timeout_s` bounds a whole read."""

    def __init__(self, url: str, timeout_s: float = 1.0, *, namespace: str = "") -> None:
        self._url = _safe_url(url)
        self._meta = MetaKeys(namespace)
        self._timeout_s = timeout_s
        with _readable(self._url):
            self._pool = redis.asyncio.ConnectionPool.from_url(
                url, socket_connect_timeout=timeout_s, health_check_interval=0
            )

    async def read(self, entities: Sequence[EntityRef]) -> list[EntityState]:
        """Like `OnlineStore.read`."""
        if not entities:
            return []
        request = ReadRequest(entities)
        return request.parse(await self._round_trip(request.commands))

    async def current(self, groups: Sequence[str]) -> dict[str, str]:
        """Like `OnlineStore.current`."""
        if not groups:
            return {}
        reply = (await self._round_trip([("HMGET", self._meta.current, *groups)]))[0]
        if isinstance(reply, RedisError):
            message = f"Redis at {self._url} refused: {reply}"
            raise DependencyError(message) from reply
        return {g: version.decode() for g, version in zip(groups, reply, strict=True) if version is not None}

    async def meta(self) -> StoreMeta:
        """Like `OnlineStore.meta`."""
        replies = await self._round_trip(self._meta.commands)
        for reply in replies:
            if isinstance(reply, RedisError):
                message = f"Redis at {self._url} refused: {reply}"
                raise DependencyError(message) from reply
        return parse_meta(replies)

    async def ping(self) -> None:
        """Raises DependencyError when Redis does not answer."""
        await self._round_trip([("PING",)])

    async def close(self) -> None:
        """Closes all connections."""
        await self._pool.disconnect()

    async def _round_trip(self, commands: Sequence[Command]) -> list[Any]:
        connection = None
        try:
            async with asyncio.timeout(self._timeout_s):
                connection = await self._pool.get_connection()
                await connection.send_packed_command(connection.pack_commands(commands))
                return [await _async_reply(connection) for _ in commands]
        except BaseException as error:
            if connection is not None:
                await connection.disconnect(nowait=True)
            if isinstance(error, _CONNECTION_TROUBLE):
                raise _unreachable(self._url, error) from error
            raise
        finally:
            if connection is not None:
                await self._pool.release(connection)


def _reply(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error


async def _async_reply(connection: Any) -> Any:
    try:
        return await connection.read_response()
    except ResponseError as error:
        return error


def _unreachable(url: str, error: BaseException) -> DependencyError:
    reason = str(error) or type(error).__name__
    return DependencyError(
        f"Redis at {url} does not answer ({reason}); start it with `featuredsl up` or check the address"
    )


def _safe_url(url: str) -> str:
    scheme, separator, rest = url.rpartition("://")
    return scheme + separator + rest.rpartition("@")[2]


@contextmanager
def _readable(url: str) -> Iterator[None]:
    """Raise InputError where the client cannot read the address `url`."""
    try:
        yield
    except ValueError as error:
        msg = f"{url!r} is not a Redis address ({error}); write it as redis://host:port"
        raise InputError(msg) from error


def _expire_ms(as_of_us: int, expire_after_us: int) -> int:
    return -(-(as_of_us + expire_after_us) // 1000) if expire_after_us else 0


_SNAPSHOT_LUA: Final = resources.files("featuredsl.online").joinpath("lua/snapshot.lua").read_text("utf-8")
_SNAPSHOT_SHA: Final = sha1(_SNAPSHOT_LUA.encode(), usedforsecurity=False).hexdigest()
