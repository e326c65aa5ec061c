"""Python reads records by the rules of the Flink format: the same golden records, the same reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.records import RecordError, parse

GOLDEN = Path(__file__).parents[1] / "golden" / "records" / "bad_json.json"
CASES = json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_bad_json_has_the_same_reason(case: dict[str, Any]) -> None:
    payload = None if case["payload"] is None else bytes.fromhex(case["payload"])
    with pytest.raises(RecordError) as refused:
        parse(payload)
    assert refused.value.reason == case["reason"]
