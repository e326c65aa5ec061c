"""One run of the demo: its options, its folder, and the settings that keep it apart from every other run."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from examples.open_bandit.dataset import DEFAULT_PATH, load_dataset
from examples.open_bandit.timeline import ReplayPlan, Timeline, build_timeline
from featuredsl.settings import Settings, stack_endpoints
from localstack.service import Layout

MODEL = "open_bandit"
DEFINITIONS = Path(__file__).with_name("definitions.py")
TRAIN_AT_HOUR = 120.0
BASELINE_HOURS = (0.0, 96.0)
PAUSE_HOURS = (48.0, 84.0, TRAIN_AT_HOUR, 144.0)


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the command line decides. `keep` leaves the stack and the service running."""

    data: Path = DEFAULT_PATH
    keep: bool = False
    concurrency: int = 8


@dataclass(frozen=True, slots=True)
class DemoRun:
    """A run: every topic has its prefix, every store version its id, everything else is below its home."""

    run_id: str
    options: DemoOptions
    stack: Layout
    base: Settings
    plan: ReplayPlan
    timeline: Timeline
    console: Console

    @property
    def home(self) -> Path:
        """The folder of the run: registry, champions, model registry, history, logs."""
        return self.stack.home / "runs" / self.run_id

    def settings(self) -> Settings:
        """The settings of the run, with the addresses that the stack has now, whatever the environment says."""
        stack = stack_endpoints(self.stack.home)
        return Settings.load(
            home=self.home,
            jars=self.base.jars,
            prefix=f"{self.run_id}.",
            registry=self.home / "registry",
            mlflow=f"sqlite:///{self.home / 'mlflow.db'}",
            **stack,
        )

    def shown(self, path: Path) -> str:
        """A path as people like it: relative to the working folder where it is below it."""
        here = Path.cwd()
        return str(path.relative_to(here) if path.is_relative_to(here) else path)


def new_run(options: DemoOptions, console: Console) -> DemoRun:
    """Load the data set, move it to now, and make the folder of the run. Raises InputError without data."""
    base = Settings.load()
    plan = ReplayPlan()
    timeline = build_timeline(load_dataset(options.data), plan, time.time_ns() // 1000)
    run_id = f"{datetime.now(UTC):%m%dT%H%M%S}-{secrets.token_hex(2)}"
    run = DemoRun(run_id, options, Layout(base.home, base.jars, quick=True), base, plan, timeline, console)
    (run.home / "logs").mkdir(parents=True)
    return run
