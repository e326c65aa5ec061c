"""Reads and writes of the online store in Redis (7 or later): a single server, or a cluster.

Every operation is a generator of exchanges (`operations.py`), which the blocking and the asynchronous store run over
their own wires.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from featuredsl.online.async_wire import AsyncWire
from featuredsl.online.codec import Snapshot, encode_snapshot
from featuredsl.online.exchange import Command, Steps
from featuredsl.online.keys import KeyPart
from featuredsl.online.layout import StoreLayout
from featuredsl.online.meta import StoreMeta
from featuredsl.online.operations import Operations
from featuredsl.online.request import EntityRef, EntityState, ReadRequest
from featuredsl.online.wire import Wire
from featuredsl.values import Value

__all__ = [
    "AsyncOnlineStore",
    "BatchWrite",
    "EntityRef",
    "EntityState",
    "OnlineStore",
    "ReadRequest",
]

T = TypeVar("T")
_BATCH: Final = 200


@dataclass(frozen=True, slots=True)
class BatchWrite:
    """Outcome of `write_batch`: keys written, refused as older than both kept, holding something else."""

    written: int = 0
    older: int = 0
    wrong: int = 0


class OnlineStore:
    """Blocking store; safe to share between threads. `timeout_s` bounds each operation (of `write_batch` each call).

    `url` is any address of `featuredsl.online.address`. `namespace` is the topic prefix of the settings: the versions
    that readers follow and the completed batch times are kept for each namespace apart (the values for each store
    version). Every operation raises DependencyError when Redis does not answer in time or refuses.
    """

    def __init__(self, url: str, timeout_s: float = 1.0, *, namespace: str = "") -> None:
        self.operations = Operations(url, namespace)
        self.timeout_s = timeout_s
        self._wire = Wire(self.operations.address)

    def run(self, steps: Steps[T], deadline_s: float | None = None) -> T:
        """The result of steps made of `operations`, all within a deadline (default: the time-out)."""
        return self._wire.run(steps, self.timeout_s if deadline_s is None else deadline_s)

    def read(self, entities: Sequence[EntityRef]) -> list[EntityState]:
        """State of every (layout, key parts), in that order, in one round trip.

        Raises CodecError for bytes of another definition.
        """
        return self.run(self.operations.read(entities))

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
            counts = self.run(self.operations.snapshots(keys, [batch_tier.hash_field, expire_ms, *snapshots]))
            totals = [total + count for total, count in zip(totals, counts, strict=True)]
        return BatchWrite(*totals)

    def current(self, groups: Sequence[str]) -> dict[str, str]:
        """Store version that readers follow, for those of the groups that have one."""
        return self.run(self.operations.current(groups))

    def filling(self, groups: Sequence[str]) -> dict[str, str]:
        """Store version that is filled beside the current one, for those of the groups that have one."""
        return self.run(self.operations.filling(groups))

    def set_current(self, group: str, version: str) -> None:
        """Moves the readers of a group to a store version; no other one is being filled then.

        Completed batch times are forgotten of all its versions but this one and the one before, which readers may
        still be following and to which they may be moved back.
        """
        self.run(self.operations.set_current(group, version))

    def set_filling(self, group: str, version: str) -> None:
        """Records that a store version is filled beside the current one: batch runs write it too."""
        self.run(self.operations.command("HSET", self.operations.keys.filling, group, version))

    def mark_batch(self, layout: StoreLayout, tier: str, as_of_us: int) -> None:
        """Records that a batch tier is complete as of a time; the newest and the one before it are kept.

        An entity that has no snapshot as of a marked time had no event in its windows then.
        """
        self.run(self.operations.mark_batch(layout, tier, as_of_us))

    def meta(self) -> StoreMeta:
        """The versions that readers follow and the completed batch times, in one round trip."""
        return self.run(self.operations.meta())

    def round_trip(self, commands: Sequence[Command]) -> list[Any]:
        """Replies to commands of the caller's own, sent together; an error of the server stands in its place.

        Raises DependencyError when Redis does not answer.
        """
        return self.run(self.operations.request(commands)) if commands else []

    def replies(self, commands: Sequence[Command]) -> list[Any]:
        """As `round_trip`, but an error of the server is a DependencyError that names the command."""
        for command, reply in zip(commands, found := self.round_trip(commands), strict=True):
            self.operations.checked(reply, str(command[0]))
        return found

    def everywhere(self, *command: str | bytes | int) -> list[Any]:
        """The replies of all nodes of a cluster to one command, or that of the only server."""
        return self.run(self.operations.everywhere(*command))

    def ping(self) -> None:
        """Raises DependencyError when Redis does not answer."""
        self.run(self.operations.command("PING"))

    def close(self) -> None:
        """Closes all connections."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncOnlineStore:
    """Asynchronous reads, like those of `OnlineStore`; use it within one event loop."""

    def __init__(self, url: str, timeout_s: float = 1.0, *, namespace: str = "") -> None:
        self.operations = Operations(url, namespace)
        self.timeout_s = timeout_s
        self._wire = AsyncWire(self.operations.address)

    async def run(self, steps: Steps[T], deadline_s: float | None = None) -> T:
        """Like `OnlineStore.run`."""
        return await self._wire.run(steps, self.timeout_s if deadline_s is None else deadline_s)

    async def read(self, entities: Sequence[EntityRef]) -> list[EntityState]:
        """Like `OnlineStore.read`."""
        return await self.run(self.operations.read(entities))

    async def current(self, groups: Sequence[str]) -> dict[str, str]:
        """Like `OnlineStore.current`."""
        return await self.run(self.operations.current(groups))

    async def meta(self) -> StoreMeta:
        """Like `OnlineStore.meta`."""
        return await self.run(self.operations.meta())

    async def ping(self) -> None:
        """Raises DependencyError when Redis does not answer."""
        await self.run(self.operations.command("PING"))

    async def close(self) -> None:
        """Closes all connections."""
        await self._wire.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _expire_ms(as_of_us: int, expire_after_us: int) -> int:
    return -(-(as_of_us + expire_after_us) // 1000) if expire_after_us else 0
