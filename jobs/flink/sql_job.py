"""A job made of hand-written SQL: the statements of its configuration, with our runtime, formats and sinks."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.flink.runtime import load_config, run_statements


def statements(config: Mapping[str, Any]) -> list[str]:
    """The statements as given: DDL first, then INSERTs, which become one job."""
    return [str(statement) for statement in config["statements"]]


def main(argv: Sequence[str]) -> None:
    """Entry point on the cluster: `--config job.json`."""
    config = load_config(argv)
    run_statements(config, statements(config))


if __name__ == "__main__":
    main(sys.argv[1:])
