"""How a feature job runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tuning:
    """How the job runs: `mini_batch_ms` trades freshness for volume; `state_backend` is heap or rocksdb; a partition
    without records holds no window back after `idle_timeout_ms` (0: it does, heartbeats move it)."""

    parallelism: int = 1
    mini_batch_ms: int = 50
    checkpoint_interval_ms: int = 10_000
    idle_timeout_ms: int = 0
    state_backend: str = "heap"

    def config(self) -> dict[str, Any]:
        """The part of a job configuration."""
        return {
            "parallelism": self.parallelism,
            "mini_batch_ms": self.mini_batch_ms,
            "checkpoint_interval_ms": self.checkpoint_interval_ms,
            "idle_timeout_ms": self.idle_timeout_ms,
            "flink_options": {
                "state.backend.type": {"heap": "hashmap"}.get(self.state_backend, self.state_backend),
                "pipeline.object-reuse": "true",
            },
        }

    @property
    def planned(self) -> str:
        """What of it is part of a compiled plan, for the plan's name."""
        return f"-mb{self.mini_batch_ms}-idle{self.idle_timeout_ms}"
