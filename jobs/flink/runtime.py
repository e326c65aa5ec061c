"""What every Flink job module needs on the client: its configuration, a table environment, one statement set."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import CompiledPlan, PlanReference, StatementSet, StreamTableEnvironment

CHECKPOINT_INTERVAL_MS = 10_000
RESTART_ATTEMPTS = 8
RESTART_DELAY_MS = 1_000
RESTART_MAX_DELAY_MS = 30_000
RESTART_RESET_MS = 300_000
EVENTS_PER_MS = 100


def load_config(argv: Sequence[str]) -> dict[str, Any]:
    """The job's configuration: `--config FILE` (JSON)."""
    parser = argparse.ArgumentParser(description="A Flink job of featuredsl; submitted by `featuredsl run`.")
    parser.add_argument("--config", type=Path, required=True)
    config: dict[str, Any] = json.loads(parser.parse_args(argv).config.read_text(encoding="utf-8"))
    return config


def options(config: Mapping[str, Any]) -> dict[str, str]:
    """Flink's options for a job.

    `config` may name parallelism (1), checkpoint_interval_ms (10000), idle_timeout_ms (0: event time of a quiet
    partition stands still, right where heartbeats are sent), mini_batch_ms (50; 0 turns it off; a task may gather 100
    events for each of them, 5,000 to 500,000), state_ttl_ms (0: keep for ever), restart_attempts (8 in a row),
    python_bundle_ms (50) and execution_mode (process).
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
        **_restarts(int(config.get("restart_attempts", RESTART_ATTEMPTS))),
        "table.local-time-zone": "UTC",
        "table.plan.compile.catalog-objects": "SCHEMA",
        "table.exec.source.idle-timeout": f"{config.get('idle_timeout_ms', 0)} ms",
        "table.exec.state.ttl": f"{config.get('state_ttl_ms', 0)} ms",
        "table.exec.mini-batch.enabled": "true" if mini_batch else "false",
        "python.execution-mode": config.get("execution_mode", "process"),
        "python.fn-execution.bundle.time": config.get("python_bundle_ms", 50),
    }
    if mini_batch:
        values["table.exec.mini-batch.allow-latency"] = f"{mini_batch} ms"
        values["table.exec.mini-batch.size"] = min(max(5_000, EVENTS_PER_MS * mini_batch), 500_000)
    return {name: str(value) for name, value in values.items()} | dict(config.get("flink_options", {}))


def _restarts(attempts: int) -> dict[str, object]:
    """Growing waits between restarts; `attempts` in a row end the job, and some minutes without a failure count anew.

    A fixed number over the life of a job would end one that runs for months after its sixth lost machine.
    """
    if attempts == 0:
        return {"restart-strategy.type": "none"}
    name = "restart-strategy.exponential-delay"
    return {
        "restart-strategy.type": "exponential-delay",
        f"{name}.initial-backoff": f"{RESTART_DELAY_MS} ms",
        f"{name}.max-backoff": f"{RESTART_MAX_DELAY_MS} ms",
        f"{name}.backoff-multiplier": "2.0",
        f"{name}.reset-backoff-threshold": f"{RESTART_RESET_MS} ms",
        f"{name}.attempts-before-reset-backoff": attempts,
    }


def table_environment(config: Mapping[str, Any]) -> StreamTableEnvironment:
    """A streaming table environment with our options and jars."""
    environment = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    for name, value in options(config).items():
        environment.get_config().set(name, value)
    environment.get_config().set("pipeline.jars", ";".join(config["jars"]))
    return environment


def run_statements(config: Mapping[str, Any], statements: Sequence[str]) -> None:
    """Execute DDL in order and all INSERTs as one job.

    With `plan`, the name of a file, the INSERTs are compiled and kept there before they run; where the file exists,
    what it holds runs instead of them: the operators of a job that goes on from state are those that wrote it.
    """
    environment = table_environment(config)
    inserts: list[str] = []
    for statement in statements:
        if statement.lstrip().upper().startswith("INSERT"):
            inserts.append(statement)
        else:
            environment.execute_sql(statement)
    if "plan" not in config:
        _together(environment, inserts).execute()
        return
    path = Path(config["plan"])
    if not path.exists():
        _keep(_together(environment, inserts).compile_plan(), path)
    loaded = environment.load_plan(PlanReference.from_file(path))
    CompiledPlan(loaded._j_compiled_plan, environment).execute()  # PyFlink 2.2 gives it an environment that cannot run


def _together(environment: StreamTableEnvironment, inserts: Sequence[str]) -> StatementSet:
    made = environment.create_statement_set()
    for insert in inserts:
        made.add_insert_sql(insert)
    return made


def _keep(plan: CompiledPlan, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(plan.as_json_string(), encoding="utf-8")
    part.replace(path)
