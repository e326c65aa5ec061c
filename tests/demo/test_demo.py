"""The demo itself: the command a newcomer runs first, to its end and interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from featuredsl.settings import Settings
from localstack.service import Layout
from localstack.stack import down
from tests.support.stack import JARS, ROOT
from tests.support.wait import until

LIMIT_S = 1_500
STAGES = (
    "local stack",
    "definitions",
    "Flink jobs",
    "scoring service",
    "first champion",
    "second champion",
    "replay",
    "predictions",
    "features (Flink → Redis)",
    "batch (Spark → Redis)",
    "join (Flink)",
    "drift (Flink)",
    "history (point in time)",
    "parity (online = Spark)",
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home of the test's own; nothing of it runs afterwards, whatever happened."""
    yield tmp_path
    down(Layout(tmp_path, JARS))


def start(home: Path) -> subprocess.Popen[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("FEATUREDSL_")}
    env |= {"FEATUREDSL_HOME": str(home), "FEATUREDSL_JARS": str(JARS), "COLUMNS": "200"}
    return subprocess.Popen(
        [sys.executable, "-m", "featuredsl.cli.main", "demo"],
        cwd=ROOT,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def alive(home: Path) -> list[str]:
    """Command lines of processes that mention the home folder in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if f"FEATUREDSL_HOME={home}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
        except OSError:
            continue
    return found


@pytest.mark.timeout(LIMIT_S + 60)
def test_the_whole_loop(home: Path) -> None:
    process = start(home)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, output[-6_000:]
    for stage in STAGES:
        assert re.search(rf"{re.escape(stage)}.*\bok\b", output), (stage, output[-6_000:])
    assert "INJECTED SHIFT" in output
    assert "FAILED" not in output
    assert alive(home) == []
    assert not (home / "stack.json").exists()


def test_an_interrupted_demo_leaves_nothing_behind(home: Path) -> None:
    process = start(home)
    until(lambda: bool(Settings.load(home=home).kafka), 240)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 130, output[-3_000:]
    assert "Traceback" not in output
    assert alive(home) == []
