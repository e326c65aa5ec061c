"""What is stored about groups as a whole: the version readers follow, the completed batch times.

They are hashes of a namespace (the topic prefix of the settings), so that a run with a prefix of its own never
moves the readers of another: `featuredsl:<namespace>current`, `featuredsl:<namespace>batch`, and for the versions
that are being filled beside the current ones `featuredsl:<namespace>filling`. The sinks of a stream job mark in
`featuredsl:<namespace>closed` how far the tiers of closed periods are complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class MetaKeys:
    """The keys of a namespace."""

    namespace: str = ""

    @property
    def current(self) -> str:
        """Hash of group to the store version that readers follow."""
        return f"featuredsl:{self.namespace}current"

    @property
    def filling(self) -> str:
        """Hash of group to the store version that is filled beside the current one."""
        return f"featuredsl:{self.namespace}filling"

    @property
    def marks(self) -> str:
        """Hash of `group@version/tier` to completed batch times."""
        return f"featuredsl:{self.namespace}batch"

    @property
    def closed(self) -> str:
        """Hash of `group@version/<mark of a streamed tier>` to the time up to which it is complete."""
        return f"featuredsl:{self.namespace}closed"

    @property
    def commands(self) -> list[tuple[str | bytes | int, ...]]:
        """Read all three whole; the replies are for `parse_meta`."""
        return [("HGETALL", self.current), ("HGETALL", self.marks), ("HGETALL", self.closed)]

    def read_commands(self, fields: Sequence[str], closed: Sequence[str] = ()) -> list[tuple[str | bytes | int, ...]]:
        """What a read asks for: some fields of batch tiers and of closed periods, then the versions of all groups."""
        asked = ((self.marks, fields), (self.closed, closed))
        marks: list[tuple[str | bytes | int, ...]] = [("HMGET", key, *names) for key, names in asked if names]
        return [*marks, ("HGETALL", self.current)]


@dataclass(frozen=True, slots=True)
class StoreMeta:
    """`versions`: group to store version. `marks`: `group@version/tier` to completed times, newest first. `closed`: the
    same for streamed tiers, with one time each. Times in microseconds."""

    versions: Mapping[str, str]
    marks: Mapping[str, tuple[int, ...]]
    closed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def times(self) -> dict[str, tuple[int, ...]]:
        """Both kinds of marks."""
        return {**self.marks, **self.closed}

    def batch_marks(self, group: str, version: str) -> dict[str, tuple[int, ...]]:
        """Completed times of each batch tier of a group."""
        return _of_version(self.marks, group, version)

    def closed_marks(self, group: str, version: str) -> dict[str, tuple[int, ...]]:
        """Up to when each deferred tier of a group's stream is complete, by its mark."""
        return _of_version(self.closed, group, version)

    def completed(self, group: str, version: str) -> dict[str, tuple[int, ...]]:
        """Both."""
        return self.batch_marks(group, version) | self.closed_marks(group, version)


def _of_version(marks: Mapping[str, tuple[int, ...]], group: str, version: str) -> dict[str, tuple[int, ...]]:
    prefix = mark_field(group, version, "")
    return {k.removeprefix(prefix): v for k, v in marks.items() if k.startswith(prefix)}


def mark_field(group: str, version: str, tier: str) -> str:
    """Field of the hash of marks for a tier."""
    return f"{group}@{version}/{tier}"


def parse_marks(value: bytes | None) -> tuple[int, ...]:
    """Times of one field, newest first."""
    return tuple(int(part) for part in value.split(b",")) if value else ()


def parse_closed(value: bytes | None) -> tuple[int, ...]:
    """The time that a sink's mark begins with; none (`-`, no field) before every subtask has closed a period."""
    closed = b"-" if value is None else value.split(b" ", 1)[0]
    return () if closed == b"-" else (int(closed),)


def parse_meta(replies: Sequence[Any]) -> StoreMeta:
    """The replies of `MetaKeys.commands` (flat lists or mappings of bytes)."""
    versions, marks, closed = replies
    return StoreMeta(
        parse_versions(versions),
        {key.decode(): parse_marks(value) for key, value in _pairs(marks).items()},
        {key.decode(): parse_closed(value) for key, value in _pairs(closed).items()},
    )


def parse_read(fields: Sequence[str], closed: Sequence[str], replies: Sequence[Any]) -> StoreMeta:
    """The replies of `MetaKeys.read_commands`."""
    marks = dict(zip(fields, map(parse_marks, replies[0]), strict=True)) if fields else {}
    ends = dict(zip(closed, map(parse_closed, replies[-2]), strict=True)) if closed else {}
    return StoreMeta(parse_versions(replies[-1]), marks, ends)


def parse_versions(reply: Any) -> dict[str, str]:
    """Group to store version."""
    return {key.decode(): value.decode() for key, value in _pairs(reply).items()}


def outdated(fields: Iterable[str], group: str, versions: Sequence[str]) -> list[str]:
    """Those of the fields of marks that are of the group, but of none of the versions."""
    kept = tuple(mark_field(group, version, "") for version in versions)
    return [name for name in fields if name.startswith(f"{group}@") and not name.startswith(kept)]


def _pairs(reply: Any) -> dict[bytes, bytes]:
    if isinstance(reply, Mapping):
        return dict(reply)
    return dict(zip(reply[::2], reply[1::2], strict=True))
