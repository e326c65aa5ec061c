"""A Redis server for the tests of the online store, emptied before each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.redis_process import RedisProcess, redis_process


@pytest.fixture(scope="package")
def redis_of_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    with redis_process(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def server(redis_of_package: RedisProcess) -> RedisProcess:
    redis_of_package.client.flushall()
    return redis_of_package
