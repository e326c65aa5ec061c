"""What a feature job changes of its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl.registry import Registry, apply
from jobs.flink.feature_job import tuned

SOURCE = """
from featuredsl import EventSource, feature, feature_group

clicks = EventSource("clicks", event_time="ts", schema={{"u": str, "x": int}}{unique})

@feature_group(name="g", entity="u")
class G:
    @feature(freshness="{freshness}", window="6h")
    def n(e: clicks) -> int:
        return e.count()

    @feature(freshness="realtime", window="6h")
    def other(e: taps) -> int:
        return e.count()
"""
TAPS = 'taps = EventSource("taps", event_time="ts", schema={{"u": str, "x": int}})\n\n@feature_group'


@pytest.mark.parametrize(
    ("unique", "freshness", "mini_batch_ms"),
    [("", "realtime", 50), (', unique="x", within="1d"', "realtime", 0), (', unique="x", within="1d"', "1h", 50)],
)
def test_a_job_that_drops_duplicates_has_no_mini_batches(
    tmp_path: Path, unique: str, freshness: str, mini_batch_ms: int
) -> None:
    file = tmp_path / "definitions.py"
    text = SOURCE.replace("@feature_group", TAPS, 1).format(unique=unique, freshness=freshness)
    file.write_text(text, encoding="utf-8")
    folder = tmp_path / "registry"
    apply(folder, file)
    versions = dict(Registry.load(folder).store_versions)
    config = {"registry": str(folder), "versions": versions, "mini_batch_ms": 50}
    assert tuned(config) == {**config, "mini_batch_ms": mini_batch_ms}
