"""The table of the demo, the configuration it writes, and the choice of keys to compare."""

from __future__ import annotations

import io
import tomllib
from dataclasses import replace

from rich.console import Console

from examples.open_bandit.dataset import Dataset
from examples.open_bandit.processes import command, environment, toml
from examples.open_bandit.reads import busiest
from examples.open_bandit.report import Check, Report, Stage, render
from examples.open_bandit.timeline import ReplayPlan, build_timeline
from featuredsl.settings import Settings

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
