"""`featuredsl run alerts` and `featuredsl alerts test`: drift events and retrain triggers to people."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from featuredsl.errors import CheckFailed, DependencyError
from featuredsl.settings import Settings
from jobs.alert_sinks import Sink, make_sinks
from jobs.kafka import Record, consume, ensure_topics
from monitors.alerts.messages import line
from monitors.alerts.routing import Route, Throttle, sample_event
from schemas.topics import DRIFT_EVENTS, RETRAIN_TRIGGERS, topic

GROUP = "alerts"


@dataclass(slots=True)
class Dispatcher:
    """Sends each event to the sinks whose routes take it; what a sink does not take is counted and reported."""

    sinks: Sequence[Sink]
    routes: Sequence[Route]
    throttle: Throttle
    report: Callable[[str], None]
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("told", "repeated", "bad", "failed"), 0))

    def handle(self, record: Record) -> None:
        """Deliver one record of `drift_events` or `retrain_triggers`; nothing that it holds ends the consumer."""
        event = _parse(record)
        if event is None:
            self.counts["bad"] += 1
            self.report(f"{record.topic}[{record.partition}]@{record.offset} is no event; skipped")
            return
        if not self.throttle.passes(event):
            self.counts["repeated"] += 1
            return
        self.counts["told"] += 1
        wanted = {route.sink for route in self.routes if route.takes(event)}
        for sink in self.sinks:
            if sink.name in wanted:
                self._deliver(sink, event)

    def _deliver(self, sink: Sink, event: dict[str, Any]) -> None:
        try:
            sink.deliver(event)
        except DependencyError as error:
            self.counts["failed"] += 1
            self.report(f"{error}; undelivered: {line(event)}")


def run_alerts(settings: Settings, dispatcher: Dispatcher, stop: Callable[[], bool], group: str = GROUP) -> None:
    """Follow both topics until `stop()`; a record is committed after its delivery was tried."""
    kafka = settings.require("kafka")
    topics = [topic(settings.prefix, name) for name in (DRIFT_EVENTS, RETRAIN_TRIGGERS)]
    ensure_topics(kafka, topics)
    for record in consume(kafka, topics, settings.prefix + group, stop):
        if record is not None:
            dispatcher.handle(record)


def make_dispatcher(specs: Sequence[str], min_severity: str | None, reminder_hours: int = 6) -> Dispatcher:
    """A dispatcher that sends everything of at least `min_severity` to every sink."""
    sinks = make_sinks(specs, sys.stdout)
    routes = [Route(sink.name, min_severity) for sink in sinks]
    return Dispatcher(sinks, routes, Throttle(reminder_hours), lambda text: click.echo(text, err=True))


def _parse(record: Record) -> dict[str, Any] | None:
    try:
        event = json.loads(record.value or b"")
    except ValueError:
        return None
    if not isinstance(event, dict):
        return None
    if "trigger_id" in event:
        needed: Iterable[object] = (event.get("decision"), event.get("model"), event.get("reason"))
        return event if all(isinstance(part, str) for part in needed) else None
    data = event.get("data")
    well_formed = isinstance(data, dict) and "dedup_key" in data
    return event if well_formed and {"type", "id", "source"} <= set(event) else None


_sinks_option = click.option(
    "--sink",
    "sinks",
    multiple=True,
    default=("console",),
    show_default=True,
    help="console, webhook=URL, slack=URL, pagerduty=URL#KEY or textfile=PATH; may be repeated.",
)


@click.command()
@_sinks_option
@click.option("--min-severity", type=click.Choice(["warning", "critical", "page"]), help="Leave out what is below.")
@click.option("--reminder-hours", default=6, show_default=True, help="Event time between reminders of an incident.")
@click.option("--group", default=GROUP, show_default=True, help="Kafka consumer group.")
def alerts(sinks: tuple[str, ...], min_severity: str | None, reminder_hours: int, group: str) -> None:
    """Deliver drift events and retrain triggers until interrupted.

    Example: featuredsl run alerts --sink console --sink slack=https://hooks.example.com/T1/B1
    """
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    dispatcher = make_dispatcher(sinks, min_severity, reminder_hours)
    run_alerts(Settings.load(), dispatcher, lambda: bool(stopped), group)


@click.command(name="test")
@_sinks_option
def test_alert(sinks: tuple[str, ...]) -> None:
    """Send a test alert to every sink; exit code 1 when one of them did not take it.

    Example: featuredsl alerts test --sink slack=https://hooks.example.com/T1/B1
    """
    failed = []
    for sink in make_sinks(sinks, sys.stdout):
        try:
            sink.deliver(sample_event())
        except DependencyError as error:
            failed.append(str(error))
        else:
            click.echo(f"{sink.name}: delivered", err=True)
    if failed:
        raise CheckFailed("; ".join(failed))
