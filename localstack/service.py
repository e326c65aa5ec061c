"""What the stack needs to know about a part (Kafka, Redis, Flink, Spark) to start and check it."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
PROBE_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class Service:
    """One process: how it is started, and `missing`, which returns None once it is ready for use.

    The next service of the part is started when this one is ready where `gate` is set, else at once.
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    missing: Callable[[], str | None]
    gate: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Services that belong together, the work before their start, and the address that users get."""

    name: str
    prepare: Callable[[], None]
    services: tuple[Service, ...]
    address: str
    web: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layout:
    """Folders of one stack: `home` holds data, configuration and logs; `jars` what was fetched at set-up.

    `quick` spares the second compiler of the JVMs: less work while a service is young, less speed once it is warm.
    """

    home: Path
    jars: Path
    quick: bool = False

    @property
    def logs(self) -> Path:
        """All log files."""
        return self.home / "logs"

    @property
    def scratch(self) -> Path:
        """Temporary files of all services."""
        return self.home / "scratch"

    def folder(self, *names: str) -> Path:
        """A folder under home, made when it is missing."""
        path = self.home.joinpath(*names)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def java_options(self) -> tuple[str, ...]:
        """Options of every JVM: temporary files stay under home."""
        compilers = ("-XX:TieredStopAtLevel=1",) if self.quick else ()
        return (f"-Djava.io.tmpdir={self.scratch}", "-XX:-UsePerfData", *compilers)


def python_path() -> str:
    """PATH with this interpreter's folder first, so that engines find the same Python and its commands."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"


def get_json(url: str) -> Any:
    """GET a JSON document; None when the server does not answer (yet)."""
    try:
        with urllib.request.urlopen(url, timeout=PROBE_TIMEOUT_S) as response:
            return json.load(response)
    except (urllib.error.URLError, OSError, ValueError):
        return None
