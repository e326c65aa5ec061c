"""What a stream job has done so far: events by outcome, and the newest event time of each, kept in the online store.

The job keeps one hash for each (source, outcome), `featuredsl:stream:<consumer group>:{source|outcome}:X`, with the
count and the newest event time as decimal texts of one width, so that the sink's guard lets them only grow. Counts
start with the state of the job: a restored job goes on exactly, a start without state begins at zero.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from schemas.records import PARSE_REASONS, VALIDATE_REASONS

ACCEPTED: Final = "accepted"
HEARTBEAT: Final = "heartbeat"
FUTURE_TIME: Final = "future_time"
NULL_ENTITY: Final = "null_entity"
DUPLICATE: Final = "duplicate"
DUPLICATE_EARLIER: Final = "duplicate_earlier"
"""A duplicate that is older than its event, which came first: where all are known, it would have been the event."""
REPEATED: Final = (DUPLICATE, DUPLICATE_EARLIER)
LATE: Final = "late"
"""An event like those accepted, but older than any streamed feature of its source looked back when its record came."""
REJECTED: Final = tuple(dict.fromkeys((*PARSE_REASONS, *VALIDATE_REASONS, FUTURE_TIME, NULL_ENTITY)))
"""Every reason of a dead letter of a feature job."""
OUTCOMES: Final = (ACCEPTED, LATE, HEARTBEAT, *REPEATED, *REJECTED)
COUNT_FIELD: Final = "n"
NEWEST_FIELD: Final = "t"
WIDTH: Final = 19
"""Digits of the largest 64-bit integer."""


def streams_key(namespace: str) -> str:
    """Hash of the stream jobs of a namespace: job name to the JSON of `StreamNote`."""
    return f"featuredsl:{namespace}streams"


@dataclass(frozen=True, slots=True)
class StreamNote:
    """A stream job as it was started: where to find it, what it reads and fills."""

    name: str
    job_id: str
    group_id: str
    groups: tuple[str, ...]
    topics: Mapping[str, str]
    """Source name to topic."""
    started_us: int

    def to_json(self) -> str:
        """For the hash of stream jobs."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> StreamNote:
        """The reverse of `to_json`."""
        data = json.loads(text)
        return cls(**{**data, "groups": tuple(data["groups"])})


def current_notes(notes: Iterable[StreamNote]) -> list[StreamNote]:
    """The jobs that are still meant to run: a group belongs to the job that was started for it last."""
    taken: set[str] = set()
    kept: list[StreamNote] = []
    for note in sorted(notes, key=lambda one: -one.started_us):
        if not taken.issuperset(note.groups):
            kept.append(note)
        taken.update(note.groups)
    return sorted(kept, key=lambda one: one.name)


def key_prefix(group_id: str) -> str:
    """What stands before the braces of the job's hashes."""
    return f"featuredsl:stream:{group_id}:"


def key(group_id: str, source: str, outcome: str) -> str:
    """The hash of one outcome of a source."""
    return f"{key_prefix(group_id)}{{{source}|{outcome}}}:X"


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """`counts` by outcome (those that happened); `newest_us` of events, late ones too, `heartbeat_us` of heartbeats."""

    counts: Mapping[str, int]
    newest_us: int | None = None
    heartbeat_us: int | None = None

    @property
    def rejected(self) -> dict[str, int]:
        """Dead letters by reason."""
        return {name: n for name, n in self.counts.items() if name in REJECTED}

    @property
    def duplicates(self) -> int:
        """Records that repeat an event."""
        return sum(self.counts.get(name, 0) for name in REPEATED)


def read_commands(group_id: str, sources: Iterable[str]) -> list[tuple[str | bytes | int, ...]]:
    """Commands that read the progress of sources, for `parse_progress`."""
    places = [(source, outcome) for source in sources for outcome in OUTCOMES]
    return [("HMGET", key(group_id, *place), COUNT_FIELD, NEWEST_FIELD) for place in places]


def reset_commands(group_id: str, sources: Iterable[str]) -> list[tuple[str | bytes | int, ...]]:
    """Commands that forget the progress: before a start without state."""
    return [("DEL", key(group_id, source, outcome)) for source in sources for outcome in OUTCOMES]


def parse_progress(sources: Sequence[str], replies: Sequence[Any]) -> dict[str, SourceProgress]:
    """The replies of `read_commands`."""
    found: dict[str, SourceProgress] = {}
    for number, source in enumerate(sources):
        mine = replies[number * len(OUTCOMES) : (number + 1) * len(OUTCOMES)]
        read = {outcome: reply for outcome, reply in zip(OUTCOMES, mine, strict=True) if reply[0] is not None}
        times = {outcome: int(reply[1]) for outcome, reply in read.items() if reply[1] is not None}
        found[source] = SourceProgress(
            {outcome: int(reply[0]) for outcome, reply in read.items()},
            max(times.get(ACCEPTED, 0), times.get(LATE, 0)) or None,
            times.get(HEARTBEAT) or None,
        )
    return found
