"""`featuredsl run metrics`: freshness and counts of stream jobs for Prometheus, and the freshness alert."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import click

from featuredsl.errors import DependencyError, FeatureError, InputError
from featuredsl.online.store import OnlineStore
from featuredsl.registry import Registry
from featuredsl.settings import Settings
from jobs.flink.freshness import Look, look
from jobs.flink.freshness_metrics import families
from jobs.kafka import ensure_topics, producer
from monitors.exposition import CONTENT_TYPE, render
from monitors.freshness import Objective, State, objective, step
from schemas.topics import DRIFT_EVENTS, topic

HOST = "127.0.0.1"
FLUSH_S = 10.0


@dataclass(slots=True)
class Watcher:
    """Looks, judges and publishes; `text` is the last exposition."""

    settings: Settings
    objective: Objective
    alerts: bool = True
    state: State = field(default_factory=dict)
    text: str = ""

    def look(self, store: OnlineStore, now_us: int) -> Look:
        """One look: the new exposition, and alert events on the topic of drift events.

        The state moves on only when they are sent: what Kafka did not take is raised again by the next look.
        """
        found = look(self.settings, Registry.load(self.settings.registry), store, now_us)
        state, events = step(self.state, [*found.tiers, *found.checkpoints], now_us, self.objective)
        self.text = render(families(found, state, self.objective))
        if events and self.alerts:
            self._publish(events)
        self.state = state
        return found

    def _publish(self, events: list[dict[str, object]]) -> None:
        kafka, name = self.settings.require("kafka"), topic(self.settings.prefix, DRIFT_EVENTS)
        ensure_topics(kafka, [name])
        out = producer(kafka)
        for event in events:
            data = event["data"]
            key = data["dedup_key"] if isinstance(data, dict) else ""
            out.produce(name, json.dumps(event, allow_nan=False).encode(), key=str(key).encode())
        if left := out.flush(FLUSH_S):
            msg = f"{name} did not take {left} freshness events within {FLUSH_S:.0f} s"
            raise DependencyError(msg)


def serve(port: int, text: Callable[[], str]) -> ThreadingHTTPServer:
    """An HTTP server on 127.0.0.1 that answers `GET /metrics`. Raises InputError for a port that is taken."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path.partition("?")[0] == "/metrics"
            body = text().encode() if found else b"metrics are at /metrics\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Scrapes are no news."""

    try:
        server = ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        msg = f"cannot listen on {HOST}:{port}: {error.strerror}; choose another --port (0: any free one)"
        raise InputError(msg) from error
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=9464, show_default=True, help="On 127.0.0.1; 0: any.")
@click.option("--interval", type=click.FloatRange(min=0.1), default=5.0, show_default=True, help="Seconds of a look.")
@click.option("--slack", "slacks", multiple=True, metavar="TIER=DURATION", help="Age granted beyond the tier's own.")
@click.option("--no-alerts", is_flag=True, help="Serve metrics only.")
@click.option("--once", is_flag=True, help="Print the metrics of one look and end.")
def metrics(port: int, interval: float, slacks: tuple[str, ...], no_alerts: bool, once: bool) -> None:
    """Serve freshness, lag and exact counts of stream jobs to Prometheus, and raise freshness alerts.

    Example: featuredsl run metrics --port 9464 --slack realtime=10s
    """
    settings = Settings.load()
    watcher = Watcher(settings, objective(slacks), alerts=not (no_alerts or once))
    with OnlineStore(settings.require("redis"), namespace=settings.prefix) as store:
        if once:
            watcher.look(store, time.time_ns() // 1000)
            click.echo(watcher.text, nl=False)
            return
        server = serve(port, lambda: watcher.text)
        click.echo(f"http://{HOST}:{server.server_port}/metrics", err=True)
        try:
            _watch(watcher, store, interval)
        finally:
            server.shutdown()
            server.server_close()


def _watch(watcher: Watcher, store: OnlineStore, interval: float) -> None:
    """Look until SIGTERM. A look that fails leaves no old numbers behind: the exposition is empty until the next."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    told: str | None = None
    while not stopped.is_set():
        try:
            problems = watcher.look(store, time.time_ns() // 1000).problems
            problem = "; ".join(problems.values()) or None
        except FeatureError as error:
            watcher.text, problem = "", str(error)
        if problem is not None and problem != told:
            click.echo(f"warning: {problem}", err=True)
        told = problem
        stopped.wait(interval)
