"""The feature job: event topics to the online store, for one bundle of groups."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from featuredsl.compilers.flink import GroupTarget, StreamConfig
from featuredsl.compilers.flink import statements as compile_statements
from featuredsl.compilers.flink_sources import drops_duplicates
from featuredsl.registry import Registry
from featuredsl.tiles import store_layout
from jobs.flink.runtime import load_config, run_statements

KEYS = ("kafka", "redis", "prefix", "group_id", "registry", "versions")


def statements(config: Mapping[str, Any]) -> list[str]:
    """The SQL of the job. `config` has kafka, redis, prefix, group_id, registry (folder) and versions: group to the
    store version that it fills; `refills` may map topics to those with what they have forgotten."""
    return compile_statements(targets(config), stream_config(config))


def targets(config: Mapping[str, Any]) -> list[GroupTarget]:
    """The groups of the job, and the layouts that it fills."""
    registry = Registry.load(config["registry"])
    plans = {version: registry.plan_of(name, version) for name, version in config["versions"].items()}
    return [GroupTarget(plan, store_layout(plan, version)) for version, plan in plans.items()]


def tuned(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without mini-batches where the job drops duplicates: a process table function before an
    aggregation makes Flink end its mini-batches by event time, and the last events of a quiet topic would wait."""
    single = any(drops_duplicates(target.plan) for target in targets(config))
    return {**config, "mini_batch_ms": 0} if single else dict(config)


def stream_config(config: Mapping[str, Any]) -> StreamConfig:
    """The addresses of a job configuration."""
    return StreamConfig(
        kafka=config["kafka"],
        redis=config["redis"],
        prefix=config["prefix"],
        group_id=config["group_id"],
        refills=config.get("refills", {}),
    )


def main(argv: Sequence[str]) -> None:
    """Entry point on the cluster: `--config job.json`."""
    config = load_config(argv)
    run_statements(tuned(config), statements(config))


if __name__ == "__main__":
    main(sys.argv[1:])
