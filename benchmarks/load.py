"""A small HTTP load generator: keep-alive connections in one process, closed or paced loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """`connections` callers for `seconds`; `rate` requests a second in all, 0 for as fast as answers come."""

    host: str
    port: int
    connections: int
    seconds: float
    rate: float = 0.0


async def post_forever(load: Load, path: str, body: Callable[[int], bytes]) -> list[float]:
    """Latencies in seconds of all answered requests. With a rate they count from when a request was due."""
    start = time.perf_counter()
    results = await asyncio.gather(*(_caller(load, path, body, number, start) for number in range(load.connections)))
    return sorted(latency for latencies in results for latency in latencies)


async def _caller(load: Load, path: str, body: Callable[[int], bytes], number: int, start: float) -> list[float]:
    reader, writer = await asyncio.open_connection(load.host, load.port)
    latencies: list[float] = []
    interval = load.connections / load.rate if load.rate else 0.0
    turn = 0
    while (now := time.perf_counter()) - start < load.seconds:
        due = start + (turn + number / load.connections) * interval if interval else now
        if due > now:
            await asyncio.sleep(due - now)
        payload = body(turn * load.connections + number)
        writer.write(b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (path.encode(), len(payload)))
        writer.write(payload)
        await _answer(reader)
        latencies.append(time.perf_counter() - due)
        turn += 1
    writer.close()
    return latencies


async def _answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head[:15]:
        raise RuntimeError(head.decode(errors="replace"))
    fields = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:] if b": " in line)
    await reader.readexactly(int(fields[b"content-length"]))


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the sorted values lie."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
