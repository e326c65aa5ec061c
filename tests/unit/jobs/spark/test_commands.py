"""Times of batch runs, and a cluster that is away."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from featuredsl.errors import DependencyError, InputError
from jobs.spark.commands import batch_time
from jobs.spark.runtime import SparkConfig, session
from localstack.process import free_ports

NOW = 1_767_225_600_000_000


@pytest.mark.parametrize(
    ("text", "at_us"), [("", NOW), ("1767225600000", NOW), ("2025-12-31T23:00:00Z", NOW - 3_600_000_000)]
)
def test_a_time_that_has_passed(text: str, at_us: int) -> None:
    assert batch_time(text, NOW) == at_us


@pytest.mark.parametrize("text", ["2099-01-01T00:00:00Z", "1767225600001", "2026-01-01T00:00:00.000001Z"])
def test_a_time_to_come_is_refused(text: str) -> None:
    """feast#4222: a run of 2099 would be the newest for ever."""
    with pytest.raises(InputError, match=r"is in the future \(it is 2026-01-01T00:00:00.000000Z\)"):
        batch_time(text, NOW)


def test_a_master_that_is_away_is_told_at_once(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    master, begun = f"spark://127.0.0.1:{port},127.0.0.1:{port}", time.monotonic()
    with pytest.raises(DependencyError) as caught, session(SparkConfig(master, tmp_path)):
        pass
    assert str(caught.value) == f"no Spark Master answers at {master}: run `featuredsl up`, or set FEATUREDSL_SPARK"
    assert time.monotonic() - begun < 5.0
    assert list(tmp_path.iterdir()) == []
