"""The feature job: event topics to the online store, for one bundle of groups."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from featuredsl.compilers.flink import GroupTarget, StreamConfig
from featuredsl.compilers.flink import statements as compile_statements
from featuredsl.registry import Registry
from featuredsl.tiles import store_layout
from jobs.flink.runtime import load_config, run_statements

KEYS = ("kafka", "redis", "prefix", "group_id", "registry", "versions")


def statements(config: Mapping[str, Any]) -> list[str]:
    """The SQL of the job. `config` has kafka, redis, prefix, group_id, registry (folder) and versions: group to the
    store version that it fills; `refills` may map topics to those with what they have forgotten."""
    registry = Registry.load(config["registry"])
    plans = {version: registry.plan_of(name, version) for name, version in config["versions"].items()}
    targets = [GroupTarget(plan, store_layout(plan, version)) for version, plan in plans.items()]
    return compile_statements(targets, stream_config(config))


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
    run_statements(config, statements(config))


if __name__ == "__main__":
    main(sys.argv[1:])
