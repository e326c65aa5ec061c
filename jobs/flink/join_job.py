"""The join job: impressions, clicks, activations, auctions and the catalog -> exactly one example per decision."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jobs.flink.join_sql import statements
from jobs.flink.runtime import load_config, run_statements


def main(argv: Sequence[str]) -> None:
    """Entry point on the cluster: `--config job.json`."""
    config = load_config(argv)
    run_statements(config, statements(config))


if __name__ == "__main__":
    main(sys.argv[1:])
