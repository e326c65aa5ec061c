"""A local stack of a benchmark's own, and what its processes and Redis have used of the processors (Linux)."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import redis

from featuredsl.settings import Settings
from localstack.process import descendants
from localstack.service import Layout
from localstack.stack import down, up
from localstack.state import StackState

HOME = Path("build/bench-stack")
_TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def stack(*parts: str) -> Iterator[Settings]:
    """Fresh services, ended and removed afterwards, also after Ctrl-C or a polite kill."""
    layout = Layout(HOME.absolute(), Path("build/jars").absolute())
    _remove(layout)
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        up(layout, parts)
        yield Settings.load(home=layout.home, jars=layout.jars, registry=layout.home / "registry")
    finally:
        _remove(layout)
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _remove(layout: Layout) -> None:
    down(layout)
    shutil.rmtree(layout.home, ignore_errors=True)


def service_cpu(settings: Settings, part: str, name: str) -> float:
    """CPU seconds that a service of the stack has used so far, with everything that it started."""
    records = [r for r in StackState.read(settings.home).processes[part] if r.name == name]
    pids = {record.pid for record in records} | set(descendants({record.tag for record in records}))
    return sum(process_cpu(pid) for pid in pids)


def process_cpu(pid: int) -> float:
    """CPU seconds of one process so far, without its children; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def redis_cpu(client: redis.Redis) -> float:
    """CPU seconds of the Redis server so far."""
    found = client.info("cpu")
    return float(found["used_cpu_user"]) + float(found["used_cpu_sys"])


def load_note() -> str:
    """The load average of the last minute, which says how busy the machine was."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"
