"""The join job's SQL, as text. A change here is a change of running jobs: read it.

Regenerate with `python -m tests.golden.test_join_sql`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.flink.join_sql import statements

FOLDER = Path(__file__).with_name("join")
BASE = {"kafka": "kafka:1", "prefix": "p.", "group_id": "p.join"}
CONFIGS: dict[str, dict[str, Any]] = {
    "full": BASE,
    "two_inputs": BASE
    | {
        "inputs": ["impressions", "clicks"],
        "window_ms": 60_000,
        "late_ms": 0,
        "reward": "sum",
        "delivery": "at-least-once",
    },
    "two_shards": BASE | {"parallelism": 2, "inputs": ["impressions", "clicks", "catalog"]},
}


def program(name: str) -> str:
    return ";\n\n".join(statements(CONFIGS[name])) + ";\n"


@pytest.mark.parametrize("name", CONFIGS)
def test_program_is_the_golden_one(name: str) -> None:
    assert program(name) == (FOLDER / f"{name}.sql").read_text(encoding="utf-8")


if __name__ == "__main__":
    for config in CONFIGS:
        (FOLDER / f"{config}.sql").write_text(program(config), encoding="utf-8")
