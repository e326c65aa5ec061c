"""The table of the demo, the configuration it writes, and the choice of keys to compare."""

from __future__ import annotations

import io
import shlex
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from examples.open_bandit import demo, processes
from examples.open_bandit.dataset import Dataset
from examples.open_bandit.processes import Background, command, environment, toml
from examples.open_bandit.reads import busiest, read_commands
from examples.open_bandit.report import Check, Report, Stage, render
from examples.open_bandit.run import DemoOptions, DemoRun
from examples.open_bandit.timeline import ReplayPlan, build_timeline
from featuredsl.errors import DependencyError
from featuredsl.settings import Settings
from localstack.service import Layout
from tests.support.wait import until

GOOD = Stage("replay", 20_000, 60_000, 0, "topics x.*", (Check("all sent", True, "20,000"),))
BAD = Stage("join", 10, 9, 0, "topic x.examples", (Check("each once", False, "9 of 10"), Check("late", True)))


def rendered(report: Report) -> str:
    text = io.StringIO()
    render(report, Console(file=text, width=160), 12.4)
    return text.getvalue()


def test_a_report_fails_with_any_broken_invariant() -> None:
    assert Report([GOOD]).ok
    report = Report([GOOD, BAD])
    assert not report.ok
    assert report.broken == ["join: each once (9 of 10)"]


def test_the_table_shows_counts_places_and_broken_invariants() -> None:
    text = rendered(Report([GOOD, BAD]))
    assert "2 stages in 12 s" in text
    assert "20,000" in text
    assert "topics x.*" in text
    assert text.count("FAILED") == 2


def test_a_configuration_reads_back_as_written() -> None:
    config = {
        "model": "m",
        "replay": True,
        "groups": [{"group": "a", "entity": ["x", "y"]}, {"group": "b", "entity": ["z"]}],
        "log": {"sampling": 1.0},
    }
    assert tomllib.loads(toml(config)) == config


def test_background_commands_see_the_run_and_not_the_callers_settings() -> None:
    settings = replace(Settings.load(home="/somewhere"), kafka="k:1", prefix="run.")
    names = environment(settings)
    assert names["FEATUREDSL_KAFKA"] == "k:1"
    assert names["FEATUREDSL_PREFIX"] == "run."
    assert names["FEATUREDSL_HOME"] == "/somewhere"
    assert command("status")[1:] == ("-m", "featuredsl.cli.main", "status")


def test_keys_to_compare_are_the_most_shown_ones_before_the_time(dataset: Dataset) -> None:
    timeline = build_timeline(dataset, ReplayPlan(), 1_800_000_000_000_000)
    at = timeline.at_hour(36)
    keys = busiest(timeline, at)
    before = [one for one in timeline.decisions if one.ts_us < at]
    shown = {name: sum(one.segment == name for one in before) for name in {one.segment for one in before}}
    segments = [key[0] for group, key in keys if group == "segment"]
    assert len(keys) == len(set(keys)) == 80
    assert {shown[name] for name in segments} == set(sorted(shown.values(), reverse=True)[:40])
    assert busiest(timeline, timeline.first_us) == []


@pytest.fixture
def keeping(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[DemoRun, Background, io.StringIO]]:
    """A run with --keep whose services only sleep, and what it prints."""
    for name in ("PREFIX", "REGISTRY", "REDIS"):
        monkeypatch.delenv(f"FEATUREDSL_{name}", raising=False)
    monkeypatch.setattr(processes, "command", lambda *arguments: ("sleep", "120"))
    plan, text, base = ReplayPlan(), io.StringIO(), Settings.load(home=tmp_path)
    timeline = build_timeline(dataset, plan, 1_800_000_000_000_000)
    console = Console(file=text, width=40)
    run = DemoRun(
        "0101T000000-abcd", DemoOptions(keep=True), Layout(tmp_path, base.jars), base, plan, timeline, console
    )
    background = Background(run.settings())
    yield run, background, text
    background.stop()


def test_the_printed_command_ends_what_was_left_running(keeping: tuple[DemoRun, Background, io.StringIO]) -> None:
    _, background, _ = keeping
    assert background.left_running() == ""
    started = [background.start(name, ["run", name]) for name in ("serve", "alerts")]
    lines = background.left_running().splitlines()
    for record, line in zip(started, lines[:-1], strict=True):
        assert f"{record.name}, pid {record.pid}, log {record.log}" in line
    kill = lines[-1].removeprefix("end these services: ")
    assert kill == f"kill {started[0].pid} {started[1].pid}"
    subprocess.run(shlex.split(kill), check=True)
    until(lambda: not any(record.alive for record in started), 20, "the services end")
    assert background.left_running() == ""


def test_an_interrupted_run_that_keeps_says_what_it_left(
    keeping: tuple[DemoRun, Background, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, background, text = keeping
    pids = []
    monkeypatch.setattr(demo, "Background", lambda settings: background)

    def interrupted(run: DemoRun, report: Report, at_end: ExitStack) -> None:
        with ExitStack() as cleanup:
            pids.append(demo._background(run, run.settings(), cleanup, at_end).start("serve", []).pid)
            raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        demo.run_demo(run)
    assert f"\nend these services: kill {pids[0]}\n" in text.getvalue()
    assert text.getvalue().endswith("Flink jobs: featuredsl down\n")


def test_an_error_shows_the_table_so_far(
    keeping: tuple[DemoRun, Background, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _, text = keeping

    def stopped(run: DemoRun, report: Report, at_end: ExitStack) -> None:
        report.stages.append(GOOD)
        raise DependencyError("batch ended with 1")

    monkeypatch.setattr(demo, "_run", stopped)
    with pytest.raises(DependencyError):
        demo.run_demo(run)
    shown = " ".join(text.getvalue().split())
    assert "1 stages in 0 s, then stopped by an error" in shown
    assert "20,000" in shown


def test_a_command_that_does_not_answer_is_ended(
    keeping: tuple[DemoRun, Background, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _, _ = keeping
    monkeypatch.setattr(processes, "ANSWER_S", 0.2)
    monkeypatch.setattr(processes, "RUN_S", 0.2)
    batch = processes.Conversation.start("batch", ["run", "batch"], run.settings())
    with pytest.raises(DependencyError, match=r"batch ended with -9 \(killed: no answer in time\); log: .*batch\.log"):
        batch.answer()
    with pytest.raises(DependencyError, match=r"`featuredsl parity` did not end within 0 s; log: .*parity\.log"):
        processes.run_text("parity", ["parity"], run.settings())


def test_the_commands_of_a_run_find_its_state(
    keeping: tuple[DemoRun, Background, io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _, _ = keeping
    monkeypatch.chdir(run.stack.home)
    for line, rest in zip(read_commands(run).splitlines(), (["get", "--json"], ["explain-read"]), strict=True):
        words = shlex.split(line)
        names = dict(word.split("=") for word in words[:2])
        assert set(names) == {"FEATUREDSL_PREFIX", "FEATUREDSL_REGISTRY"}
        for name, value in names.items():
            monkeypatch.setenv(name, value)
        found = Settings.load(home=run.stack.home)
        assert (found.prefix, found.registry) == (run.settings().prefix, run.settings().registry)
        shown = Counter(one.segment for one in run.timeline.decisions)
        key = min(shown, key=lambda name: (-shown[name], name))
        assert words[2:] == ["featuredsl", rest[0], "segment", key, *rest[1:]]
