"""What is applied: a folder with a copy of each group's definition file, and an index that is replaced at once.

A reader never sees half an `apply`: files are written under their content's hash first, then the index is
renamed into place. Loading traces the copies again and checks that the fingerprints still agree.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from featuredsl.errors import InputError, StateError
from featuredsl.loader import load_definitions
from featuredsl.online.layout import StoreLayout
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout

INDEX = "registry.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Registry:
    """The applied groups, and the store version that each one's values are kept under."""

    groups: Mapping[str, GroupPlan]
    store_versions: Mapping[str, str]

    @classmethod
    def load(cls, root: Path) -> Registry:
        """Read a registry folder. Raises InputError when nothing is applied there, StateError on a mismatch."""
        entries = _index(root)
        if not entries:
            raise InputError(f"no feature group is applied in {root}; run `featuredsl apply DEF.py`")
        groups: dict[str, GroupPlan] = {}
        files = {file: load_definitions(root / file) for file in dict.fromkeys(e["file"] for e in entries.values())}
        for name, entry in entries.items():
            plan = files[entry["file"]][name]
            if plan.version != entry["version"]:
                raise StateError(
                    f"group {name!r}: the stored definition has version {plan.version}, the index says "
                    f"{entry['version']}; run `featuredsl apply` again with this release"
                )
            groups[name] = plan
        return cls(groups, {name: entry["store_version"] for name, entry in entries.items()})

    def group(self, name: str) -> GroupPlan:
        """A group by name. Raises InputError that lists what is applied."""
        if name not in self.groups:
            raise InputError(f"no group {name!r}; applied groups: {', '.join(sorted(self.groups))}")
        return self.groups[name]

    def layout(self, name: str) -> StoreLayout:
        """The layout of a group's values."""
        return store_layout(self.group(name), self.store_versions[name])


def apply(root: Path, definitions: Path, *, store_suffix: str = "") -> dict[str, str]:
    """Record the groups of a definition file; returns group to store version. Idempotent.

    `store_suffix` keeps the values of one run apart from those of another: it is part of the store version.
    """
    groups = load_definitions(definitions)
    source = definitions.read_bytes()
    file = f"{hashlib.sha256(source).hexdigest()[:16]}.py"
    root.mkdir(parents=True, exist_ok=True)
    _replace(root / file, source)
    entries = _index(root)
    for name, plan in groups.items():
        store_version = f"{plan.version}{'-' + store_suffix if store_suffix else ''}"
        entries[name] = {"version": plan.version, "store_version": store_version, "file": file}
    text = json.dumps({"format": FORMAT, "groups": entries}, indent=1, sort_keys=True)
    _replace(root / INDEX, text.encode())
    return {name: entries[name]["store_version"] for name in groups}


def _index(root: Path) -> dict[str, dict[str, str]]:
    path = root / INDEX
    if not path.is_file():
        return {}
    data = json.loads(path.read_text())
    if data.get("format") != FORMAT:
        raise StateError(f"{path} has format {data.get('format')!r}; this release reads {FORMAT}")
    return dict(data["groups"])


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(content)
    temporary.replace(path)
