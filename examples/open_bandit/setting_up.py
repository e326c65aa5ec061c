"""From nothing to a running loop: stack, topics, definitions, Flink jobs, catalog, service, alert consumer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from examples.open_bandit.processes import Background, ended, toml
from examples.open_bandit.replay import SPREAD_US
from examples.open_bandit.report import Stage
from examples.open_bandit.run import BASELINE_HOURS, DEFINITIONS, MODEL, DemoRun
from featuredsl.errors import DependencyError
from featuredsl.registry import Registry
from featuredsl.registry import apply as apply_definitions
from featuredsl.settings import Settings
from jobs import kafka
from jobs.flink.drift_cli import start_drift
from jobs.flink.handle import JobHandle
from jobs.flink.join_cli import start_join
from jobs.flink.stream import start_stream
from jobs.wait import wait_until
from localstack.process import ProcessRecord
from localstack.service import get_json
from localstack.stack import PARTS, down, up
from localstack.state import StackState
from schemas import topics
from serving.server import endpoint_file

SERVICE_START_S = 120.0
FEATURE_BUDGET_MS = 1_000.0


@dataclass(frozen=True, slots=True)
class Jobs:
    """The three Flink jobs of the loop."""

    features: JobHandle
    join: JobHandle
    drift: JobHandle

    def all(self) -> tuple[JobHandle, ...]:
        """In the order of the data."""
        return (self.features, self.join, self.drift)

    def check(self) -> None:
        """Raise FeatureError with the root cause when one of them has failed."""
        for job in self.all():
            job.check()


@dataclass(frozen=True, slots=True)
class Service:
    """The running scoring service."""

    rest: str
    grpc: str
    process: ProcessRecord

    def ready(self) -> dict[str, object]:
        """What the readiness check reports. Raises DependencyError when the service is gone."""
        details = get_json(f"{self.rest}/health/ready")
        if details is None:
            raise DependencyError(ended(self.process) or f"the scoring service at {self.rest} does not answer")
        return dict(details)


def start_stack(run: DemoRun, cleanup: ExitStack) -> Stage:
    """Start Kafka, Redis, Flink and Spark; those that run already are used and left running."""
    state = StackState.read(run.stack.home)
    mine = [name for name in PARTS if not state.healthy(name)]
    if not run.options.keep:
        cleanup.callback(down, run.stack, mine)
    up(run.stack, list(PARTS), lambda line: run.console.log(f"  {line}", highlight=False))
    return Stage("local stack", None, len(PARTS), None, run.shown(run.stack.logs))


def define(run: DemoRun, settings: Settings) -> Stage:
    """Create the run's topics and record the definitions under the run's store versions."""
    kafka.ensure_topics(
        settings.kafka,
        topics.every_topic(settings.prefix),
        compacted=[topics.topic(settings.prefix, name) for name in topics.COMPACTED],
    )
    apply_definitions(settings.registry, DEFINITIONS, store_suffix=run.run_id)
    groups = Registry.load(settings.registry).groups
    count = sum(len(plan.feature_names) for plan in groups.values())
    where = f"featuredsl explain {run.shown(DEFINITIONS)} --sql"
    return Stage("definitions", len(groups), count, None, where)


def submit_jobs(run: DemoRun, settings: Settings, cleanup: ExitStack) -> tuple[Jobs, Stage]:
    """Submit the feature, join and drift jobs to the session cluster and wait until all run."""
    first, last = (run.timeline.at_hour(hour) for hour in BASELINE_HOURS)
    starts: list[Callable[[], JobHandle]] = [
        lambda: start_stream(settings),
        lambda: start_join(settings, {}),
        lambda: start_drift(settings, _drift_options(first, last)),
    ]
    pool = ThreadPoolExecutor(len(starts))
    futures = [pool.submit(start) for start in starts]
    if not run.options.keep:
        cleanup.callback(_cancel, futures)
    jobs = Jobs(*(future.result() for future in futures))
    return jobs, Stage("Flink jobs", len(starts), len(jobs.all()), None, settings.flink)


def _cancel(submissions: Sequence[Future[JobHandle]]) -> None:
    """Cancel every job that was submitted, also one whose submission was under way when the demo was interrupted."""
    jobs = [one.result() for one in submissions if one.exception() is None]
    with ThreadPoolExecutor(len(submissions)) as pool:
        list(pool.map(JobHandle.cancel, jobs))


def _drift_options(from_us: int, to_us: int) -> dict[str, object]:
    """Baseline = days one to four. Answers come at most `SPREAD_US` out of order: the watermark waits for them.

    The replay runs thousands of times faster than time, so a pipeline's delay of 100 ms is minutes of event time:
    features over one hour show the speed of the machine, not the users, and are left out.
    """
    return {
        "baseline": {"from_ms": from_us // 1000, "to_ms": to_us // 1000},
        "watermark_delay_ms": SPREAD_US // 1000 + 10_000,
        "ignore_series": ["segment__views_1h", "segment__clicks_1h"],
    }


def start_service(settings: Settings, background: Background) -> tuple[Service, Stage]:
    """Start the scoring service of the run without a champion: it answers uniformly and says so."""
    config = settings.home / "serve.toml"
    config.write_text(_service_config(), encoding="utf-8")
    process = background.start("serve", ["run", "serve", "--config", str(config)])
    path = endpoint_file(settings.home, MODEL)

    def missing() -> str | None:
        if gone := ended(process):
            raise DependencyError(gone)
        return None if path.is_file() else f"no {path.name} yet"

    wait_until(missing, SERVICE_START_S, f"the scoring service is not ready (log: {process.log})")
    endpoints = json.loads(path.read_text(encoding="utf-8"))
    service = Service(endpoints["rest"], endpoints["grpc"], process)
    return service, Stage("scoring service", None, None, None, f"{service.rest}/metrics")


def _service_config() -> str:
    return toml(
        {
            "model": MODEL,
            "replay": True,
            "catalog": "kafka",
            "groups": [{"group": "segment", "entity": ["segment"]}],
            "features": {"budget_ms": FEATURE_BUDGET_MS},
            "log": {"sampling": 1.0},
        }
    )
