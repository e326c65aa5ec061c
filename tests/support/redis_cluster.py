"""A Redis Cluster of a test's own: three masters and a replica of the first, plain servers on 127.0.0.1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis
import redis.crc

from localstack.process import free_ports
from tests.support.redis_process import RedisProcess, redis_process
from tests.support.wait import until

SLOTS = 16384
MASTERS = 3


@dataclass(frozen=True, slots=True)
class RedisCluster:
    """The masters, then the replica of the first master."""

    nodes: tuple[RedisProcess, ...]

    @property
    def url(self) -> str:
        """Two of the nodes as starting points."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{port_of(node)}" for node in self.nodes[:2])

    def owner(self, key: str) -> int:
        """Number of the master that a key belonged to at the start."""
        return redis.crc.key_slot(key.encode()) * MASTERS // SLOTS

    def client(self, key: str) -> Any:
        """The client of the master that a key belonged to at the start."""
        return self.nodes[self.owner(key)].client

    @property
    def masters(self) -> list[RedisProcess]:
        """The masters of now."""
        alive = [node for node in self.nodes if node.process.poll() is None]
        return [node for node in alive if node.client.info("replication")["role"] == "master"]

    def flush(self) -> None:
        """Empty all masters."""
        for node in self.masters:
            node.client.flushall()

    def dump(self) -> dict[bytes, object]:
        """Every key of all masters."""
        return {key: _asked(node, key) for node in self.masters for key in node.client.scan_iter(count=10_000)}

    def start_moving(self, slot: int, source: int, target: int) -> None:
        """Declare a slot as moving from one master to another; its keys are still at the source."""
        ids = [node.client.execute_command("CLUSTER MYID").decode() for node in self.nodes]
        self.nodes[target].client.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[source])
        self.nodes[source].client.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[target])

    def move_keys(self, slot: int, source: int, target: int, count: int = 1000) -> int:
        """Move keys of a slot that is moving; says how many."""
        giver, port = self.nodes[source].client, port_of(self.nodes[target])
        keys = giver.execute_command("CLUSTER GETKEYSINSLOT", slot, count)
        if keys:
            giver.execute_command("MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", *keys)
        return len(keys)

    def finish_moving(self, slot: int, target: int) -> None:
        """Give a slot to its new master."""
        new = self.nodes[target].client.execute_command("CLUSTER MYID").decode()
        for node in (self.nodes[target], *self.nodes[:MASTERS]):
            node.client.execute_command("CLUSTER SETSLOT", slot, "NODE", new)

    def promote(self) -> None:
        """Kill the first master and let its replica take over."""
        self.nodes[0].process.kill()
        self.nodes[0].process.wait()
        self.nodes[MASTERS].client.execute_command("CLUSTER FAILOVER TAKEOVER")


def port_of(node: RedisProcess) -> int:
    """The port of a node."""
    return int(node.client.connection_pool.connection_kwargs["port"])


@contextmanager
def redis_cluster(folder: Path) -> Iterator[RedisCluster]:
    """An empty cluster, ended at exit."""
    with ExitStack() as stack:
        nodes = []
        for number in range(MASTERS + 1):
            home = folder / f"node{number}"
            home.mkdir()
            (bus,) = free_ports(1)
            options = ("--cluster-enabled", "yes", "--cluster-port", str(bus), "--cluster-node-timeout", "2000",
                       "--repl-diskless-sync-delay", "0")  # fmt: skip
            nodes.append((stack.enter_context(redis_process(home, *options)), bus))
        for number, (node, _) in enumerate(nodes[:MASTERS]):
            own = [slot for slot in range(SLOTS) if slot * MASTERS // SLOTS == number]
            node.client.execute_command("CLUSTER ADDSLOTSRANGE", own[0], own[-1])
        first_node = nodes[0][0].client
        for node, bus in nodes[1:]:
            first_node.execute_command("CLUSTER MEET", "127.0.0.1", port_of(node), bus)
        for node, _ in nodes:
            until(lambda node=node: _knows(node.client, MASTERS + 1), 30, "all nodes are known")
        nodes[MASTERS][0].client.execute_command(
            "CLUSTER REPLICATE", first_node.execute_command("CLUSTER MYID").decode()
        )
        for node, _ in nodes:
            until(lambda node=node: _info(node.client)["cluster_state"] == "ok", 30, "the cluster is ok")
        until(lambda: first_node.info("replication")["connected_slaves"] == 1, 30, "the replica follows")
        yield RedisCluster(tuple(node for node, _ in nodes))


def _asked(node: RedisProcess, key: bytes) -> object:
    """The value of a string or hash at a node, also of one whose slot is still on its way there."""
    read = "GET" if key.endswith(b"R") else "HGETALL"
    with node.client.pipeline(transaction=False) as pipeline:
        pipeline.execute_command("ASKING")
        pipeline.execute_command(read, key)
        return pipeline.execute()[1]


def _info(client: redis.Redis) -> dict[str, str]:
    return client.execute_command("CLUSTER INFO")  # type: ignore[no-any-return]


def _knows(client: redis.Redis, nodes: int) -> bool:
    return int(_info(client)["cluster_known_nodes"]) == nodes
