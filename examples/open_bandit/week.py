"""Replaying the week with pauses: at each, the jobs catch up, Spark runs, and online reads are logged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from examples.open_bandit import events
from examples.open_bandit.client import ServiceClient
from examples.open_bandit.dataset import Decision
from examples.open_bandit.probes import same_over_grpc
from examples.open_bandit.processes import Background, Conversation
from examples.open_bandit.reads import ReadLog
from examples.open_bandit.replay import Replay
from examples.open_bandit.run import DemoRun
from examples.open_bandit.sender import Sender
from examples.open_bandit.setting_up import Jobs, Service
from featuredsl.settings import Settings
from featuredsl.times import format_time
from jobs import kafka_offsets
from jobs.wait import wait_until
from schemas import topics

LOG_WAIT_S = 60.0
LAG_WAIT_S = 300.0


@dataclass(slots=True)
class Pauses:
    """What the pauses found."""

    values: int = 0
    times: list[int] = field(default_factory=list)
    batches: list[dict[str, Any]] = field(default_factory=list)
    grpc_equal: int = 0
    grpc_different: int = 0


class Tail:
    """New lines of a log file."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._at = 0

    def lines(self) -> list[str]:
        """Complete lines written since the last call."""
        with self.path.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        end = data.rfind(b"\n") + 1
        self._at += end
        return data[:end].decode("utf-8", "replace").splitlines()


@dataclass(slots=True)
class Loop:
    """The parts of the running loop that the replay works with."""

    run: DemoRun
    settings: Settings
    jobs: Jobs
    service: Service
    sender: Sender
    replay: Replay
    reads: ReadLog
    runner: asyncio.Runner
    background: Background
    alerts: Tail
    extra_predictions: int = 0
    position_us: int = 0
    pauses: Pauses = field(default_factory=Pauses)

    def advance(self, until_us: int, bar: ProgressBar) -> None:
        """Replay up to a time and tell all topics so."""
        self.runner.run(self.replay.advance(until_us, bar.update))
        self._await_predictions()
        self.replay.beat(until_us)
        self.position_us = until_us

    def pause(self, at_us: int, batch: Conversation) -> None:
        """At a time that the replay has reached: catch up, materialise, read, ask over gRPC."""
        batch.ask(format_time(at_us))
        self.jobs.features.wait_lag_zero(LAG_WAIT_S)
        self.pauses.batches.append(batch.answer())
        self.pauses.values += self.reads.read(self.run.timeline, at_us)
        self.pauses.times.append(at_us)
        self._compare_transports()
        self.jobs.check()

    def show_alerts(self, most: int = 6) -> None:
        """Print what the alert consumer has printed since the last time, the first few lines of it."""
        lines = self.alerts.lines()
        for line in lines[:most]:
            self.run.console.print("  [yellow]alert[/]", Text(line), soft_wrap=True)
        if len(lines) > most:
            self.run.console.print(f"  … and {len(lines) - most} more in {self.alerts.path}", highlight=False)

    def recent(self, count: int) -> list[Decision]:
        """The last decisions so far, dated at the position of the replay: to ask once more without going back."""
        before = [one for one in self.run.timeline.decisions if one.ts_us < self.position_us]
        return [replace(one, ts_us=self.position_us) for one in before[-count:]]

    def _compare_transports(self) -> None:
        (decision,) = self.recent(1)
        request = events.decide_request(decision, [item.action_id for item in self.run.timeline.items])
        request["request_id"] = f"again-{decision.event_id}"
        client = ServiceClient(self.service.rest, 1)

        async def ask() -> bytes:
            try:
                return (await client.post("/v1/decide", orjson.dumps(request))).body
            finally:
                await client.close()

        answer = orjson.loads(self.runner.run(ask()))
        equal = same_over_grpc(self.service.grpc, answer, request)
        self.pauses.grpc_equal += equal
        self.pauses.grpc_different += not equal
        self.extra_predictions += 2

    def _await_predictions(self) -> None:
        """The service logs from a queue of its own: heartbeats may only follow the last record."""
        topic = topics.topic(self.settings.prefix, topics.PREDICTIONS)
        counts = self.replay.counts
        beats = self.sender.heartbeats[topics.PREDICTIONS] + self.sender.broken[topics.PREDICTIONS]
        wanted = counts.decisions - counts.failures + self.extra_predictions + beats

        def missing() -> str | None:
            found = sum(kafka_offsets.end_offsets(self.settings.kafka, [topic]).values())
            return None if found >= wanted else f"{found} of {wanted} records"

        wait_until(missing, LOG_WAIT_S, "the prediction log is not complete")


class ProgressBar:
    """Decisions replayed, with what the demo is doing now."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def update(self, done: int) -> None:
        """So many decisions are done."""
        self._progress.update(self._task, completed=done)

    def say(self, text: str) -> None:
        """What happens now: beside the bar, and as a line with the time of day."""
        self._progress.update(self._task, description=text)
        self._progress.console.log(text, highlight=False)


@contextmanager
def progress_bar(run: DemoRun) -> Iterator[ProgressBar]:
    """A bar over all decisions, on the console of the run."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=run.console, transient=True) as progress:
        yield ProgressBar(progress, progress.add_task("replay", total=len(run.timeline.decisions)))
