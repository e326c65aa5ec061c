"""Options and fixtures of all tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.stack import ROOT, TestStack

settings.register_profile("featuredsl", deadline=None)
settings.load_profile("featuredsl")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--stack-home DIR` uses a stack of one's own (its missing parts are started, nothing is ended)."""
    parser.addoption("--stack-home", type=Path, default=None, help="home folder of a local stack to use")


def pytest_configure() -> None:
    """Temporary folders lie under build/ too, so that nothing is left elsewhere."""
    folder = ROOT / "build" / "tmp"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(folder))


@pytest.fixture(scope="session")
def stack(request: pytest.FixtureRequest) -> Iterator[TestStack]:
    """The session's local stack; `stack.need("kafka", "redis")` starts what a test needs."""
    given = request.config.getoption("--stack-home")
    if given is not None:
        yield TestStack(given.absolute())
        return
    home = ROOT / "build" / "test-stack"
    running = TestStack(home)
    running.stop()
    shutil.rmtree(home, ignore_errors=True)
    try:
        yield running
    finally:
        running.stop()
