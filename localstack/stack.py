"""Start, inspect and end the local stack."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from featuredsl.errors import DependencyError, InputError
from jobs.wait import wait_until
from localstack.flink import flink, probe_flink
from localstack.kafka import kafka, probe_kafka
from localstack.process import spawn, stop
from localstack.redis_server import probe_redis, redis_server
from localstack.service import Layout, Part, Service
from localstack.spark import probe_spark, spark
from localstack.state import StackState, locked

READY_TIMEOUT_S = 240.0
PARTS: Mapping[str, Callable[[Layout], Part]] = {
    "kafka": kafka,
    "redis": redis_server,
    "flink": flink,
    "spark": spark,
}
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PartStatus:
    """`state` is running, starting, broken or stopped; `detail` says what is missing when it is broken."""

    part: str
    state: str
    address: str
    pids: tuple[int, ...]
    detail: str = ""


def part_names(text: str | None) -> list[str]:
    """The parts of a comma-separated list, in the order of start; None means all."""
    if text is None:
        return list(PARTS)
    asked = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in asked if name not in PARTS]:
        msg = f"no part {unknown[0]!r} in the stack; parts are {', '.join(PARTS)}"
        raise InputError(msg)
    return [name for name in PARTS if name in asked]


def up(layout: Layout, names: Sequence[str], report: Report = lambda _: None) -> StackState:
    """Start the parts that do not run yet, in parallel, and wait until all are ready.

    When one fails or the user interrupts, what this call started is ended again. Raises DependencyError.
    """
    with locked(layout.home):
        state = StackState.read(layout.home)
        todo = [name for name in names if not state.healthy(name)]
        _end(state, todo)
        layout.folder("scratch")
        parts = [PARTS[name](layout) for name in todo]
        try:
            _Start(layout, state, report, threading.Event()).all(parts)
        except BaseException:
            _end(state, todo)
            raise
    return state


def down(layout: Layout, names: Sequence[str] | None = None) -> list[str]:
    """End the parts (default: all) with everything that they started; returns the names of those ended."""
    if not (layout.home / "stack.json").exists():
        return []
    with locked(layout.home):
        state = StackState.read(layout.home)
        ended = [name for name in PARTS if name in state.processes and (names is None or name in names)]
        _end(state, ended)
    return ended


def status(layout: Layout) -> list[PartStatus]:
    """How each part is, asked from the service itself."""
    state = StackState.read(layout.home)
    return [_status(state, name) for name in PARTS]


def _status(state: StackState, name: str) -> PartStatus:
    records = state.processes.get(name, [])
    address = state.endpoints.get(name, "")
    pids = tuple(record.pid for record in records if record.alive)
    if not records:
        return PartStatus(name, "stopped", "", ())
    if dead := [record for record in records if not record.alive]:
        detail = f"{dead[0].name} has ended; log {dead[0].log}"
        return PartStatus(name, "broken", address, pids, detail)
    if not address:
        return PartStatus(name, "starting", "", pids)
    missing = _probe(state, name, address)
    return PartStatus(name, "broken" if missing else "running", address, pids, missing or "")


def _probe(state: StackState, name: str, address: str) -> str | None:
    if name == "spark":
        return probe_spark(state.web["Spark"])
    return {"kafka": probe_kafka, "redis": probe_redis, "flink": probe_flink}[name](address)


@dataclass(frozen=True, slots=True)
class _Start:
    """One `up`: its parts run in parallel, and none starts another process once one of them has failed."""

    layout: Layout
    state: StackState
    report: Report
    failed: threading.Event

    def all(self, parts: Sequence[Part]) -> None:
        """Start the parts and wait for them; on the first failure, or an interrupt, end them again."""
        with ThreadPoolExecutor(max_workers=len(PARTS)) as pool:
            futures = [pool.submit(self.part, part) for part in parts]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                self.failed.set()
                stop(record for part in parts for record in self.state.processes.get(part.name, []))
                raise

    def part(self, part: Part) -> None:
        """Start the services of one part in order, and publish its address when it is ready."""
        part.prepare()
        for service in part.services:
            if self.failed.is_set():
                return
            log = self.layout.logs / f"{service.name}.log"
            self.state.started(part.name, spawn(service.name, service.command, service.env, log))
            if service.gate or service is part.services[-1]:
                self._await(service, part, log)
        self.state.ready(part.name, part.address, dict(part.web))
        self.report(f"{part.name} at {part.address}")

    def _await(self, service: Service, part: Part, log: Path) -> None:
        wait_until(
            lambda: self._missing(service, part),
            READY_TIMEOUT_S,
            f"{service.name} did not become ready (log: {log})",
        )

    def _missing(self, service: Service, part: Part) -> str | None:
        if self.failed.is_set():
            msg = f"{part.name} was given up, because another part failed"
            raise DependencyError(msg)
        for record in self.state.processes.get(part.name, []):
            if not record.alive:
                msg = f"{record.name} ended during its start\n{_tail(Path(record.log))}\nlog: {record.log}"
                raise DependencyError(msg)
        return service.missing()


def _tail(log: Path, lines: int = 12) -> str:
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def _end(state: StackState, names: Iterable[str]) -> None:
    names = list(names)
    stop(record for name in names for record in state.processes.get(name, []))
    state.forget(names)
