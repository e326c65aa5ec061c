"""The landed history of a topic: which batches there are, what is pending, who may write.

Layout under `<home>/history/<topic>/`: `data/<offset ranges>/event_date=YYYY-MM-DD/*.parquet`, and
`manifests/<offset ranges>.json`, written last. Only what a manifest names is history, so a batch is there
completely or not at all; the offset ranges are in the path, so repeating a batch replaces it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from featuredsl.errors import DependencyError, StateError

MANIFEST_VERSION = 1
MAX_NAME = 200
Ranges = Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Batch:
    """One landed batch: half-open offset ranges by partition, and what the records turned out to be."""

    topic: str
    ranges: dict[str, tuple[int, int]]
    rows: int
    heartbeats: int
    rejected: dict[str, int] = field(default_factory=dict)
    version: int = MANIFEST_VERSION

    @property
    def name(self) -> str:
        """The file-system name, for example `0.0-120_1.0-98`."""
        return batch_name({int(p): span for p, span in self.ranges.items()})


class History:
    """The landed batches of one topic."""

    def __init__(self, home: Path, topic: str) -> None:
        self.topic = topic
        self.root = home / "history" / topic
        self.data = self.root / "data"
        self.manifests = self.root / "manifests"

    def batches(self) -> list[Batch]:
        """Every landed batch, in the order of the offsets. Raises StateError for an unknown manifest."""
        found = [_read_manifest(path) for path in self.manifests.glob("*.json")]
        return sorted(found, key=lambda batch: sum(end for _, end in batch.ranges.values()))

    def landed(self) -> dict[int, int]:
        """The offset after the last landed record, by partition."""
        ends: dict[int, int] = {}
        for batch in self.batches():
            for partition, (_, end) in batch.ranges.items():
                ends[int(partition)] = max(end, ends.get(int(partition), 0))
        return ends

    def pending(self, end_offsets: Mapping[int, int], begin_offsets: Mapping[int, int]) -> dict[int, tuple[int, int]]:
        """What is on the topic and not landed; of a partition of which nothing is, what the topic still has. Raises
        StateError when the topic has shrunk."""
        landed = self.landed()
        shrunk = sorted(p for p, end in landed.items() if end > end_offsets.get(p, 0))
        if shrunk:
            msg = (
                f"topic {self.topic!r} partition {shrunk[0]} ends at {end_offsets.get(shrunk[0], 0)}, but "
                f"{landed[shrunk[0]]} records of it are landed in {self.root}: it was recreated; "
                "use another topic prefix or move that folder away"
            )
            raise StateError(msg)
        begins = {p: (landed.get(p, begin_offsets.get(p, 0)), end) for p, end in sorted(end_offsets.items())}
        return {p: span for p, span in begins.items() if span[0] < span[1]}

    def paths(self) -> list[str]:
        """The Parquet folders of all landed batches that hold rows."""
        return [str(self.data / batch.name) for batch in self.batches() if batch.rows]

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Only one writer at a time; leftovers of a writer that died are removed on entry."""
        self.manifests.mkdir(parents=True, exist_ok=True)
        self.data.mkdir(parents=True, exist_ok=True)
        with (self.root / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                msg = f"another batch run is landing {self.topic!r} in {self.root}; wait for it and retry"
                raise DependencyError(msg) from error
            kept = {batch.name for batch in self.batches()}
            for path in self.data.iterdir():
                if path.name not in kept:
                    shutil.rmtree(path)
            yield

    def commit(self, batch: Batch, staging: Path) -> None:
        """Make a written batch part of the history: rename the data, then write the manifest."""
        if staging.exists():
            staging.replace(self.data / batch.name)
        path = self.manifests / f"{batch.name}.json"
        temporary = path.with_suffix(".tmp")
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(asdict(batch), file, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)


def batch_name(ranges: Ranges) -> str:
    """The file-system name of half-open offset ranges by partition."""
    name = "_".join(f"{p}.{begin}-{end}" for p, (begin, end) in sorted(ranges.items()))
    return name if len(name) <= MAX_NAME else hashlib.sha256(name.encode()).hexdigest()


def _read_manifest(path: Path) -> Batch:
    values = json.loads(path.read_text(encoding="utf-8"))
    if values.get("version") != MANIFEST_VERSION:
        msg = f"{path} has manifest version {values.get('version')!r}; this release reads {MANIFEST_VERSION}"
        raise StateError(msg)
    values["ranges"] = {p: (begin, end) for p, (begin, end) in values["ranges"].items()}
    return Batch(**values)
