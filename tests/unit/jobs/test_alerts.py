"""The alert consumer's edge: delivery with retries, bad records, the test alert."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from featuredsl.errors import CheckFailed, DependencyError, InputError
from jobs.alert_sinks import ConsoleSink, HttpSink, TextfileSink, make_sinks
from jobs.alerts import Dispatcher
from jobs.alerts import test_alert as alert_command
from jobs.kafka import Record
from monitors.alerts.metrics import AlertMetrics
from monitors.alerts.routing import Route, Throttle, sample_event


@dataclass
class Receiver:
    """A webhook that answers with the given codes in turn, then 200."""

    url: str = ""
    codes: list[int] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(found.codes.pop(0) if found.codes else 200)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/hook"
    yield found
    server.shutdown()
    server.server_close()


def sink(receiver: Receiver) -> HttpSink:
    return HttpSink("webhook", receiver.url, lambda event: event, attempts=3, first_wait_s=0.0)


def record(value: object, offset: int = 0) -> Record:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Record("drift_events", 0, offset, 0, None, data)


def test_a_busy_receiver_is_tried_again(receiver: Receiver) -> None:
    receiver.codes = [503, 429]
    sink(receiver).deliver(sample_event())
    assert receiver.bodies == [sample_event()] * 3


def test_a_refusal_is_not_tried_again(receiver: Receiver) -> None:
    receiver.codes = [404]
    with pytest.raises(DependencyError, match="HTTP 404"):
        sink(receiver).deliver(sample_event())
    assert len(receiver.bodies) == 1


def test_a_receiver_that_stays_away_is_an_error_with_its_reason(receiver: Receiver) -> None:
    receiver.codes = [500] * 3
    with pytest.raises(DependencyError, match="after 3 attempts: HTTP 500"):
        sink(receiver).deliver(sample_event())


def test_failures_and_bad_records_are_reported_and_the_rest_is_delivered(receiver: Receiver) -> None:
    receiver.codes = [404]
    reports: list[str] = []
    out = io.StringIO()
    sinks = [sink(receiver), ConsoleSink(out)]
    dispatcher = Dispatcher(sinks, [Route("webhook"), Route("console")], Throttle(), reports.append)
    for number, value in enumerate([sample_event(), sample_event(), b"{", [], {"type": "x"}, {"trigger_id": 1}]):
        dispatcher.handle(record(value, number))
    assert dispatcher.counts == {"told": 1, "repeated": 1, "bad": 4, "failed": 1}
    assert out.getvalue().count("\n") == 1
    assert len(reports) == 5
    assert "undelivered: [FIRING] warning test/*/test" in reports[0]


def test_sinks_by_name(tmp_path: Path) -> None:
    names = ["console", "webhook=http://a/b", "slack=https://a/b", "pagerduty=https://a/b#K", f"textfile={tmp_path}/x"]
    assert [one.name for one in make_sinks(names, io.StringIO())] == [name.partition("=")[0] for name in names]


@pytest.mark.parametrize("spec", ["mail=a@b", "webhook", "webhook=ftp://a", "textfile", "console=x"])
def test_unknown_sinks_are_refused(spec: str) -> None:
    with pytest.raises(InputError, match="sinks are console"):
        make_sinks([spec], io.StringIO())


def test_the_text_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "featuredsl.prom"
    TextfileSink(path, AlertMetrics()).deliver(sample_event())
    assert 'featuredsl_drift_events_total{kind="firing"} 1' in path.read_text()
    assert [one.name for one in tmp_path.iterdir()] == ["featuredsl.prom"]


def test_the_test_alert_says_which_sink_failed(receiver: Receiver) -> None:
    receiver.codes = [200, 404]
    works = CliRunner().invoke(alert_command, ["--sink", f"slack={receiver.url}", "--sink", "console"])
    assert works.exit_code == 0
    assert "this is a test" in works.output
    fails = CliRunner().invoke(alert_command, ["--sink", f"webhook={receiver.url}"])
    assert isinstance(fails.exception, CheckFailed)
    assert "HTTP 404" in str(fails.exception)
