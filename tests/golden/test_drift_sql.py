"""The SQL of the drift job, word by word. To accept a change: write the printed text to the golden file."""

from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl.errors import InputError
from jobs.flink.drift_config import monitor_config
from jobs.flink.drift_sql import statements

GOLDEN = Path(__file__).parent / "drift" / "statements.sql"
CONFIG = {"kafka": "127.0.0.1:9092", "prefix": "demo.", "group_id": "demo.drift"}


def test_statements() -> None:
    text = ";\n\n".join(statements(CONFIG)) + ";\n"
    assert text == GOLDEN.read_text(encoding="utf-8"), text


def test_a_baseline_per_version_keys_every_series_by_version() -> None:
    text = "\n".join(statements({**CONFIG, "baseline_per_version": True}))
    assert "CASE WHEN TRUE THEN COALESCE(model_version, '')" in text


def test_a_quote_in_a_name_stays_inside_its_literal() -> None:
    text = "\n".join(statements({**CONFIG, "group_id": "it's"}))
    assert "'properties.group.id' = 'it''s'" in text


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"baseline": {"from_ms": 1}}, "from_ms"),
        ({"baseline": {"from_ms": 0, "to_ms": 60_000}}, "whole hours"),
        ({"policy": {"kind": "loud"}}, "unknown policy"),
    ],
)
def test_a_wrong_configuration_is_refused(config: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        monitor_config(config)


def test_the_baseline_is_cut_to_whole_hours() -> None:
    plan = monitor_config({"baseline": {"from_ms": 1_800_000, "to_ms": 9_000_000}}).baseline
    assert plan is not None
    assert (plan.from_us, plan.to_us) == (0, 7_200_000_000)


def test_without_a_topic_address_nothing_is_built() -> None:
    with pytest.raises(InputError, match="'kafka'"):
        statements({"group_id": "g"})
