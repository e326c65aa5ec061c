"""The SQL of every expression case, as text. A change here may change running jobs: read it.

Regenerate with `python -m tests.golden.test_expressions_sql`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl.compilers.scalar import DIALECTS, render
from tests.conformance.expression_cases import CASES

FOLDER = Path(__file__).with_name("expressions")


def text(dialect: str) -> str:
    """Each case's name and its SQL."""
    return "".join(f"-- {case.name}\n{render(case.node, DIALECTS[dialect])}\n" for case in CASES)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_sql_is_the_golden_one(dialect: str) -> None:
    assert text(dialect) == (FOLDER / f"{dialect}.sql").read_text(encoding="utf-8")


if __name__ == "__main__":
    for name in DIALECTS:
        (FOLDER / f"{name}.sql").write_text(text(name), encoding="utf-8")
