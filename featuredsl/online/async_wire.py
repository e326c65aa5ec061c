"""Connections to Redis for asyncio: the same exchanges as `wire.Wire`, all legs at once.

A connection serves one exchange at a time and is closed when that one fails or is cancelled.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, TypeVar

from featuredsl.online.address import Address, Node
from featuredsl.online.exchange import (
    PENDING,
    TROUBLE,
    Answer,
    ConnectionLost,
    Leg,
    Pause,
    ReplyError,
    Steps,
    check_greeting,
    packed,
    reply_parser,
)

T = TypeVar("T")


class _Connection(asyncio.Protocol):
    """Replies of one exchange at a time; bytes that nobody waits for end the connection."""

    def __init__(self) -> None:
        self._parser = reply_parser()
        self._transport: asyncio.Transport | None = None
        self._wanted = 0
        self._replies: list[Any] = []
        self._waiter: asyncio.Future[list[Any]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self._parser.feed(data)
        try:
            while (reply := self._parser.gets()) is not PENDING:
                self._replies.append(reply)
        except TROUBLE as error:
            self._end(error)
            return
        if self._waiter is None or len(self._replies) > self._wanted:
            self._end(ConnectionLost("the server sent what no one asked for"))
        elif len(self._replies) == self._wanted and not self._waiter.done():
            self._waiter.set_result(self._replies)

    def connection_lost(self, error: Exception | None) -> None:
        self._end(error if isinstance(error, OSError) else ConnectionLost("the server closed the connection"))

    async def ask(self, data: bytes, count: int) -> list[Any]:
        """The replies to `count` commands; closes itself when cancelled."""
        if not self.usable or self._transport is None:
            raise ConnectionLost("the server closed the connection")
        self._waiter, self._wanted, self._replies = asyncio.get_running_loop().create_future(), count, []
        try:
            self._transport.write(data)
            return await self._waiter
        except BaseException:
            self.close()
            raise
        finally:
            self._waiter = None

    @property
    def usable(self) -> bool:
        """False once it is closed."""
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    def _end(self, error: Exception) -> None:
        self.close()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)


class AsyncWire:
    """Runs steps over pooled connections, within one event loop."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._context = address.tls_context()
        self._idle: dict[Node, list[_Connection]] = {}

    async def run(self, steps: Steps[T], deadline_s: float) -> T:
        """Like `Wire.run`."""
        deadline = time.monotonic() + deadline_s
        try:
            asked = next(steps)
            while True:
                if isinstance(asked, Pause):
                    await asyncio.sleep(max(0.0, min(asked.seconds, deadline - time.monotonic())))
                    asked = steps.send(())
                elif len(asked) == 1:
                    asked = steps.send([await self._leg(asked[0], deadline)])
                else:
                    asked = steps.send(await asyncio.gather(*(self._leg(leg, deadline) for leg in asked)))
        except StopIteration as done:
            result: T = done.value
            return result

    async def _leg(self, leg: Leg, deadline: float) -> Answer:
        connection = None
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                connection = await self._taken(leg.node)
                replies = await connection.ask(packed(leg.commands), len(leg.commands))
        except TimeoutError:
            return TimeoutError("no answer within the deadline")
        except (*TROUBLE, ReplyError) as error:
            return error
        self._idle.setdefault(leg.node, []).append(connection)
        return replies

    async def _taken(self, node: Node) -> _Connection:
        idle = self._idle.get(node)
        while idle:
            connection = idle.pop()
            if connection.usable:
                return connection
        return await self._opened(node)

    async def _opened(self, node: Node) -> _Connection:
        loop = asyncio.get_running_loop()
        if node[1] == 0:
            _, connection = await loop.create_unix_connection(_Connection, node[0])
        else:
            name = node[0] if self._context is not None else None
            _, connection = await loop.create_connection(_Connection, *node, ssl=self._context, server_hostname=name)
        greeting = self._address.greeting
        if greeting:
            try:
                check_greeting(await connection.ask(packed(greeting), len(greeting)))
            except BaseException:
                connection.close()
                raise
        return connection

    async def close(self) -> None:
        """Close all idle connections."""
        for idle in self._idle.values():
            while idle:
                idle.pop().close()
