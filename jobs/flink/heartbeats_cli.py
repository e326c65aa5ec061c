"""`featuredsl run heartbeats`: keep the event time of quiet tables moving."""

from __future__ import annotations

import signal
import threading
import time

import click

from featuredsl.cli.program import chosen
from featuredsl.errors import DependencyError, InputError
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from jobs.flink.heartbeats import beat, beaten


@click.command()
@click.option("--group", default="", help="Only for this group (or several, comma-separated). Default: all.")
@click.option("--interval", type=click.FloatRange(min=1), default=10.0, show_default=True, help="Seconds between two.")
@click.option("--sources", is_flag=True, help="Also for the event sources of tier 5m and of sessions.")
@click.option("--once", is_flag=True, help="Send one to every partition and end.")
def heartbeats(group: str, interval: float, sources: bool, once: bool) -> None:
    """Send heartbeats to the topics of the tables that streams join, until it is stopped.

    A heartbeat says that rows valid up to now are in the topic; it is never counted. With --sources the same is said of
    events: use it only where those reach Kafka within the 30 s that tier 5m waits, or it makes them late.

    Example: featuredsl run heartbeats --interval 10
    """
    settings = Settings.load()
    plans = chosen(Registry.load(settings.registry).groups, group)
    topics = [settings.prefix + name for name in beaten(plans, sources=sources)]
    if not topics:
        msg = "no stream of these groups joins a table; --sources sends to the event sources of tier 5m"
        raise InputError(msg)
    kafka, stopped = settings.require("kafka"), threading.Event()
    sent = beat(kafka, topics, time.time_ns() // 1_000_000)
    click.echo(f"a heartbeat to each of {sent} partitions of {', '.join(topics)}")
    if once:
        return
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    while not stopped.wait(interval):
        try:
            beat(kafka, topics, time.time_ns() // 1_000_000)
        except DependencyError as error:
            click.echo(f"warning: {error}; the next follows in {interval:g} s", err=True)
