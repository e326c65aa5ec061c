"""A Redis server of a test's own, which it may freeze, break or fill."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from localstack.process import free_ports
from localstack.redis_server import probe_redis, redis_binary
from tests.support.stack import JARS
from tests.support.wait import until


@dataclass(frozen=True, slots=True)
class RedisProcess:
    """A running server: its address, its process, a client."""

    url: str
    process: subprocess.Popen[bytes]
    client: Any  # the types of redis-py mix blocking and asynchronous results

    def freeze(self) -> None:
        """Stop it from answering; connections stay open."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it answer again."""
        self.process.send_signal(signal.SIGCONT)

    def dump(self) -> dict[bytes, object]:
        """Every key with its value: bytes of a string, mapping of a hash."""
        content: dict[bytes, object] = {}
        for key in self.client.scan_iter(count=10_000):
            kind = self.client.type(key)
            content[key] = self.client.get(key) if kind == b"string" else self.client.hgetall(key)
        return content


@contextmanager
def redis_process(folder: Path, *options: str) -> Iterator[RedisProcess]:
    """An empty server on a free port of 127.0.0.1, ended at exit."""
    (port,) = free_ports(1)
    binary, env = redis_binary(JARS)
    command = [binary, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--save", "", *options]
    process = subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.DEVNULL)
    url = f"redis://127.0.0.1:{port}/0"
    client = redis.Redis.from_url(url)
    try:
        until(lambda: probe_redis(url) is None, 20, f"Redis at {url}")
        yield RedisProcess(url, process, client)
    finally:
        client.close()
        process.kill()
        process.wait()
