"""The cases of wide aggregates on DuckDB, from files, as `featuredsl history` computes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl.history import build
from tests.conformance.cases import Case
from tests.conformance.cases_wide import WIDE_CASES
from tests.conformance.cases_wide_sessions import WIDE_SESSION_CASES
from tests.support.wide_cases import differences, request_of


@pytest.mark.parametrize("case", [*WIDE_CASES, *WIDE_SESSION_CASES], ids=lambda case: case.name)
def test_case(case: Case, tmp_path: Path) -> None:
    result = build(request_of(case, tmp_path))
    assert differences(case, [dict(row) for row in result.rows]) == []
    names = [f"{case.group.name}__{feature.name}" for feature in case.group.features]
    assert [name for name in result.rows[0] if "__" in name] == names
