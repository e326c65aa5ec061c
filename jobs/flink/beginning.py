"""How a feature job begins: with the state of the one before it, or empty, beside the live store version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from featuredsl.errors import InputError
from featuredsl.generations import base_of, generation
from jobs.flink.records import JobRecord


@dataclass(frozen=True, slots=True)
class Found:
    """What is known before a start. `bases`: group to the registry's store version; `live`: to the one that readers
    follow. `record`: the submission before; `checkpoint`: its newest one; `backlog`: the topics hold records.

    A store that readers followed and that has no pointer any more was emptied: state would bring back only what new
    events touch.
    """

    bases: Mapping[str, str]
    live: Mapping[str, str]
    record: JobRecord | None
    checkpoint: str | None
    backlog: bool

    @property
    def is_emptied(self) -> bool:
        """True when the online store has forgotten what was published."""
        return self.record is not None and self.record.published and not self.bases.keys() <= self.live.keys()


@dataclass(frozen=True, slots=True)
class Beginning:
    """`versions` are filled; from the checkpoint `restore`, or empty. With `warm`, readers follow once it caught up."""

    versions: Mapping[str, str]
    restore: str | None
    warm: bool


def beginning(found: Found, at_us: int, *, fresh: bool = False) -> Beginning:
    """Choose: a checkpoint of the same definitions goes on where it was; the first start, on empty topics, fills what
    readers follow; any other fills store versions of its own. `fresh` leaves the checkpoint aside."""
    record = found.record
    fresh = fresh or found.is_emptied
    if record and found.checkpoint and not fresh and same_bases(record.versions, found.bases):
        return Beginning(record.versions, found.checkpoint, warm=not published(record.versions, found.live))
    if record is None and not fresh and not found.backlog:
        return Beginning(dict(found.bases), None, warm=False)
    used = {base_of(version) for version in (*found.live.values(), *(record.versions.values() if record else ()))}
    versions = {group: generation(base, at_us) if base in used else base for group, base in found.bases.items()}
    return Beginning(versions, None, warm=True)


def restored(found: Found, path: str) -> Beginning:
    """From a savepoint that was named: it holds the state of the store version that readers follow, or of the record.

    Raises InputError when neither is of the definitions that are applied now.
    """
    recorded = found.record.versions if found.record else {}
    for versions in (found.live, recorded):
        mine = {group: versions[group] for group in found.bases if group in versions}
        if same_bases(mine, found.bases):
            return Beginning(mine, path, warm=not published(mine, found.live))
    if found.live or recorded:
        known = ", ".join(f"{group}@{version}" for group, version in {**recorded, **found.live}.items())
        msg = (
            f"{path} cannot hold the state of what is applied now: it was made for {known}; leave it away, and the "
            "job fills new store versions"
        )
        raise InputError(msg)
    return Beginning(dict(found.bases), path, warm=True)


def published(versions: Mapping[str, str], live: Mapping[str, str]) -> bool:
    """True when readers follow all of these store versions."""
    return all(live.get(group) == version for group, version in versions.items())


def same_bases(versions: Mapping[str, str], bases: Mapping[str, str]) -> bool:
    """True when these are store versions of those definitions, of all of them."""
    return {group: base_of(version) for group, version in versions.items()} == dict(bases)
