"""One start of a job at a time, on whatever machine: a lock in Redis that its owner alone gives back."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from featuredsl.errors import InputError
from featuredsl.online.store import OnlineStore

LIFE_MS: Final = 600_000
"""A lock that was left behind ends after ten minutes."""
_HOLD: Final = (
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIREAT', KEYS[1], ARGV[2]) end return 0"
)
_RELEASE: Final = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


@contextmanager
def one_start(redis: str, namespace: str, name: str) -> Iterator[Callable[[], None]]:
    """Hold the lock of the job `name`; what it gives holds it for ten more minutes.

    Raises InputError when another start has it.
    """
    key, token = f"featuredsl:{namespace}starting:{name}", secrets.token_hex(8)
    with OnlineStore(redis) as store:
        if store.replies([("SET", key, token, "NX", "PX", LIFE_MS)])[0] is None:
            msg = f"another start of {name} is under way; if it was killed, try again in ten minutes"
            raise InputError(msg)

    def hold() -> None:
        with OnlineStore(redis) as store:
            store.replies([("EVAL", _HOLD, 1, key, token, time.time_ns() // 1_000_000 + LIFE_MS)])

    try:
        yield hold
    finally:
        with OnlineStore(redis) as store:
            store.replies([("EVAL", _RELEASE, 1, key, token)])
