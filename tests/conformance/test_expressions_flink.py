"""The expression cases on Flink: one query over all rows, in a batch environment of this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl.compilers.scalar import FLINK, render
from tests.conformance.expression_cases import CASES, COLUMNS, ROWS, wrong
from tests.support.flink_table import computed, environment_of

pytestmark = pytest.mark.timeout(600)


def test_flink(tmp_path: Path) -> None:
    rows = computed(environment_of(COLUMNS, ROWS, tmp_path), [render(case.node, FLINK) for case in CASES])
    assert sorted(rows) == list(range(len(ROWS)))
    assert wrong([rows[n] for n in range(len(ROWS))]) == []
