"""What `check` says beside the groups, and words for common slips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from featuredsl.cli.definitions import check
from featuredsl.errors import InputError
from featuredsl.loader import load_definitions
from featuredsl.times import asked_time, asked_us

JOINED = """
from featuredsl import EventSource, TableSource, feature, feature_group

clicks = EventSource("clicks", event_time="ts", schema={"u": str, "x": int})
items = TableSource("items", key="x", valid_from="since", schema={"x": int, "price": float})

@feature_group(name="g", entity="u")
class G:
    @feature(freshness="realtime", window="1h")
    def spend(e: clicks) -> float:
        return e.join(items).price.sum()
"""


def test_check_says_what_no_stream_can_keep(tmp_path: Path) -> None:
    file = tmp_path / "definitions.py"
    file.write_text(JOINED, encoding="utf-8")
    done = CliRunner().invoke(check, [str(file)], catch_exceptions=False)
    assert done.exit_code == 0
    assert "g@" in done.stdout
    assert "warning: g cannot be kept online: flink: g.spend (" in done.stderr
    assert "definitions.py:9): an event cannot wait for table 'items' in tier realtime" in done.stderr
    file.write_text(JOINED.replace("realtime", "5m"), encoding="utf-8")
    assert CliRunner().invoke(check, [str(file)], catch_exceptions=False).stderr == ""


def test_a_data_file_is_no_definition_file(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("user_id,ts\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"labels.csv is a data file, no definition file"):
        load_definitions(file)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1767323400", "is 1970-01-21T10:55:23.400000Z (integers are in ms); in 's' it would be 2026-01-02T03:10:00"),
        ("1767323400000000", "is not within the years 1000 to 9000 (integers are in ms); in 'us' it would be 2026"),
    ],
)
def test_a_time_in_another_unit_is_named(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        asked_time(text, "ms", "--at")
    assert problem in str(caught.value)
    assert asked_time("1767323400000", "ms", "--at") == 1_767_323_400_000_000
    assert asked_time("1000000", "ms", "--at") == 1_000_000_000


@pytest.mark.parametrize(
    ("at_us", "said"),
    [
        (1_796_138_651, r"at_us is 1796138651, a likely time in 's'; it is in microseconds: time.time_ns\(\) // 1000"),
        (1_796_138_651_208, "a likely time in 'ms'"),
        (1_796_138_651_208_000_000, "a likely time in 'ns'"),
        (1_796_138_651_208_000.0, r"at_us is 1796138651208000.0; it is an integer in microseconds"),
        (None, "at_us is None; it is an integer"),
        ("2026-12-01T00:00:00Z", "it is an integer in microseconds"),
    ],
)
def test_a_read_at_a_time_in_another_unit_is_refused(at_us: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        asked_us(at_us)


def test_times_of_reads_that_are_taken() -> None:
    for at_us in (1_796_138_651_208_000, 0, -1, 3_600, -62_135_596_800_000_000, 2**62):
        assert asked_us(at_us) == at_us
    found = asked_us(np.int64(1_796_138_651_208_000))  # type: ignore[arg-type]
    assert type(found) is int
    assert found == 1_796_138_651_208_000
