"""The programs of the demo's definitions, as text. A change here is a change of running jobs: read it.

Regenerate with `python -m tests.golden.test_compiled`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB, SPARK
from featuredsl.loader import load_definitions
from featuredsl.tiles import store_layout

FOLDER = Path(__file__).with_name("compilers")
DEFINITIONS = Path(__file__).parents[2] / "examples" / "open_bandit" / "definitions.py"
CONFIG = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")


def program(target: str) -> str:
    """The text of one target."""
    plans = list(load_definitions(DEFINITIONS).values())
    if target == "flink":
        parts = statements([GroupTarget(plan, store_layout(plan, "v1")) for plan in plans], CONFIG)
    else:
        parts = [point_in_time(plan, SPARK if target == "spark" else DUCKDB) for plan in plans]
    return ";\n\n".join(parts) + ";\n"


@pytest.mark.parametrize("target", ["flink", "spark", "duckdb"])
def test_program_is_the_golden_one(target: str) -> None:
    golden = (FOLDER / f"open_bandit.{target}.sql").read_text(encoding="utf-8")
    assert program(target) == golden


if __name__ == "__main__":
    for name in ("flink", "spark", "duckdb"):
        (FOLDER / f"open_bandit.{name}.sql").write_text(program(name), encoding="utf-8")
