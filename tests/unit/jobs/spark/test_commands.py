"""Times of batch runs."""

from __future__ import annotations

import pytest

from featuredsl.errors import InputError
from jobs.spark.commands import batch_time

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
