"""Where alerts go: a stream, a webhook, a Slack-style webhook, PagerDuty's form, a Prometheus text file."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

from featuredsl.errors import DependencyError, InputError
from monitors.alerts.messages import kind, line, pagerduty, slack
from monitors.alerts.metrics import AlertMetrics

Event = Mapping[str, Any]
ATTEMPTS = 5
FIRST_WAIT_S = 0.5
TIMEOUT_S = 10.0
_RETRIED = (408, 425, 429, 500, 502, 503, 504)


class Sink(Protocol):
    """Delivers one event, or raises DependencyError when it could not after all attempts."""

    name: str

    def deliver(self, event: Event) -> None: ...


@dataclass(slots=True)
class ConsoleSink:
    """One line for each event."""

    stream: TextIO
    name: str = "console"

    def deliver(self, event: Event) -> None:
        """Write the line and flush."""
        print(line(event), file=self.stream, flush=True)


@dataclass(slots=True)
class HttpSink:
    """POSTs JSON; retries with growing waits on connection errors and on 408, 425, 429 and 5xx."""

    name: str
    url: str
    payload: Callable[[Event], Mapping[str, Any] | None]
    attempts: int = ATTEMPTS
    first_wait_s: float = FIRST_WAIT_S

    def deliver(self, event: Event) -> None:
        """Send the payload of the event; an event without one (None) is not for this sink."""
        body = self.payload(event)
        if body is None:
            return
        data = json.dumps(body, allow_nan=False).encode()
        for attempt in range(1, self.attempts + 1):
            problem = self._post(data)
            if problem is None:
                return
            if attempt < self.attempts:
                time.sleep(self.first_wait_s * 2 ** (attempt - 1))
        msg = f"the alert sink {self.name} did not take an event after {self.attempts} attempts: {problem}"
        raise DependencyError(msg)

    def _post(self, data: bytes) -> str | None:
        """None when the receiver took it, else why a retry may help. Raises DependencyError when none will."""
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url, data, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S):
                return None
        except urllib.error.HTTPError as error:
            if error.code in _RETRIED:
                return f"HTTP {error.code}"
            msg = f"the alert sink {self.name} refuses events: HTTP {error.code}"
            raise DependencyError(msg) from error
        except (OSError, TimeoutError) as error:
            return str(error)


@dataclass(slots=True)
class TextfileSink:
    """Keeps a Prometheus text file up to date, replaced as a whole."""

    path: Path
    metrics: AlertMetrics
    name: str = "textfile"

    def deliver(self, event: Event) -> None:
        """Count the event and write the file."""
        self.metrics.add(event)
        scratch = self.path.with_name(f".{self.path.name}.new")
        scratch.write_text(self.metrics.render(), encoding="utf-8")
        os.replace(scratch, self.path)


def make_sinks(specs: Sequence[str], stream: TextIO) -> list[Sink]:
    """Sinks from `console`, `webhook=URL`, `slack=URL`, `pagerduty=URL#ROUTING_KEY`, `textfile=PATH`.

    Raises InputError for another word or a missing value.
    """
    return [_make(spec, stream) for spec in specs]


def _make(spec: str, stream: TextIO) -> Sink:
    name, _, value = spec.partition("=")
    if name == "console" and not value:
        return ConsoleSink(stream)
    if name == "textfile" and value:
        return TextfileSink(Path(value), AlertMetrics())
    if name in ("webhook", "slack", "pagerduty") and value.startswith(("http://", "https://")):
        url, _, key = value.partition("#")
        payloads: dict[str, Callable[[Event], Mapping[str, Any] | None]] = {
            "webhook": lambda event: event,
            "slack": slack,
            "pagerduty": lambda event: None if kind(event) == "trigger" else pagerduty(event, key),
        }
        return HttpSink(name, url, payloads[name])
    msg = f"unknown alert sink {spec!r}; sinks are console, webhook=URL, slack=URL, pagerduty=URL#KEY, textfile=PATH"
    raise InputError(msg)
