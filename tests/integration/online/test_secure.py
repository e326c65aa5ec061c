"""Redis as it is run elsewhere: TLS with certificates of both sides, users who may do only what is needed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from featuredsl.errors import DependencyError, InputError
from featuredsl.online.codec import Tile, encode_ring
from featuredsl.online.layout import BatchTier, Column, RingTier, StoreLayout
from featuredsl.online.progress import key, reset_commands, streams_key
from featuredsl.online.store import AsyncOnlineStore, BatchWrite, OnlineStore
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from jobs.clock import check_clock
from jobs.flink.admission import check_eviction
from jobs.flink.start_lock import one_start
from jobs.spark.batch import BatchJob, run_batch
from localstack.process import free_ports
from tests.support.certificates import Certificates, make_certificates
from tests.support.documented import acl_rules
from tests.support.redis_process import RedisProcess, redis_process

LAYOUT = StoreLayout(
    "g",
    "v1",
    (Column("u", "int"),),
    (RingTier("e/5m", 300_000_000, 4, (Column("n", "int"),)),),
    (),
    (BatchTier("1h", (Column("n", "int"),)),),
    1,
)
FAR_US = 4_000_000_000_000_000
Secured = Callable[[str, str], tuple[RedisProcess, str]]


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return make_certificates(tmp_path)


@pytest.fixture
def secured(certificates: Certificates, tmp_path: Path) -> Iterator[Secured]:
    """Starts a server with a certificate, that asks its clients for theirs or not; gives its TLS host and port."""
    with ExitStack() as stack:

        def start(name: str, clients: str) -> tuple[RedisProcess, str]:
            (port,) = free_ports(1)
            options = {
                "tls-port": str(port),
                "tls-cert-file": certificates.path(f"{name}.pem"),
                "tls-key-file": certificates.path(f"{name}.key"),
                "tls-ca-cert-file": certificates.path("ca.pem"),
                "tls-auth-clients": clients,
            }
            home = tmp_path / name
            home.mkdir()
            pairs = [text for key, value in options.items() for text in (f"--{key}", value)]
            return stack.enter_context(redis_process(home, *pairs)), f"127.0.0.1:{port}"

        yield start


def read(url: str, *, timeout_s: float = 2.0) -> None:
    """Both stores read the one entity that `fill` wrote."""
    with OnlineStore(url, timeout_s) as store:
        assert store.read([(LAYOUT, (7,))])[0].ring["e/5m"][0].values == (7,)

    async def scenario() -> None:
        other = AsyncOnlineStore(url, timeout_s)
        try:
            assert (await other.read([(LAYOUT, (7,))]))[0].ring["e/5m"][0].values == (7,)
        finally:
            await other.close()

    asyncio.run(scenario())


def fill(server: RedisProcess) -> None:
    server.client.set(LAYOUT.key((7,), "R"), encode_ring(LAYOUT, {"e/5m": [Tile(5, 1, 1_600_000_000, (7,))]}))


def test_tls_with_the_certificates_of_both_sides(secured: Secured, certificates: Certificates) -> None:
    server, host = secured("server", "yes")
    fill(server)
    ca = f"ssl_ca_certs={certificates.path('ca.pem')}"
    own = f"ssl_certfile={certificates.path('client.pem')}&ssl_keyfile={certificates.path('client.key')}"
    read(f"rediss://{host}/0?{ca}&{own}")
    for url, reason in (
        (f"rediss://{host}/0?{ca}", "does not answer"),  # the server wants to know who asks
        (f"rediss://{host}/0?{own}", "certificate verify failed"),  # its authority is not known here
        (f"redis://{host}/0", "does not answer"),
    ):
        with pytest.raises(DependencyError, match=reason):
            read(url, timeout_s=1.0)


def test_the_certificate_must_be_that_of_the_host(secured: Secured, certificates: Certificates) -> None:
    server, host = secured("elsewhere", "no")
    fill(server)
    with pytest.raises(DependencyError, match=r"certificate is not valid for '127\.0\.0\.1'"):
        read(f"rediss://{host}/0?ssl_ca_certs={certificates.path('ca.pem')}")


def test_users_with_the_documented_commands_only(server: RedisProcess) -> None:
    fill(server)
    for user in ("featuredsl-read", "featuredsl-batch"):
        server.client.execute_command("ACL SETUSER", user, "reset", *acl_rules(user))
        server.client.execute_command("ACL SETUSER", user, ">p%40ss")
    try:
        address = server.url.removeprefix("redis://")
        url = "redis://{}:p%2540ss@" + address
        read(url.format("featuredsl-read"))
        with OnlineStore(url.format("featuredsl-read")) as store:
            store.ping()
            store.meta()
            with pytest.raises(DependencyError, match="refused: NOPERM"):
                store.set_current("g", "v1")
        with OnlineStore(url.format("featuredsl-batch")) as store:
            assert store.write_batch(LAYOUT, "1h", FAR_US, [((7,), (1,))]) == BatchWrite(written=1)
            server.client.script_flush()
            assert store.write_batch(LAYOUT, "1h", FAR_US, [((7,), (1,))]) == BatchWrite(written=1)
            check_clock(store, time.time_ns() // 1000)
            store.set_current("g", "v1")
            store.mark_batch(LAYOUT, "1h", FAR_US)
            assert store.current(["g"]) == {"g": "v1"}
        wrong = f"redis://featuredsl-read:other@{address}"
        with pytest.raises(DependencyError, match="refused: WRONGPASS") as caught:
            read(wrong)
        assert "other" not in str(caught.value)
    finally:
        server.client.execute_command("ACL DELUSER", "featuredsl-read", "featuredsl-batch")


def test_the_user_of_stream_jobs_may_do_what_starting_and_watching_them_takes(server: RedisProcess) -> None:
    server.client.execute_command("ACL SETUSER", "featuredsl-stream", "reset", *acl_rules("featuredsl-stream"), ">pw")
    server.client.hset(key("group", "clicks", "accepted"), mapping={"n": 1})
    try:
        url = "redis://featuredsl-stream:pw@" + server.url.removeprefix("redis://")
        with OnlineStore(url) as store:
            check_eviction(store, url)
            check_clock(store, time.time_ns() // 1000)
            server.client.config_set("maxmemory-policy", "allkeys-lru")
            with pytest.raises(InputError, match="maxmemory-policy allkeys-lru"):
                check_eviction(store, url)
            store.replies(reset_commands("group", ["clicks"]))
            assert server.client.exists(key("group", "clicks", "accepted")) == 0
            refused = pytest.raises(InputError, match="another start of job")
            with one_start(url, "", "job"), refused, one_start(url, "", "job"):
                pass
            with one_start(url, "", "job"):
                server.client.set("featuredsl:starting:job", "another's")
            assert server.client.get("featuredsl:starting:job") == b"another's"
            store.replies([("HSET", streams_key(""), "job", "{}")])
            assert store.replies([("HVALS", streams_key(""))]) == [[b"{}"]]
            assert store.write_batch(LAYOUT, "1h", FAR_US, [((7,), (1,))]) == BatchWrite(written=1)
            store.set_filling("g", "v1")
            store.set_current("g", "v1")
            assert store.current(["g"]) == {"g": "v1"}
    finally:
        server.client.config_set("maxmemory-policy", "noeviction")
        server.client.execute_command("ACL DELUSER", "featuredsl-stream")


def test_a_batch_run_is_not_ahead_of_the_time_of_redis(server: RedisProcess) -> None:
    """Its horizon would lie where records are yet to come, which no later read could tell from none."""
    now_us = time.time_ns() // 1000
    with OnlineStore(server.url) as store:
        for ahead_s in (-86_400, 0, 55):
            check_clock(store, now_us + ahead_s * 1_000_000)
        for ahead_s in (70, 3600):
            with pytest.raises(InputError, match="is ahead of the time of Redis"):
                check_clock(store, now_us + ahead_s * 1_000_000)
        settings = Settings(Path(), Path(), Path(), "", kafka="127.0.0.1:1", redis=server.url)
        with pytest.raises(InputError, match="is ahead of the time of Redis"):
            run_batch(None, BatchJob(settings, (), Registry({}, {})), now_us + 70_000_000, print)  # type: ignore[arg-type]


def test_a_command_that_is_not_allowed_is_named(server: RedisProcess) -> None:
    """Before a start: eviction is not taken for safe, counts not for forgotten, because Redis would not say."""
    server.client.execute_command("ACL SETUSER", "reader", "reset", *acl_rules("featuredsl-read"), ">pw")
    try:
        url = "redis://reader:pw@" + server.url.removeprefix("redis://")
        with OnlineStore(url) as store:
            assert store.replies([("HVALS", streams_key(""))]) == [[]]
            with pytest.raises(DependencyError, match="refused INFO: NOPERM") as caught:
                check_eviction(store, url)
            assert "pw" not in str(caught.value)
            with pytest.raises(DependencyError, match="refused DEL: NOPERM"):
                store.replies(reset_commands("group", ["clicks"]))
    finally:
        server.client.execute_command("ACL DELUSER", "reader")
