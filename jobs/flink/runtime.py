"""What every Flink job module needs on the client: its configuration, a table environment, one statement set."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

CHECKPOINT_INTERVAL_MS = 10_000
RESTART_ATTEMPTS = 5
RESTART_DELAY_MS = 2_000


def load_config(argv: Sequence[str]) -> dict[str, Any]:
    """The job's configuration: `--config FILE` (JSON)."""
    parser = argparse.ArgumentParser(description="A Flink job of featuredsl; submitted by `featuredsl run`.")
    parser.add_argument("--config", type=Path, required=True)
    config: dict[str, Any] = json.loads(parser.parse_args(argv).config.read_text(encoding="utf-8"))
    return config


def options(config: Mapping[str, Any]) -> dict[str, str]:
    """Flink's options for a job.

    `config` may name parallelism (1), checkpoint_interval_ms (10000), idle_timeout_ms (0: event time of a quiet
    partition stands still, right where heartbeats are sent), mini_batch_ms (50; 0 turns it off), state_ttl_ms (0:
    keep for ever), python_bundle_ms (50) and execution_mode (process).
    """
    mini_batch = int(config.get("mini_batch_ms", 50))
    values: dict[str, object] = {
        "pipeline.name": config["name"],
        "parallelism.default": config.get("parallelism", 1),
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": config["checkpoint_dir"],
        "execution.checkpointing.interval": f"{config.get('checkpoint_interval_ms', CHECKPOINT_INTERVAL_MS)} ms",
        "execution.checkpointing.timeout": "10 min",
        "execution.checkpointing.tolerable-failed-checkpoints": 5,
        "execution.checkpointing.num-retained": 3,
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.buffer-timeout.interval": "5 ms",
        "pipeline.auto-watermark-interval": "100 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": config.get("restart_attempts", RESTART_ATTEMPTS),
        "restart-strategy.fixed-delay.delay": f"{RESTART_DELAY_MS} ms",
        "table.local-time-zone": "UTC",
        "table.exec.source.idle-timeout": f"{config.get('idle_timeout_ms', 0)} ms",
        "table.exec.state.ttl": f"{config.get('state_ttl_ms', 0)} ms",
        "table.exec.mini-batch.enabled": "true" if mini_batch else "false",
        "python.execution-mode": config.get("execution_mode", "process"),
        "python.fn-execution.bundle.time": config.get("python_bundle_ms", 50),
    }
    if mini_batch:
        values["table.exec.mini-batch.allow-latency"] = f"{mini_batch} ms"
        values["table.exec.mini-batch.size"] = 5000
    return {name: str(value) for name, value in values.items()} | dict(config.get("flink_options", {}))


def table_environment(config: Mapping[str, Any]) -> StreamTableEnvironment:
    """A streaming table environment with our options and jars."""
    environment = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    for name, value in options(config).items():
        environment.get_config().set(name, value)
    environment.get_config().set("pipeline.jars", ";".join(config["jars"]))
    return environment


def run_statements(config: Mapping[str, Any], statements: Sequence[str]) -> None:
    """Execute DDL in order and all INSERTs as one job."""
    environment = table_environment(config)
    inserts = environment.create_statement_set()
    for statement in statements:
        if statement.lstrip().upper().startswith("INSERT"):
            inserts.add_insert_sql(statement)
        else:
            environment.execute_sql(statement)
    inserts.execute()
