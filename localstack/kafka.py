"""One Kafka broker in KRaft mode, started from the jars that the set-up fetched."""

from __future__ import annotations

import secrets
import subprocess
from base64 import urlsafe_b64encode
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from featuredsl.errors import DependencyError
from jobs.java import SMALL_JVM, java
from localstack.process import kept_ports, service_env
from localstack.service import HOST, PROBE_TIMEOUT_S, Layout, Part, Service

MAX_MESSAGE_BYTES = 8 * 1024 * 1024


def kafka(layout: Layout) -> Part:
    """The broker on two ports; they and its log folder are kept between starts."""
    client, controller = kept_ports(layout.folder("kafka") / "ports", 2)
    address = f"{HOST}:{client}"
    config = layout.folder("kafka") / "server.properties"
    data = layout.home / "kafka" / "data"
    command = _java(layout, "-Xms256m", "-Xmx512m")

    def prepare() -> None:
        config.write_text(_properties(client, controller, data), encoding="utf-8")
        if not (data / "meta.properties").exists():
            _format(command, config, layout)

    broker = Service("kafka", (*command, "kafka.Kafka", str(config)), {"TZ": "UTC"}, lambda: probe_kafka(address))
    return Part("kafka", prepare, (broker,), address)


def probe_kafka(address: str) -> str | None:
    """None when the broker answers a metadata request."""
    try:
        AdminClient({"bootstrap.servers": address, "log_level": 0}).list_topics(timeout=PROBE_TIMEOUT_S)
    except KafkaException as error:
        return f"the broker at {address} does not answer ({error.args[0].str()})"
    return None


def _java(layout: Layout, *options: str) -> tuple[str, ...]:
    jars = layout.jars / "kafka"
    if not any(jars.glob("kafka_2.13-*.jar")):
        msg = f"no Kafka jars in {jars}: run `./run setup` or set FEATUREDSL_JARS"
        raise DependencyError(msg)
    logging = (
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
    )
    return (java(), *options, *layout.java_options(), *logging, "-cp", f"{jars}/*")


def _format(command: tuple[str, ...], config: Path, layout: Layout) -> None:
    cluster = urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=").lstrip("-") or "featuredsl"
    tool = (command[0], *SMALL_JVM, *command[1:], "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(config))
    done = subprocess.run(
        tool, env=service_env({"TZ": "UTC"}), capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode != 0:
        tail = (done.stderr or done.stdout).strip()[-800:]
        msg = f"cannot format Kafka's storage in {layout.home / 'kafka'}: {tail}"
        raise DependencyError(msg)


def _properties(client: int, controller: int, data: Path) -> str:
    values = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "listeners": f"PLAINTEXT://{HOST}:{client},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{client}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": data,
        "num.partitions": 2,
        "auto.create.topics.enable": "false",
        "log.retention.ms": -1,
        "message.max.bytes": MAX_MESSAGE_BYTES,
        "replica.fetch.max.bytes": MAX_MESSAGE_BYTES,
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "controlled.shutdown.enable": "false",
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())
