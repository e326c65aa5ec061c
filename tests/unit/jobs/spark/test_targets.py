"""Which store versions a batch run fills."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from featuredsl.registry import Registry, apply
from featuredsl.registry_index import KEPT
from featuredsl.settings import Settings
from jobs.spark import batch

SOURCE = """
from featuredsl import EventSource, feature, feature_group

events = EventSource("events", event_time="ts", schema={"u": str})

@feature_group(name="g", entity="u")
class G:
    @feature(freshness="1h", window="HOURSh")
    def n(e: events) -> int:
        return e.count()
"""


def test_a_version_whose_definition_is_gone_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run fills the version beside it all the same: readers could never leave the old one otherwise."""
    root, file = tmp_path / "registry", tmp_path / "definitions.py"
    made = []
    for number in range(KEPT + 2):
        file.write_text(SOURCE.replace("HOURS", str(24 + number)), encoding="utf-8")
        made.append(apply(root, file, at_us=number)["g"])

    def versions(version: str, names: Sequence[str]) -> dict[str, str]:
        return dict.fromkeys(names, version)

    store = SimpleNamespace(current=lambda n: versions(made[0], n), filling=lambda n: versions(made[-1], n))
    monkeypatch.setattr(batch, "_store", lambda job: nullcontext(store))
    monkeypatch.setenv("FEATUREDSL_REDIS", "redis://127.0.0.1:1")
    job = batch.BatchJob.of(Settings.load(), Registry.load(root), ["g"])
    said: list[str] = []
    assert [target.layout.version for target in batch._targets(job, said.append)] == [made[-1]]
    assert len(said) == 1
    assert f"g@{made[0]} is not refreshed: " in said[0]
