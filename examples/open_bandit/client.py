"""A small HTTP/1.1 client for the scoring service: keep-alive connections, bounded by their number."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

from featuredsl.errors import DependencyError

TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Reply:
    """Status and body of an answer."""

    status: int
    body: bytes


@dataclass(slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class ServiceClient:
    """Sends requests over at most `connections` connections at once. Belongs to one event loop."""

    def __init__(self, url: str, connections: int) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or "127.0.0.1"
        self._port = parts.port or 80
        self._free: asyncio.Queue[_Connection | None] = asyncio.Queue()
        for _ in range(connections):
            self._free.put_nowait(None)

    async def post(self, path: str, payload: bytes) -> Reply:
        """POST a JSON body. Raises DependencyError when the service does not answer in time."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(payload)}\r\n\r\n"
        )
        return await self._request(head.encode() + payload)

    async def get(self, path: str) -> Reply:
        """GET a resource. Raises DependencyError when the service does not answer in time."""
        return await self._request(f"GET {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n\r\n".encode())

    async def close(self) -> None:
        """Close the idle connections."""
        while not self._free.empty():
            connection = self._free.get_nowait()
            if connection is not None:
                connection.writer.close()

    async def _request(self, raw: bytes) -> Reply:
        connection = await self._free.get()
        kept: _Connection | None = None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                kept, reply = await self._exchange(connection, raw)
        except (OSError, TimeoutError, EOFError, ValueError) as error:
            msg = f"the scoring service at {self._host}:{self._port} does not answer: {error!r}"
            raise DependencyError(msg) from error
        finally:
            self._free.put_nowait(kept)
        return reply

    async def _exchange(self, idle: _Connection | None, raw: bytes) -> tuple[_Connection, Reply]:
        """One request; on a connection that the service has closed meanwhile it is repeated on a new one."""
        if idle is not None:
            try:
                return idle, await _send(idle, raw)
            except (ConnectionError, EOFError):
                pass
        fresh = await self._connect()
        return fresh, await _send(fresh, raw)

    async def _connect(self) -> _Connection:
        return _Connection(*await asyncio.open_connection(self._host, self._port))


async def _send(connection: _Connection, raw: bytes) -> Reply:
    try:
        connection.writer.write(raw)
        return await _read_reply(connection.reader)
    except BaseException:
        connection.writer.close()
        raise


async def _read_reply(reader: asyncio.StreamReader) -> Reply:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(head[0].split(" ", 2)[1])
    length = 0
    for line in head[1:]:
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            length = int(value)
    return Reply(status, await reader.readexactly(length))
