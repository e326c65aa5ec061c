"""The metrics endpoint and the metrics of a look."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from featuredsl.errors import DependencyError, InputError
from featuredsl.online.progress import SourceProgress, StreamNote
from featuredsl.settings import Settings
from jobs.flink.freshness import GONE, RUNNING, JobLook, Look
from jobs.flink.freshness_metrics import families
from jobs.flink.metrics_cli import metrics, serve
from jobs.flink.stream_status import StreamStatus, stream_status
from monitors.exposition import render
from monitors.freshness import CHECKPOINT, Measured, Objective, State, Watch, step

NOW = 1_800_000_000_000_000
NOTE = StreamNote("job", "id", "group", ("g",), {"busy": "t1", "quiet": "t2"}, NOW)


def test_metrics_of_a_look() -> None:
    job = JobLook(
        NOTE,
        RUNNING,
        NOW - 3_000_000,
        {"busy": SourceProgress({"accepted": 5, "late": 3, "bad_time": 2}, NOW - 500_000)},
        {"t1": 4, "t2": 0},
        {"t1": 9, "t2": 0},
        {"rowsRefusedAsOlder": 1},
    )
    measured = Measured("g", "v1", "realtime", NOW - 8_000_000, 4)
    found = Look(NOW, (job,), (measured,), {"kafka": "no answer"})
    state = {("g", "realtime"): Watch(NOW - 6_000_000, 3, 0, NOW - 1_000_000)}
    text = render(families(found, state, Objective()))
    read = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert read["featuredsl_part_up", "kafka"] == 0
    assert read["featuredsl_part_up", "flink"] == 1
    assert read["featuredsl_group_event_age_seconds", "g", "realtime", "v1"] == 8
    assert read["featuredsl_group_staleness_seconds", "g", "realtime", "v1"] == 6
    assert read["featuredsl_group_staleness_limit_seconds", "g", "realtime", "v1"] == 5
    assert read["featuredsl_group_stale", "g", "realtime", "v1"] == 1
    assert read["featuredsl_stream_checkpoint_age_seconds", "job"] == 3
    assert read["featuredsl_stream_unread_records", "job", "t1"] == 4
    assert read["featuredsl_stream_events_total", "accepted", "busy", "job"] == 5
    assert read["featuredsl_stream_events_total", "busy", "job", "late"] == 3
    assert read["featuredsl_stream_events_total", "busy", "future_time", "job"] == 0
    assert read["featuredsl_stream_sink_rows_total", "job", "rowsRefusedAsOlder"] == 1


def test_without_a_job_no_part_is_called_up() -> None:
    text = render(families(Look(NOW, (), (), {}), {}, Objective()))
    assert "featuredsl_part_up{" not in text


def test_a_quiet_source_does_not_make_a_busy_group_old() -> None:
    progress = {
        "busy": SourceProgress({"accepted": 1}, NOW - 10),
        "quiet": SourceProgress({"accepted": 1}, NOW - 9_000_000, NOW - 8_000_000),
    }
    both = ("busy", "quiet")

    def newest(unread: dict[str, int]) -> int | None:
        return JobLook(NOTE, progress=progress, unread=unread).newest_us(both, NOW)

    assert newest({"t1": 3, "t2": 0}) == NOW - 10
    assert newest({"t1": 3, "t2": 1}) == NOW - 8_000_000
    assert newest({"t1": 0, "t2": 0}) == NOW - 10
    assert JobLook(NOTE, progress={}, unread={"t1": 1}).newest_us(both, NOW) is None


def test_a_sink_that_is_stuck_shows_in_the_checkpoints() -> None:
    """The source has handed on everything, but nothing after the last checkpoint is known to be written."""
    look = JobLook(NOTE, RUNNING, NOW, {}, {"t1": 0, "t2": 0}, {"t1": 7, "t2": 0})
    assert look.waiting(["t1", "t2"], NOW + 30_000_000) == 0
    assert look.waiting(["t1", "t2"], NOW + 30_000_001) == 7
    assert look.waiting(["t2"], NOW + 99_000_000) == 0
    young = JobLook(NOTE, RUNNING, None, {}, {"t1": 2}, {"t1": 7})
    assert young.waiting(["t1"], NOW + 10_000_000) == 2
    assert young.waiting(["t1"], NOW + 31_000_000) == 7


def test_an_overdue_checkpoint_is_told_of_a_job_that_runs() -> None:
    objective, told = Objective(), []
    state: State = {}
    for second in (0, 30, 31, 32, 33, 34, 301, 302):
        due = NOW if second < 302 else NOW + 300_000_000
        jobs = (JobLook(NOTE, RUNNING, NOW - 10_000_000, due_us=due), JobLook(NOTE))
        found = Look(NOW + second * 1_000_000, jobs, (), {}).checkpoints
        assert len(found) == 1
        state, events = step(state, found, NOW + second * 1_000_000, objective)
        told += [(second, event) for event in events]
    ((at, event),) = told
    data = event["data"]
    assert (at, event["type"], event["subject"]) == (33, "featuredsl.drift.firing", "job/id/$freshness")
    assert (data["check"], data["segment"], data["severity"]) == ("freshness", "checkpoint", "warning")
    assert (data["value"], data["threshold"]) == (33, 30)
    assert data["threshold_reason"] == "checkpoint: at most 30s overdue; see the exceptions of the Flink job"
    due_again = Measured("job", "id", CHECKPOINT, NOW + 300_000_000, None)
    _, (event,) = step(state, [due_again], NOW + 303_000_000, objective)
    assert (event["type"], event["data"]["dedup_key"]) == ("featuredsl.drift.resolved", data["dedup_key"])


def test_without_redis(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FEATUREDSL_HOME", str(tmp_path))
    monkeypatch.delenv("FEATUREDSL_REDIS", raising=False)
    reply = CliRunner().invoke(metrics, ["--once"])
    assert isinstance(reply.exception, DependencyError)
    assert stream_status(Settings.load()).as_data() == {"jobs": [], "groups": []}


def test_status_says_what_to_do_about_jobs_that_have_ended() -> None:
    jobs = tuple(JobLook(NOTE, state) for state in (RUNNING, GONE, "RESTARTING", "CANCELED", "FAILED", "UNKNOWN"))
    hints = StreamStatus(Look(NOW, jobs, (), {})).hints()
    again = "`featuredsl run stream` goes on from its last checkpoint"
    assert hints == [f"job is {state}: {again}" for state in ("GONE", "CANCELED", "FAILED")]
    assert StreamStatus(None).hints() == []


def test_the_endpoint() -> None:
    server = serve(0, lambda: "x 1\n")
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        with urllib.request.urlopen(f"{url}/metrics", timeout=5) as response:
            assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert response.read() == b"x 1\n"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/other", timeout=5)
        with pytest.raises(InputError, match=rf"cannot listen on 127.0.0.1:{server.server_port}: .* choose another"):
            serve(server.server_port, str)
    finally:
        server.shutdown()
        server.server_close()
