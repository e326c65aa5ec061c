"""What is applied: a folder with a copy of each group's definition file, and an index that is replaced at once.

A reader never sees half an `apply`: files are written under their content's hash first, then the index is
replaced. Loading traces the copies again and checks that the fingerprints still agree. The index keeps the last
versions of a group; copies that nothing names any more are removed, so any number of applies stays small.

Several may apply at once: a local folder is locked; elsewhere the index is compared just before and just after it is
replaced, and the change is made again on what another one has written.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from featuredsl.errors import DefinitionError, DependencyError, InputError, StateError, unknown
from featuredsl.files import Files, Root, files_at
from featuredsl.generations import base_of
from featuredsl.loader import load_definitions, load_text
from featuredsl.online.layout import StoreLayout
from featuredsl.plan import GroupPlan
from featuredsl.registry_index import KEPT, Change, Entry, Index, gone, origin_of, read_index
from featuredsl.tiles import store_layout

INDEX = "registry.json"
ATTEMPTS = 20
"""How often a change is made anew where others change the index at the same time."""
_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a group: since when (microseconds, None when not known) and under which store version."""

    version: str
    store_version: str
    file: str
    applied_us: int | None


@dataclass(frozen=True, slots=True)
class Registry:
    """The applied groups, and the store version that each one's values are kept under."""

    groups: Mapping[str, GroupPlan]
    store_versions: Mapping[str, str]
    root: Root = ""

    @classmethod
    def load(cls, root: Root) -> Registry:
        """Read a registry folder. Raises InputError when nothing is applied there, StateError on a mismatch."""
        files = files_at(root)
        entries = _index(files)
        if not entries:
            raise InputError(f"no feature group is applied in {root}; run `featuredsl apply DEF.py`")
        loaded = {file: _definitions(root, files, file) for file in {entry["file"] for entry in entries.values()}}
        groups: dict[str, GroupPlan] = {}
        for name, entry in entries.items():
            plan = loaded[entry["file"]].get(name)
            if plan is None or plan.version != entry["version"]:
                raise StateError(
                    f"group {name!r}: the stored definition has version {plan and plan.version}, the index says "
                    f"{entry['version']}; run `featuredsl apply` again with this release"
                )
            groups[name] = plan
        return cls(groups, {name: entry["store_version"] for name, entry in entries.items()}, root)

    @classmethod
    def readable(cls, root: Root) -> Registry:
        """As `load`, without the groups whose copies this release refuses or reads otherwise; maybe empty."""
        files = files_at(root)
        groups: dict[str, GroupPlan] = {}
        versions: dict[str, str] = {}
        for name, entry in _index(files).items():
            try:
                plan = _definitions(root, files, entry["file"]).get(name)
            except (DefinitionError, InputError, StateError):
                continue
            if plan is not None and plan.version == entry["version"]:
                groups[name], versions[name] = plan, entry["store_version"]
        return cls(groups, versions, root)

    def group(self, name: str) -> GroupPlan:
        """A group by name. Raises InputError that lists what is applied."""
        if name not in self.groups:
            raise InputError(unknown("group", name, "the registry", tuple(sorted(self.groups))))
        return self.groups[name]

    def store_version(self, name: str) -> str:
        """The store version of a group. Raises InputError as `group`."""
        self.group(name)
        return self.store_versions[name]

    def layout(self, name: str) -> StoreLayout:
        """The layout of a group's values."""
        return store_layout(self.group(name), self.store_versions[name])

    def plan_of(self, name: str, store_version: str) -> GroupPlan:
        """The definition whose values a store version, or a generation of it, holds.

        The current one or, while readers have not moved on yet, an earlier one; the current one too for a version that
        this registry never had. Raises InputError as `group`, StateError for a version whose definition is not kept
        any more: no other one says what its values mean.
        """
        base = base_of(store_version)
        if self.store_version(name) == base:
            return self.groups[name]
        files = files_at(self.root)
        entry = _index(files).get(name)
        for one in (entry, *reversed(entry["history"])) if entry else ():
            if one["store_version"] == base:
                plan = _definitions(self.root, files, one["file"]).get(name)
                if plan is not None and plan.version == one["version"]:
                    return plan
        if entry and base in entry.get("dropped", ()):
            raise StateError(
                f"{files.where}: the definition of {name}@{base} is not kept any more (the last {KEPT} are), so its "
                f"values cannot be read; fill the current version with `featuredsl run stream --group {name}`, or "
                f"`featuredsl rebuild {name}`, and readers move to it"
            )
        return self.groups[name]


def history(root: Root, group: str) -> list[Version]:
    """The versions of a group, the current one first. Raises InputError when it was never applied."""
    found = histories(root)
    if group not in found:
        raise InputError(unknown("group", group, "the registry", tuple(sorted(found))))
    return found[group]


def histories(root: Root) -> dict[str, list[Version]]:
    """The versions of every group, the current one of each first."""
    return {
        name: [_version(one) for one in (entry, *reversed(entry["history"]))]
        for name, entry in _index(files_at(root)).items()
    }


def vanished(root: Root, definitions: Path, groups: Iterable[str]) -> dict[str, str]:
    """Group to version of what was applied from a definition file that has only `groups` now."""
    index = _read(files_at(root))[1]
    return {name: index.groups[name]["version"] for name in gone(index, origin_of(definitions), groups)}


def apply(
    root: Root, definitions: Path, *, store_suffix: str = "", at_us: int | None = None, remove: bool = False
) -> dict[str, str]:
    """Record the groups of a definition file; returns group to store version. Idempotent.

    A group whose stored features mean the same keeps its store version, so new on-demand features or docs need no
    rebuild. `store_suffix` keeps the values of one run apart from those of another: it is part of the store
    version. `at_us` is the time that the history shows for versions that are new. Groups that were applied from the
    file and are no longer in it stay, unless `remove` says otherwise.

    Raises DependencyError when another process keeps the registry for itself.
    """
    groups = load_definitions(definitions)
    change = Change(groups, definitions.read_bytes(), origin_of(definitions), store_suffix, at_us, remove)
    files = files_at(root)
    with files.exclusive() as alone:
        before, after = _replaced(files, change)
        kept = set() if alone else {name for name in files.names() if name not in before.files}
        _remove_unnamed(files, after.files | kept)
    return {name: after.groups[name]["store_version"] for name in groups}


def _replaced(files: Files, change: Change) -> tuple[Index, Index]:
    """Write the copy and the index; what was there before, and after."""
    for _ in range(ATTEMPTS):
        content, before = _read(files)
        after = change.made(before)
        if files.read(change.file) != change.source:
            files.replace(change.file, change.source)
        if content is not None and after == before:
            return before, after
        if files.read(INDEX) == content:
            files.replace(INDEX, after.text())
            found = _read(files)[1]
            if found == after or change.made(found) == found:
                return before, after
        time.sleep(random.uniform(0, _PAUSE_S))
    raise DependencyError(
        f"{files.where}/{INDEX} was changed by others {ATTEMPTS} times in a row; nothing is lost, apply again"
    )


def _version(entry: Entry) -> Version:
    return Version(entry["version"], entry["store_version"], entry["file"], entry["applied_us"])


def _remove_unnamed(files: Files, named: set[str]) -> None:
    for name in files.names():
        if name.endswith(".py") and name not in named:
            files.remove(name)


def _definitions(root: Root, files: Files, file: str) -> dict[str, GroupPlan]:
    if isinstance(root, Path):
        return load_definitions(root / file)
    content = files.read(file)
    if content is None:
        raise StateError(f"{files.where}: the index names {file}, which is not there; run `featuredsl apply` again")
    return load_text(content.decode(), f"{files.where.rstrip('/')}/{file}")


def _index(files: Files) -> dict[str, Entry]:
    """Group to entry."""
    return _read(files)[1].groups


def _read(files: Files) -> tuple[bytes | None, Index]:
    """The index as it is stored, and read."""
    content = files.read(INDEX)
    return content, Index({}, {}) if content is None else read_index(content, f"{files.where}/{INDEX}")
