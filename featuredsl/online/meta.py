"""What is stored about groups as a whole: the version readers follow, the completed batch times.

They are hashes of a namespace (the topic prefix of the settings), so that a run with a prefix of its own never
moves the readers of another: `featuredsl:<namespace>current`, `featuredsl:<namespace>batch`, and for the versions
that are being filled beside the current ones `featuredsl:<namespace>filling`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    def commands(self) -> list[tuple[str | bytes | int, ...]]:
        """Read both whole; the replies are for `parse_meta`."""
        return [("HGETALL", self.current), ("HGETALL", self.marks)]

    def read_commands(self, fields: Sequence[str]) -> list[tuple[str | bytes | int, ...]]:
        """What a read asks for: the marks of some fields, if any, then the versions of all groups."""
        marks: list[tuple[str | bytes | int, ...]] = [("HMGET", self.marks, *fields)] if fields else []
        return [*marks, ("HGETALL", self.current)]


@dataclass(frozen=True, slots=True)
class StoreMeta:
    """`versions`: group to store version. `marks`: `group@version/tier` to completed times, newest first."""

    versions: Mapping[str, str]
    marks: Mapping[str, tuple[int, ...]]

    def batch_marks(self, group: str, version: str) -> dict[str, tuple[int, ...]]:
        """Completed times of each batch tier of a group."""
        prefix = mark_field(group, version, "")
        return {k.removeprefix(prefix): v for k, v in self.marks.items() if k.startswith(prefix)}


def mark_field(group: str, version: str, tier: str) -> str:
    """Field of the hash of marks for a tier."""
    return f"{group}@{version}/{tier}"


def parse_marks(value: bytes | None) -> tuple[int, ...]:
    """Times of one field, newest first."""
    return tuple(int(part) for part in value.split(b",")) if value else ()


def parse_meta(replies: Sequence[Any]) -> StoreMeta:
    """The replies of `MetaKeys.commands` (flat lists or mappings of bytes)."""
    versions, marks = replies
    return StoreMeta(
        parse_versions(versions), {key.decode(): parse_marks(value) for key, value in _pairs(marks).items()}
    )


def parse_read(fields: Sequence[str], replies: Sequence[Any]) -> StoreMeta:
    """The replies of `MetaKeys.read_commands`."""
    marks = dict(zip(fields, map(parse_marks, replies[0]), strict=True)) if fields else {}
    return StoreMeta(parse_versions(replies[-1]), marks)


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
