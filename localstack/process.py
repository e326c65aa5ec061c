"""Operating system processes of the stack: start them detached, recognise them later, end them completely."""

from __future__ import annotations

import os
import random
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from featuredsl.errors import DependencyError

TAG = "FEATUREDSL_STACK_TAG"
GRACE_S = 12.0
POLL_S = 0.05
_PORTS = range(20_000, 32_000)
_PROC = Path("/proc")
_DROPPED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """One started process.

    `started` tells it apart from a later process with the same pid; `tag` stands in its environment and in
    that of all its children, also of those that outlive it.
    """

    name: str
    pid: int
    started: str
    tag: str
    log: str

    @property
    def alive(self) -> bool:
        """True while exactly this process runs."""
        return start_mark(self.pid) == self.started


def free_ports(count: int) -> list[int]:
    """Distinct TCP ports of 127.0.0.1 that nobody uses now.

    They lie below the ports that the kernel gives to outgoing connections: one of those could take a port
    between this look and the start of the service.
    """
    candidates = random.sample(_PORTS, len(_PORTS))
    free = list(islice((port for port in candidates if _is_free(port)), count))
    if len(free) < count:
        msg = f"no {count} free TCP ports between {_PORTS.start} and {_PORTS.stop}"
        raise DependencyError(msg)
    return free


def kept_ports(file: Path, count: int) -> list[int]:
    """The ports that a file remembers, else free ones, which it remembers then: a service that is started again has its
    former address, which its clients know, unless somebody else has taken it."""
    with suppress(OSError, ValueError):
        ports = [int(text) for text in file.read_text(encoding="ascii").split()]
        if len(ports) == count and all(_is_free(port, closing=True) for port in ports):
            return ports
    ports = free_ports(count)
    file.write_text(" ".join(map(str, ports)), encoding="ascii")
    return ports


def _is_free(port: int, *, closing: bool = False) -> bool:
    """Connections that are still `closing` keep no service from listening again, but a new one should not meet them."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe, suppress(OSError, OverflowError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, closing)
        probe.bind(("127.0.0.1", port))
        return True
    return False


def spawn(name: str, command: Iterable[str], env: Mapping[str, str], log: Path) -> ProcessRecord:
    """Start a command in a session of its own, with its output appended to `log`."""
    tag = secrets.token_hex(8)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=service_env({**env, TAG: tag}),
            start_new_session=True,
        )
    return ProcessRecord(name, process.pid, start_mark(process.pid) or "", tag, str(log))


def service_env(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a service: ours, without what would change its Python or JVM, plus `extra`."""
    return {name: value for name, value in os.environ.items() if name not in _DROPPED} | dict(extra)


def start_mark(pid: int) -> str | None:
    """When the process started, in the kernel's words; None when it is gone or a zombie."""
    _reap(pid)
    if not _PROC.is_dir():
        return _start_mark_by_ps(pid)
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def stop(records: Iterable[ProcessRecord], grace_s: float = GRACE_S) -> None:
    """End the processes and everything that they started: first politely, after `grace_s` by force."""
    todo = list(records)
    for record in todo:
        if record.alive:
            _signal(os.killpg, record.pid, signal.SIGTERM)
    if not _gone(todo, grace_s):
        for record in todo:
            if record.alive:
                _signal(os.killpg, record.pid, signal.SIGKILL)
        _gone(todo, grace_s)
    _stop_descendants({record.tag for record in todo})


def descendants(tags: Collection[str]) -> list[int]:
    """Pids of live processes that carry one of the tags (Linux; elsewhere process groups have to do)."""
    if not _PROC.is_dir():
        return []
    wanted = {f"{TAG}={tag}".encode() for tag in tags}
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit() and _carries(entry, wanted)]
    return [pid for pid in pids if pid != os.getpid() and start_mark(pid) is not None]


def _stop_descendants(tags: Collection[str]) -> None:
    deadline = time.monotonic() + GRACE_S
    while (left := descendants(tags)) and time.monotonic() < deadline:
        for pid in left:
            _signal(os.kill, pid, signal.SIGKILL)
        time.sleep(POLL_S)


def _gone(records: list[ProcessRecord], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while any(record.alive for record in records):
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)
    return True


def _signal(send: Callable[[int, int], None], pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        send(pid, number)


def _carries(entry: Path, wanted: set[bytes]) -> bool:
    try:
        return not wanted.isdisjoint((entry / "environ").read_bytes().split(b"\0"))
    except OSError:
        return False


def _reap(pid: int) -> None:
    """Collect the exit status of a child of ours, so that it does not stay a zombie."""
    with suppress(OSError):
        os.waitpid(pid, os.WNOHANG)


def _start_mark_by_ps(pid: int) -> str | None:
    done = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
