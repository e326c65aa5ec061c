"""A Redis that may drop live features is refused before a job starts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from featuredsl.errors import InputError
from featuredsl.online.store import OnlineStore
from jobs.flink.admission import check_eviction
from tests.support.redis_process import RedisProcess


@pytest.fixture
def store(server: RedisProcess) -> Iterator[OnlineStore]:
    with OnlineStore(server.url) as found:
        yield found
    server.client.config_set("maxmemory-policy", "noeviction")


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-random"])
def test_refused(store: OnlineStore, server: RedisProcess, policy: str) -> None:
    server.client.config_set("maxmemory-policy", policy)
    with pytest.raises(InputError, match=rf"maxmemory-policy {policy}, .*; set it to noeviction or volatile-ttl"):
        check_eviction(store, server.url)


@pytest.mark.parametrize("policy", ["noeviction", "volatile-ttl"])
def test_taken(store: OnlineStore, server: RedisProcess, policy: str) -> None:
    server.client.config_set("maxmemory-policy", policy)
    check_eviction(store, server.url)
