"""Commands of featuredsl that the demo runs beside itself: long-lived services and one-line conversations."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Timer
from typing import Any

from featuredsl.errors import DependencyError
from featuredsl.settings import Settings
from localstack.process import ProcessRecord, service_env, spawn, stop

STOP_S = 20.0
ANSWER_S = 300.0
RUN_S = 600.0
"""A command that has not answered, or ended, by then is killed: the demo fails with its log instead of waiting."""


def environment(settings: Settings) -> dict[str, str]:
    """The settings of a run as environment variables."""
    return settings.environment() | {"PYTHONUNBUFFERED": "1"}


def command(*arguments: str) -> tuple[str, ...]:
    """A featuredsl command under this interpreter."""
    return (sys.executable, "-m", "featuredsl.cli.main", *arguments)


class Background:
    """Services of one run, each with a log file of its own; `stop` ends them together."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._records: list[ProcessRecord] = []

    def start(self, name: str, arguments: Sequence[str]) -> ProcessRecord:
        """Start `featuredsl <arguments>`."""
        log = self._settings.logs / f"{name}.log"
        record = spawn(name, command(*arguments), environment(self._settings), log)
        self._records.append(record)
        return record

    def left_running(self) -> str:
        """What runs on without us, and the command that ends exactly that; empty when nothing does."""
        alive = [record for record in self._records if record.alive]
        lines = [f"left running: {record.name}, pid {record.pid}, log {record.log}" for record in alive]
        if alive:
            lines.append(f"end these services: kill {' '.join(str(record.pid) for record in alive)}")
        return "\n".join(lines)

    def stop(self) -> None:
        """End all services and what they started."""
        stop(reversed(self._records))
        self._records.clear()


def ended(record: ProcessRecord) -> str | None:
    """The error text for a service that has ended on its own; None while it runs."""
    if record.alive:
        return None
    lines = Path(record.log).read_text(encoding="utf-8", errors="replace").splitlines()[-8:]
    return "\n".join([f"{record.name} has ended; log: {record.log}", *lines])


@dataclass(slots=True)
class Conversation:
    """A command that answers each line on its standard input with one line of JSON."""

    name: str
    log: Path
    process: Popen[str]

    @classmethod
    def start(cls, name: str, arguments: Sequence[str], settings: Settings) -> Conversation:
        """Start `featuredsl <arguments>`; its standard error goes to a log file."""
        return cls(name, *_start(name, arguments, settings, PIPE))

    def ask(self, line: str) -> None:
        """Send one line. Raises DependencyError when the command has ended."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        except OSError as error:
            raise self._gone() from error

    def answer(self) -> dict[str, Any]:
        """Wait for the next line. Raises DependencyError when the command ends instead, or does not answer in time."""
        assert self.process.stdout is not None
        deadline = Timer(ANSWER_S, self.process.kill)
        deadline.start()
        try:
            line = self.process.stdout.readline()
        finally:
            deadline.cancel()
        if not line:
            raise self._gone()
        value: dict[str, Any] = json.loads(line)
        return value

    def stop(self) -> None:
        """End the input and wait for the command; by force when it does not end."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            with suppress(OSError):  # it has ended by itself
                self.process.stdin.close()
        try:
            self.process.wait(STOP_S)
        except TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _gone(self) -> DependencyError:
        with suppress(TimeoutExpired):
            self.process.wait(STOP_S)
        killed = " (killed: no answer in time)" if self.process.returncode == -SIGKILL else ""
        return DependencyError(f"{self.name} ended with {self.process.poll()}{killed}; log: {self.log}")


@dataclass(slots=True)
class Command:
    """A command that runs to its end beside the demo; its standard error goes to a log file."""

    text: str
    log: Path
    process: Popen[str]

    @classmethod
    def start(cls, name: str, arguments: Sequence[str], settings: Settings) -> Command:
        """Start `featuredsl <arguments>`."""
        return cls(f"featuredsl {' '.join(arguments)}", *_start(name, arguments, settings, DEVNULL))

    def result(self) -> str:
        """Wait for the end; the output. Raises DependencyError unless it ends in time with exit code 0 or 1."""
        try:
            output, _ = self.process.communicate(timeout=RUN_S)
        except TimeoutExpired as error:
            self.stop()
            msg = f"`{self.text}` did not end within {RUN_S:.0f} s; log: {self.log}"
            raise DependencyError(msg) from error
        if self.process.returncode not in (0, 1):
            msg = f"`{self.text}` ended with {self.process.returncode}; log: {self.log}"
            raise DependencyError(msg)
        return output

    def json(self) -> dict[str, Any]:
        """Wait for the end; the JSON that it printed."""
        output = self.result()
        if not output.strip():
            msg = f"`{self.text}` printed nothing; log: {self.log}"
            raise DependencyError(msg)
        value: dict[str, Any] = json.loads(output)
        return value

    def stop(self) -> None:
        """End it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def run_text(name: str, arguments: Sequence[str], settings: Settings) -> str:
    """Run a command to its end; its output. Raises DependencyError unless the exit code is 0 or 1."""
    running = Command.start(name, arguments, settings)
    try:
        return running.result()
    finally:
        running.stop()


def _start(name: str, arguments: Sequence[str], settings: Settings, stdin: int) -> tuple[Path, Popen[str]]:
    log = settings.logs / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as errors:
        process = Popen(
            command(*arguments),
            stdin=stdin,
            stdout=PIPE,
            stderr=errors,
            text=True,
            env=service_env(environment(settings)),
            start_new_session=True,
        )
    return log, process


def toml(values: Mapping[str, Any]) -> str:
    """A flat mapping, with tables one level deep and arrays of tables, as TOML."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items() if _is_scalar(value)]
    for name, value in values.items():
        tables = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
        header = f"[[{name}]]" if isinstance(value, list) else f"[{name}]"
        for table in tables:
            lines += ["", header, *(f"{key} = {json.dumps(item)}" for key, item in table.items())]
    return "\n".join(lines) + "\n"


def _is_scalar(value: object) -> bool:
    return not isinstance(value, dict | list)
