"""`apply`, `get` and `explain-read` as far as they go without a Redis: what was done, and what was wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from featuredsl.cli.main import run

DEFINITIONS = """
from featuredsl import EventSource, feature, feature_group, on_demand

events = EventSource("events", event_time="ts", schema={"u": str})


@feature_group(name="plain", entity="u")
class Plain:
    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()


@feature_group(name="asking", entity="u")
class Asking:
    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()

    @on_demand(inputs=["n"], request={"affinity": float})
    def lift(n: int, affinity: float) -> float:
        return n * affinity
"""
CLOSED = "redis://127.0.0.1:1/0"


@pytest.fixture
def definitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("REDIS", "REGISTRY", "PREFIX"):
        monkeypatch.delenv(f"FEATUREDSL_{name}", raising=False)
    monkeypatch.setenv("FEATUREDSL_HOME", str(tmp_path))
    path = tmp_path / "definitions.py"
    path.write_text(DEFINITIONS)
    return path


def recorded(tmp_path: Path) -> list[str]:
    groups = json.loads((tmp_path / "registry" / "registry.json").read_text())["groups"]
    return sorted(f"{name}@{entry['store_version']}" for name, entry in groups.items())


def test_apply_without_redis_records_and_says_so(
    definitions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["apply", str(definitions)]) == 0
    said = capsys.readouterr()
    assert sorted(line.split()[0] for line in said.out.splitlines()) == recorded(tmp_path)
    assert len(said.err.splitlines()) == 1
    for part in (f"recorded in {tmp_path / 'registry'}", "not repointed", "no Redis is configured", "FEATUREDSL_REDIS"):
        assert part in said.err


def test_apply_with_an_unreachable_redis_records_and_fails(
    definitions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FEATUREDSL_REDIS", CLOSED)
    assert run(["apply", str(definitions)]) == 4
    said = capsys.readouterr()
    assert sorted(line.split()[0] for line in said.out.splitlines()) == recorded(tmp_path)
    assert len(said.err.splitlines()) == 1
    for part in (f"recorded in {tmp_path / 'registry'}", "not repointed", CLOSED, "does not answer", "apply again"):
        assert part in said.err


@pytest.mark.parametrize(
    ("group", "options", "parts"),
    [
        ("plain", ["--at", "99999999999999999999"], ["--at '99999999999999999999'", "years 1000 to 9000", "in ms"]),
        ("plain", ["--at", "-99999999999999999999"], ["--at '-99999999999999999999'"]),
        ("plain", ["--at", "1767225600000000"], ["in 'us' it would be 2026-01-01T00:00:00.000000Z"]),
        ("plain", ["--at", "0001-01-01T00:00:00Z"], ["--at '0001-01-01T00:00:00Z' is not within"]),
        ("plain", ["--request", "affinity"], ["group 'plain' takes no request inputs"]),
        ("plain", ["--request", "affinity=1"], ["group 'plain' takes no request inputs"]),
        ("asking", ["--request", "afinity=1"], ["it has: affinity", "Did you mean 'affinity'?"]),
        ("asking", ["--request", "affinity"], ["--request 'affinity': write it as NAME=VALUE"]),
        ("asking", ["--request", "affinity=x"], ["affinity='x' is not of type float"]),
    ],
)
def test_wrong_options_are_one_line(
    definitions: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    group: str,
    options: list[str],
    parts: list[str],
) -> None:
    run(["apply", str(definitions)])
    monkeypatch.setenv("FEATUREDSL_REDIS", CLOSED)
    capsys.readouterr()
    assert run(["get", group, "k", *options]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert [part for part in parts if part not in error] == []
    if "--at" in options:
        assert run(["explain-read", group, "k", *options]) == 2


@pytest.mark.parametrize("at", ["1000-01-01T00:00:00Z", "9000-12-31T23:59:59Z"])
def test_times_at_the_ends_reach_the_store(
    definitions: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], at: str
) -> None:
    run(["apply", str(definitions)])
    monkeypatch.setenv("FEATUREDSL_REDIS", CLOSED)
    assert run(["get", "plain", "k", "--at", at]) == 4
