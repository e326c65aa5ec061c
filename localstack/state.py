"""The stack's file, `<home>/stack.json`: addresses for `Settings`, and which processes are ours."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from featuredsl.errors import StateError
from featuredsl.settings import STACK_FILE
from localstack.process import ProcessRecord

FORMAT = 1


@dataclass(slots=True)
class StackState:
    """What `up` has started, part by part. Changes go through `started`, `ready` and `forget`."""

    home: Path
    processes: dict[str, list[ProcessRecord]] = field(default_factory=dict)
    endpoints: dict[str, str] = field(default_factory=dict)
    web: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def read(cls, home: Path) -> StackState:
        """The state under `home`; empty when there is none. Raises StateError when it is not readable."""
        path = home / STACK_FILE
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls(home)
        except ValueError as error:
            msg = f"{path} is not JSON ({error}); end the processes of the stack by hand and remove it"
            raise StateError(msg) from error
        if document.get("format") != FORMAT:
            msg = f"{path} has format {document.get('format')!r}; this release knows {FORMAT}"
            raise StateError(msg)
        processes = {
            part: [ProcessRecord(**record) for record in records] for part, records in document["processes"].items()
        }
        return cls(home, processes, document["endpoints"], document["web"])

    def started(self, part: str, record: ProcessRecord) -> None:
        """Note a process before it is ready, so that a crash of ours leaves no orphan."""
        with self._lock:
            self.processes.setdefault(part, []).append(record)
            self._write()

    def ready(self, part: str, address: str, web: dict[str, str]) -> None:
        """Publish the address of a part that can be used now."""
        with self._lock:
            self.endpoints[part] = address
            self.web.update(web)
            self._write()

    def forget(self, parts: Iterable[str]) -> None:
        """Remove parts; the file goes with the last of them."""
        with self._lock:
            for part in parts:
                self.processes.pop(part, None)
                self.endpoints.pop(part, None)
                self.web.pop(part.capitalize(), None)
            self._write()

    def healthy(self, part: str) -> bool:
        """True when the part was ready once and all of its processes still run."""
        records = self.processes.get(part, [])
        return part in self.endpoints and bool(records) and all(record.alive for record in records)

    def _write(self) -> None:
        path = self.home / STACK_FILE
        if not self.processes:
            path.unlink(missing_ok=True)
            return
        document = {
            "format": FORMAT,
            "endpoints": self.endpoints,
            "web": self.web,
            "processes": {part: [asdict(r) for r in records] for part, records in self.processes.items()},
        }
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        os.replace(temporary, path)


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold the stack's lock: two `up` or `down` of one home run one after the other."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "stack.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
