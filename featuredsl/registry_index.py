"""The index of the registry as data: an entry for each group with its last versions, and what `apply` makes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from featuredsl.errors import StateError
from featuredsl.fingerprint import stored_fingerprint
from featuredsl.plan import GroupPlan

FORMAT = 2
READABLE = (1, 2)
KEPT = 20
"""How many earlier versions of a group are kept; of those before them only the names of their store versions."""
_NOT_PAST = ("history", "origin", "dropped")

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Index:
    """The groups, and the last entries of those that were removed: their store versions are not given again."""

    groups: dict[str, Entry]
    removed: dict[str, Entry]

    @property
    def files(self) -> set[str]:
        """The copies that it names."""
        entries = (*self.groups.values(), *self.removed.values())
        return {item["file"] for entry in entries for item in (entry, *entry["history"])}

    def text(self) -> bytes:
        """What is stored."""
        data = {"format": FORMAT, "groups": self.groups} | ({"removed": self.removed} if self.removed else {})
        return json.dumps(data, indent=1, sort_keys=True).encode()


@dataclass(frozen=True, slots=True)
class Change:
    """One `apply`."""

    groups: Mapping[str, GroupPlan]
    source: bytes
    origin: str
    suffix: str
    at_us: int | None
    remove: bool

    @property
    def file(self) -> str:
        """The name of the copy."""
        return f"{hashlib.sha256(self.source).hexdigest()[:16]}.py"

    def made(self, index: Index) -> Index:
        """The index after it."""
        left = gone(index, self.origin, self.groups)
        entries = {**index.groups, **{name: {**index.groups[name], "origin": self.origin} for name in left}}
        removed = dict(index.removed)
        if self.remove:
            removed |= {name: entries.pop(name) for name in left}
        for name, plan in self.groups.items():
            entries[name] = self.entry(plan, index.groups.get(name), removed.pop(name, None))
        return Index(entries, removed)

    def entry(self, plan: GroupPlan, before: Entry | None, removed: Entry | None) -> Entry:
        """A group's entry, after the one before it or the one that was removed."""
        if before is not None or removed is None:
            return _entry(plan, self.file, self.suffix, self.at_us, before) | {"origin": self.origin}
        stale = removed | {"stored": "", "version": ""}
        made = _entry(plan, self.file, self.suffix, self.at_us, stale)
        return made | _past(removed) | {"origin": self.origin}


def gone(index: Index, origin: str, groups: Iterable[str]) -> list[str]:
    """The groups that were applied from a file and are not among its `groups` any more.

    A file that lies elsewhere now (another machine) is known by its name, and by a copy that has one of its groups.
    """
    names = set(groups)
    copies = {entry["file"] for name, entry in index.groups.items() if name in names}

    def from_here(entry: Entry) -> bool:
        came = entry.get("origin")
        if came == origin:
            return True
        return entry["file"] in copies and (came is None or PurePath(came).name == PurePath(origin).name)

    return sorted(name for name, entry in index.groups.items() if name not in names and from_here(entry))


def origin_of(definitions: Path) -> str:
    """Where a group came from, as the index names it."""
    return str(definitions.resolve())


def _entry(plan: GroupPlan, file: str, suffix: str, at_us: int | None, before: Entry | None) -> Entry:
    own = {"version": plan.version, "stored": stored_fingerprint(plan), "suffix": suffix, "file": file}
    if before is None:
        return {**own, "store_version": _fresh(plan.version, suffix, set()), "applied_us": at_us, "history": []}
    same_store = before["stored"] in (own["stored"], plan.version) and before["suffix"] == suffix
    if same_store and before["version"] == plan.version:
        return {**before, "file": file}
    past = _past(before)
    used = {entry["store_version"] for entry in past["history"]} | set(past.get("dropped", ()))
    store_version = before["store_version"] if same_store else _fresh(plan.version, suffix, used)
    return {**own, "store_version": store_version, "applied_us": at_us, **past}


def _past(before: Entry) -> Entry:
    """What the entry after this one says of the past: the last versions, and store versions that are not among them."""
    every = [*before["history"], {key: value for key, value in before.items() if key not in _NOT_PAST}]
    kept, names = every[-KEPT:], {entry["store_version"] for entry in every[:-KEPT]}
    dropped = sorted(names.union(before.get("dropped", ())) - {entry["store_version"] for entry in kept})
    return {"history": kept} | ({"dropped": dropped} if dropped else {})


def _fresh(version: str, suffix: str, used: set[str]) -> str:
    """A store version that no earlier version of the group has: values written long ago have gaps."""
    name = f"{version}-{suffix}" if suffix else version
    number = 2
    while name in used:
        name = f"{version}-{suffix}-{number}" if suffix else f"{version}-{number}"
        number += 1
    return name


def read_index(content: bytes, where: str) -> Index:
    """The index of its text. Format 1 had no history and no fingerprint of what is stored."""
    data = json.loads(content)
    if data.get("format") not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise StateError(f"{where} has format {data.get('format')!r}; this release reads {known}")
    groups = {name: _upgraded(entry) for name, entry in data["groups"].items()}
    return Index(groups, {name: dict(entry) for name, entry in data.get("removed", {}).items()})


def _upgraded(entry: Entry) -> Entry:
    """An entry of format 1 as one of format 2; what it stores is known by the whole version only."""
    if "history" in entry:
        return dict(entry)
    suffix = entry["store_version"].removeprefix(entry["version"]).removeprefix("-")
    return {"stored": entry["version"], "suffix": suffix, "applied_us": None, "history": [], **entry}
