"""What is applied: a folder with a copy of each group's definition file, and an index that is replaced at once.

A reader never sees half an `apply`: files are written under their content's hash first, then the index is
replaced. Loading traces the copies again and checks that the fingerprints still agree. The index keeps the last
versions of a group; copies that nothing names any more are removed, so any number of applies stays small.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featuredsl.errors import DefinitionError, InputError, StateError, unknown
from featuredsl.files import Files, Root, files_at
from featuredsl.fingerprint import stored_fingerprint
from featuredsl.generations import base_of
from featuredsl.loader import load_definitions, load_text
from featuredsl.online.layout import StoreLayout
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout

INDEX = "registry.json"
FORMAT = 2
READABLE = (1, 2)
KEPT = 20
"""How many earlier versions of a group are kept."""

Entry = dict[str, Any]


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
        this registry does not know. Raises InputError as `group`.
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
        return self.groups[name]


def history(root: Root, group: str) -> list[Version]:
    """The versions of a group, the current one first. Raises InputError when it was never applied."""
    entries = _index(files_at(root))
    if group not in entries:
        raise InputError(unknown("group", group, "the registry", tuple(sorted(entries))))
    current = entries[group]
    return [_version(entry) for entry in (current, *reversed(current["history"]))]


def apply(root: Root, definitions: Path, *, store_suffix: str = "", at_us: int | None = None) -> dict[str, str]:
    """Record the groups of a definition file; returns group to store version. Idempotent.

    A group whose stored features mean the same keeps its store version, so new on-demand features or docs need no
    rebuild. `store_suffix` keeps the values of one run apart from those of another: it is part of the store
    version. `at_us` is the time that the history shows for versions that are new.
    """
    groups = load_definitions(definitions)
    source = definitions.read_bytes()
    files = files_at(root)
    file = f"{hashlib.sha256(source).hexdigest()[:16]}.py"
    before = _index(files)
    entries = {
        **before,
        **{name: _entry(plan, file, store_suffix, at_us, before.get(name)) for name, plan in groups.items()},
    }
    if files.read(file) != source:
        files.replace(file, source)
    if entries != before:
        files.replace(INDEX, json.dumps({"format": FORMAT, "groups": entries}, indent=1, sort_keys=True).encode())
    _remove_unnamed(files, entries)
    return {name: entries[name]["store_version"] for name in groups}


def _entry(plan: GroupPlan, file: str, suffix: str, at_us: int | None, before: Entry | None) -> Entry:
    own = {"version": plan.version, "stored": stored_fingerprint(plan), "suffix": suffix, "file": file}
    if before is None:
        return {**own, "store_version": _fresh(plan.version, suffix, set()), "applied_us": at_us, "history": []}
    same_store = before["stored"] in (own["stored"], plan.version) and before["suffix"] == suffix
    if same_store and before["version"] == plan.version:
        return {**before, "file": file}
    past = [*before["history"], {key: value for key, value in before.items() if key != "history"}][-KEPT:]
    kept = before["store_version"]
    used = {entry["store_version"] for entry in past}
    store_version = kept if same_store else _fresh(plan.version, suffix, used)
    return {**own, "store_version": store_version, "applied_us": at_us, "history": past}


def _fresh(version: str, suffix: str, used: set[str]) -> str:
    """A store version that no earlier version of the group has: values written long ago have gaps."""
    name = f"{version}-{suffix}" if suffix else version
    number = 2
    while name in used:
        name = f"{version}-{suffix}-{number}" if suffix else f"{version}-{number}"
        number += 1
    return name


def _version(entry: Entry) -> Version:
    return Version(entry["version"], entry["store_version"], entry["file"], entry["applied_us"])


def _remove_unnamed(files: Files, entries: Mapping[str, Entry]) -> None:
    named = {item["file"] for entry in entries.values() for item in (entry, *entry["history"])}
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
    """Group to entry. Format 1 had no history and no fingerprint of what is stored."""
    content = files.read(INDEX)
    if content is None:
        return {}
    data = json.loads(content)
    if data.get("format") not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise StateError(f"{files.where}/{INDEX} has format {data.get('format')!r}; this release reads {known}")
    return {name: _upgraded(entry) for name, entry in data["groups"].items()}


def _upgraded(entry: Entry) -> Entry:
    """An entry of format 1 as one of format 2; what it stores is known by the whole version only."""
    if "history" in entry:
        return dict(entry)
    suffix = entry["store_version"].removeprefix(entry["version"]).removeprefix("-")
    return {"stored": entry["version"], "suffix": suffix, "applied_us": None, "history": [], **entry}
