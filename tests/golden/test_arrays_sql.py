"""The SQL of array operations and of groups over arrays, as text. A change here may change running jobs: read it.

Regenerate with `python -m tests.golden.test_arrays_sql`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DIALECTS, render
from featuredsl.tiles import store_layout
from tests.conformance.cases_arrays import CASES, GROUP_CASES

FOLDER = Path(__file__).with_name("arrays")
CONFIG = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")


def text(dialect: str) -> str:
    """Each case's name and its SQL, then the program of the groups."""
    parts = [f"-- {case.name}\n{render(case.node, DIALECTS[dialect])}" for case in CASES]
    plans = [case.group for case in GROUP_CASES]
    if dialect == "flink":
        parts += statements([GroupTarget(plan, store_layout(plan, "v1")) for plan in plans[:2]], CONFIG)
    else:
        parts += [point_in_time(plan, DIALECTS[dialect]) for plan in plans]
    return "\n".join(parts) + "\n"


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_sql_is_the_golden_one(dialect: str) -> None:
    assert text(dialect) == (FOLDER / f"{dialect}.sql").read_text(encoding="utf-8")


if __name__ == "__main__":
    for name in DIALECTS:
        (FOLDER / f"{name}.sql").write_text(text(name), encoding="utf-8")
