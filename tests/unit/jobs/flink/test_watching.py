"""`run metrics` as a daemon: alerts outlive a Kafka that is away, one bad look does not end it."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from featuredsl.errors import DependencyError, FeatureError, InputError, StateError
from featuredsl.registry import Registry, apply
from featuredsl.settings import Settings
from jobs.flink import freshness, metrics_cli
from jobs.flink.freshness import Look
from jobs.flink.metrics_cli import Watcher
from jobs.flink.records import JobRecord, write_record
from monitors.freshness import Measured, Objective

HOUR_US = 3_600_000_000
NOW = 500_000 * HOUR_US
SOURCE = """
from featuredsl import EventSource, feature, feature_group

events = EventSource("events", event_time="ts", schema={"u": str}, topic="taps")

@feature_group(name="g", entity="u")
class G:
    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()
"""


def test_an_alert_is_sent_when_kafka_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third look fires; Kafka is away then, and for two looks more."""
    stale = Measured("g", "v", "1h", NOW - 100 * HOUR_US, None)
    monkeypatch.setattr(metrics_cli, "Registry", SimpleNamespace(load=lambda root: None))
    monkeypatch.setattr(metrics_cli, "look", lambda s, r, store, now: Look(now, (), (stale,), {}))
    sent: list[dict[str, object]] = []
    away = {3, 4, 5}

    def publish(self: Watcher, events: list[dict[str, object]]) -> None:
        if number in away:
            raise DependencyError("Kafka is away")
        sent.extend(events)

    monkeypatch.setattr(Watcher, "_publish", publish)
    watcher, store = Watcher(Settings.load(home=tmp_path), Objective()), SimpleNamespace()
    failed = []
    for number in range(1, 9):
        try:
            watcher.look(store, NOW + number)  # type: ignore[arg-type]
        except DependencyError:
            failed.append(number)
    assert failed == [3, 4, 5]
    assert len(sent) == 1


def test_a_look_that_fails_does_not_end_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stop = threading.Event()
    monkeypatch.setattr(metrics_cli.threading, "Event", lambda: stop)
    monkeypatch.setattr(metrics_cli.signal, "signal", lambda *_: None)
    outcomes: list[FeatureError | None] = [StateError("broken record"), InputError("nothing applied"), None]

    def look(self: Watcher, store: Any, now_us: int) -> Look:
        outcome = outcomes.pop(0)
        if not outcomes:
            stop.set()
        if outcome is not None:
            raise outcome
        self.text = "fine"
        return Look(now_us, (), (), {})

    monkeypatch.setattr(Watcher, "look", look)
    watcher = Watcher(Settings.load(home=tmp_path), Objective())
    metrics_cli._watch(watcher, SimpleNamespace(), 0.0)  # type: ignore[arg-type]
    assert watcher.text == "fine"
    assert capsys.readouterr().err.splitlines() == ["warning: broken record", "warning: nothing applied"]


def test_jobs_are_known_from_their_records_when_redis_was_emptied(tmp_path: Path) -> None:
    file = tmp_path / "definitions.py"
    file.write_text(SOURCE, encoding="utf-8")
    apply(tmp_path / "registry", file)
    settings = Settings.load(home=tmp_path, prefix="run.")
    folder = tmp_path / "flink" / "jobs"
    write_record(folder, JobRecord("run.features-g", "j1", "group", {"g": "v1"}, ("run.taps",)))
    (note,) = freshness._recorded(settings, Registry.load(tmp_path / "registry"))
    assert (note.name, note.job_id, note.group_id, note.groups) == ("run.features-g", "j1", "group", ("g",))
    assert note.topics == {"events": "run.taps"}
    assert note.started_us == (folder / "run.features-g.json").stat().st_mtime_ns // 1000
