"""What is stored about groups as a whole: the version readers follow, the completed batch times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

CURRENT_KEY: Final = "featuredsl:current"
MARKS_KEY: Final = "featuredsl:batch"
META_COMMANDS: Final[list[tuple[str | bytes | int, ...]]] = [("HGETALL", CURRENT_KEY), ("HGETALL", MARKS_KEY)]


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
    """Field of `featuredsl:batch` for a tier."""
    return f"{group}@{version}/{tier}"


def parse_marks(value: bytes | None) -> tuple[int, ...]:
    """Times of one field, newest first."""
    return tuple(int(part) for part in value.split(b",")) if value else ()


def parse_meta(replies: Sequence[Any]) -> StoreMeta:
    """The replies of `META_COMMANDS` (flat lists or mappings of bytes)."""
    versions, marks = (_pairs(reply) for reply in replies)
    return StoreMeta(
        {key.decode(): value.decode() for key, value in versions.items()},
        {key.decode(): parse_marks(value) for key, value in marks.items()},
    )


def _pairs(reply: Any) -> dict[bytes, bytes]:
    if isinstance(reply, Mapping):
        return dict(reply)
    return dict(zip(reply[::2], reply[1::2], strict=True))
