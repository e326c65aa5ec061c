"""Our Redis sink in real jobs, into a Redis Cluster and over TLS as a user with few rights.

Each test sends events and compares all of Redis with a recount of everything sent so far.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from featuredsl.online.cluster import key_slot
from jobs.flink.handle import JobHandle
from jobs.flink.submit import submit
from jobs.kafka import ensure_topics, producer
from localstack.process import free_ports
from tests.support.certificates import make_certificates
from tests.support.connector_job import LAYOUT, ConnectorJob, random_events, recount, wire
from tests.support.documented import acl_rules
from tests.support.redis_cluster import MASTERS, redis_cluster
from tests.support.redis_process import redis_process
from tests.support.stack import TestStack

WAIT_S = 240.0


class Sender:
    """Sends events to a job's topic and knows what Redis must hold then."""

    def __init__(self, where: ConnectorJob, job: JobHandle) -> None:
        self.where, self.job = where, job
        self.sent: list[dict[str, Any]] = []
        self.rng = random.Random(7)

    def send(self, count: int) -> dict[bytes, object]:
        """So many more events; waits until they are through, gives the recount of all."""
        events = random_events(self.rng, count)
        self.sent += events
        out = producer(self.where.settings.kafka)
        for number, event in enumerate(events):
            out.produce(self.where.topic, wire(event), partition=number % 2)
        out.flush(30)
        self.job.wait_lag_zero(WAIT_S)
        return recount(self.sent)


@contextmanager
def running(stack: TestStack, url: str, name: str) -> Iterator[Sender]:
    where = ConnectorJob(stack.need("kafka", "flink"), url, name)
    ensure_topics(where.settings.kafka, [where.topic, f"{where.topic}.dlq"])
    job = submit("jobs.flink.sql_job", where.config, where.settings)
    try:
        job.wait_running(WAIT_S)
        yield Sender(where, job)
        assert job.exceptions() == []
    finally:
        job.cancel()


def test_a_cluster_whose_slots_move_and_whose_master_dies(stack: TestStack, tmp_path: Path) -> None:
    with redis_cluster(tmp_path) as cluster, running(stack, cluster.url, "cluster") as sender:
        assert sender.send(2000) == cluster.dump()
        assert len({cluster.owner(key.decode()) for key in cluster.dump()}) == MASTERS
        key = LAYOUT.key(("é", 0), "R")
        slot, source = key_slot(key), cluster.owner(key)
        target = (source + 1) % MASTERS
        cluster.start_moving(slot, source, target)
        assert sender.send(500) == cluster.dump()
        assert cluster.move_keys(slot, source, target) > 0
        assert sender.send(500) == cluster.dump()
        cluster.finish_moving(slot, target)
        cluster.nodes[1].client.script_flush()
        assert sender.send(500) == cluster.dump()
        for node in cluster.masters:
            node.client.execute_command("WAIT", 1 if node is cluster.nodes[0] else 0, 5000)
        cluster.promote()
        assert sender.send(500) == cluster.dump()
        assert cluster.nodes[MASTERS] in cluster.masters


def test_tls_with_certificates_and_the_documented_user(stack: TestStack, tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    (port,) = free_ports(1)
    options = {
        "tls-port": str(port),
        "tls-cert-file": certificates.path("server.pem"),
        "tls-key-file": certificates.path("server.key"),
        "tls-ca-cert-file": certificates.path("ca.pem"),
        "tls-auth-clients": "yes",
    }
    pairs = [text for key, value in options.items() for text in (f"--{key}", value)]
    files = {"ssl_ca_certs": "ca.pem", "ssl_certfile": "client.pem", "ssl_keyfile": "client.key"}
    query = "&".join(f"{name}={certificates.path(file)}" for name, file in files.items())
    with redis_process(tmp_path, *pairs) as server:
        server.client.execute_command("ACL SETUSER", "featuredsl-stream", *acl_rules("featuredsl-stream"), ">p@ss")
        url = f"rediss://featuredsl-stream:p%40ss@127.0.0.1:{port}/0?{query}"
        with running(stack, url, "tls") as sender:
            assert sender.send(500) == server.dump()
            server.client.script_flush()
            assert sender.send(500) == server.dump()
