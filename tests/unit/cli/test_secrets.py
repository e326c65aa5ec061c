"""Programs that are printed show no passwords."""

from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl.cli.main import run

SOURCE = """
from featuredsl import EventSource, feature, feature_group

events = EventSource("events", event_time="ts", schema={"u": str})

@feature_group(name="g", entity="u")
class G:
    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()
"""


@pytest.mark.parametrize("command", [["compile", "--target", "flink"], ["explain", "--sql"]])
def test_the_address_of_redis_has_no_login(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "definitions.py"
    file.write_text(SOURCE, encoding="utf-8")
    monkeypatch.setenv("FEATUREDSL_REDIS", "redis://ranker:secret@redis.example:6379/0")
    assert run([command[0], str(file), *command[1:]]) == 0
    printed = capsys.readouterr().out
    assert "redis://redis.example:6379/0" in printed
    assert "secret" not in printed
    assert "ranker" not in printed
