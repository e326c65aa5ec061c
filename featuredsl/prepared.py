"""Names of features, resolved once: what has to be read for them, and how they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from featuredsl.errors import InputError, unknown
from featuredsl.finalize import Finalizer
from featuredsl.online.layout import StoreLayout
from featuredsl.plan import LookupFeature
from featuredsl.registry import Registry
from featuredsl.tiles import BATCH_TIERS, store_layout


class Part:
    """Some features of one group: what to read for them, and how to compute them."""

    def __init__(self, registry: Registry, group: str, names: Sequence[str] | None) -> None:
        self.plan = registry.group(group)
        self.finalizer = Finalizer(self.plan, names)
        self._places: dict[str, Place] = {}

    def place(self, version: str) -> Place:
        """Where it stands under a store version."""
        found = self._places.get(version)
        if found is None:
            found = self._places[version] = Place(self, store_layout(self.plan, version))
        return found


class Place:
    """Where the features of a part stand under a store version; `read` is the layout without what they do not need.

    `probes` are the suffixes of keys that must be asked for to know whether the entity exists at all; `token` is the
    same for places that read the same bytes.
    """

    def __init__(self, part: Part, whole: StoreLayout) -> None:
        needed = part.finalizer.needed.features
        streamed = {f.name for f in needed if isinstance(f, LookupFeature) and f.freshness not in BATCH_TIERS}
        tiers = {f.freshness for f in needed}
        windows = any(not isinstance(f, LookupFeature) and f.freshness not in BATCH_TIERS for f in needed)
        self.part, self.whole = part, whole
        self.read = replace(
            whole,
            ring=whole.ring if windows else (),
            lookups=tuple(item for item in whole.lookups if item.name in streamed),
            batch=tuple(item for item in whole.batch if item.name in tiers),
        )
        self.probes: list[Literal["R", "X"]] = ["R"] if whole.ring and not self.read.ring else []
        if whole.hash_fields != self.read.hash_fields:
            self.probes.append("X")
        self.token = f"{whole.key_prefix}{'R' if self.read.ring else ''};{';'.join(self.read.hash_fields)}"


class Prepared:
    """The names of a handle, resolved: group to part."""

    def __init__(self, registry: Registry, names: Sequence[str]) -> None:
        self._registry = registry
        self._open = not names
        wanted: dict[str, list[str] | None] = {}
        for name in names:
            group, _, feature = name.partition("." if "." in name else "__")
            if not feature:
                wanted[registry.group(group).name] = None
            elif (chosen := wanted.setdefault(registry.group(group).name, [])) is not None:
                chosen.append(feature)
        self._parts = {group: Part(registry, group, chosen) for group, chosen in wanted.items()}

    def part(self, group: str) -> Part:
        """The part of a group; without names each whole group, made at its first read, so that a group which works
        offline only does not stop the others."""
        found = self._parts.get(group)
        if found is None:
            if not self._open:
                raise InputError(unknown("group", group, "the prepared handle", tuple(self._parts)))
            found = self._parts[group] = Part(self._registry, group, None)
        return found
