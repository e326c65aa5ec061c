"""The whole loop in order, from an empty machine to the table, and back to an empty machine."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from examples.open_bandit import learning, setting_up, verify
from examples.open_bandit.client import ServiceClient
from examples.open_bandit.processes import Background, Conversation
from examples.open_bandit.reads import Freshness, ReadLog, read_commands
from examples.open_bandit.replay import TOPICS, Replay, send_broken_lines, send_catalog
from examples.open_bandit.report import Report, render
from examples.open_bandit.run import PAUSE_HOURS, TRAIN_AT_HOUR, DemoRun
from examples.open_bandit.sender import Sender
from examples.open_bandit.week import Loop, Tail, progress_bar
from featuredsl.errors import FeatureError
from featuredsl.settings import Settings, stack_endpoints


def run_demo(run: DemoRun) -> Report:
    """Run everything; the report says whether all invariants held. What was started is ended on every way out."""
    begin = time.monotonic()
    report = Report()
    with ExitStack() as at_end:
        if run.options.keep:
            at_end.callback(run.console.print, "end the stack and its Flink jobs: featuredsl down", soft_wrap=True)
        try:
            _run(run, report, at_end)
        except FeatureError:
            # what is known so far helps to see what went wrong
            render(report, run.console, time.monotonic() - begin, ended=False)
            raise
        render(report, run.console, time.monotonic() - begin)
        _say_where(run)
    return report


def _say_where(run: DemoRun) -> None:
    """How to look at the online values: the stack is up with --keep, or because it was up before."""
    if "redis" in stack_endpoints(run.stack.home):
        run.console.print("the run's features online:", read_commands(run), sep="\n", markup=False, soft_wrap=True)
    else:
        run.console.print("Kafka, Redis and Flink have ended; with --keep they stay up, to look at topics and keys.")


def _run(run: DemoRun, report: Report, at_end: ExitStack) -> None:
    with _interruptible(), ExitStack() as cleanup:
        loop = _set_up(run, report, cleanup, at_end)
        _replay_week(loop, report)
        compared = verify.start_parity(loop)
        cleanup.callback(compared.stop)
        run.console.log("training the second champion; Spark compares the online reads meanwhile")
        report.stages.append(learning.second_champion(loop))
        _verify(loop, report)
        report.stages.append(verify.parity(loop, compared))
        run.console.log("ending what was started …" if not run.options.keep else "everything is left running")


def _set_up(run: DemoRun, report: Report, cleanup: ExitStack, at_end: ExitStack) -> Loop:
    console, add = run.console, report.stages.append
    console.rule(f"run {run.run_id}")
    console.log("starting Kafka, Redis, Flink and Spark …")
    add(setting_up.start_stack(run, cleanup))
    settings = run.settings()
    add(setting_up.define(run, settings))
    console.log("submitting the feature, join and drift jobs …")
    jobs, stage = setting_up.submit_jobs(run, settings, cleanup)
    add(stage)
    sender = Sender(settings.kafka, settings.prefix, TOPICS)
    cleanup.callback(sender.close)
    send_catalog(run.timeline, sender)
    console.log("starting the scoring service and the alert consumer …")
    background = _background(run, settings, cleanup, at_end)
    service, stage = setting_up.start_service(settings, background)
    add(stage)
    alerts = background.start("alerts", ["run", "alerts"])
    reads = ReadLog(settings, settings.home / "reads.jsonl")
    store = cleanup.enter_context(reads.store())
    runner = cleanup.enter_context(asyncio.Runner())
    client = runner.run(_client(service.rest, run.options.concurrency))
    return Loop(
        run=run,
        settings=settings,
        jobs=jobs,
        service=service,
        sender=sender,
        replay=Replay(
            run.timeline, sender, client, Freshness(settings, store).has, concurrency=run.options.concurrency
        ),
        reads=reads,
        runner=runner,
        background=background,
        alerts=Tail(alerts.log),
    )


def _background(run: DemoRun, settings: Settings, cleanup: ExitStack, at_end: ExitStack) -> Background:
    """With --keep the last words of the demo, also of an interrupted one, say how to end what runs on."""
    background = Background(settings)
    if run.options.keep:
        at_end.callback(lambda: run.console.print(background.left_running(), markup=False, soft_wrap=True))
    else:
        cleanup.callback(background.stop)
    return background


async def _client(url: str, connections: int) -> ServiceClient:
    return ServiceClient(url, connections)


def _replay_week(loop: Loop, report: Report) -> None:
    """Days one to five, the first champion, days six and seven."""
    timeline, console = loop.run.timeline, loop.run.console
    send_broken_lines(timeline, loop.sender)
    batch = Conversation.start("batch", ["run", "batch", "--stdin", "--json"], loop.settings)
    try:
        with progress_bar(loop.run) as bar:
            for hour in PAUSE_HOURS:
                bar.say(f"replay to hour {hour:g}")
                loop.advance(timeline.at_hour(hour), bar)
                bar.say(f"pause at hour {hour:g}")
                loop.pause(timeline.at_hour(hour), batch)
                console.log(f"  hour {hour:g}: jobs caught up, features published, {loop.pauses.values:,} values read")
                if hour == TRAIN_AT_HOUR:
                    bar.say("training the first champion")
                    report.stages.append(learning.first_champion(loop))
                    console.log(f"[bold]{loop.run.plan.shift.describe()}[/]")
                loop.show_alerts()
            bar.say("replay to the end")
            loop.advance(timeline.closing_us, bar)
            bar.say("pause at the end")
            loop.pause(timeline.closing_us, batch)
            loop.show_alerts()
    finally:
        batch.stop()


def _verify(loop: Loop, report: Report) -> None:
    for stage in (
        verify.replayed,
        verify.served,
        verify.features,
        verify.batches,
        verify.joined,
        learning.drift,
        verify.history,
    ):
        loop.run.console.log(f"checking: {stage.__name__} …")
        report.stages.append(stage(loop))


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM ends the demo like Ctrl-C, once: while everything is being ended, further ones are ignored."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
