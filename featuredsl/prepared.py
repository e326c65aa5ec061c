"""Names of features, resolved once: what has to be read for them, and how they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from sys import intern
from typing import TYPE_CHECKING, Literal

from featuredsl.errors import InputError, unknown
from featuredsl.finalize import Finalizer, needed_for
from featuredsl.horizon import HISTORY, needs_history
from featuredsl.online.codec import check_ring
from featuredsl.online.keys import KeyPart, escape_part, join_key
from featuredsl.online.layout import StoreLayout
from featuredsl.online.meta import mark_field
from featuredsl.online.request import RawState
from featuredsl.online.ring import tier_struct
from featuredsl.registry import Registry
from featuredsl.rows import Row
from featuredsl.session_tiers import session_tiers
from featuredsl.tiles import state_tiers, store_layout, stream_lookups, tile_tiers

if TYPE_CHECKING:
    from featuredsl.ring_columns import RingColumns


_TYPES: dict[str, type] = {"int": int, "str": str, "bool": bool}


class Part:
    """Some features of one group; without names all of them."""

    def __init__(self, registry: Registry, group: str, names: Sequence[str] | None) -> None:
        needed_for(registry.group(group), names or ())
        self._registry, self._group, self._names = registry, group, names
        self._places: dict[str, Place] = {}

    def place(self, version: str) -> Place:
        """Where it stands under a store version, by the definition that the version's values belong to; that may be an
        earlier one, without some of the names."""
        found = self._places.get(version)
        if found is None:
            plan = self._registry.plan_of(self._group, version)
            names = None if self._names is None else [name for name in self._names if name in plan.feature_names]
            found = self._places[version] = Place(Finalizer(plan, names), store_layout(plan, version))
        return found


class Place:
    """Where the features of a part stand under a store version; `read` is the layout without what they do not need.

    `marks` are the fields of the completed times of its batch tiers, by tier, `closed` those of its deferred streams,
    by mark. `probes` are the suffixes of keys that must be asked for to know whether the entity exists at all.
    """

    def __init__(self, finalizer: Finalizer, whole: StoreLayout) -> None:
        needed = finalizer.needed
        tiers = {feature.freshness for feature in needed.features}
        tiers |= {HISTORY} if any(map(needs_history, needed.features)) else set()
        lookups = {feature.name for feature in stream_lookups(needed)}
        rings, wide, sessions = ({tier.name for tier in of(needed)} for of in (tile_tiers, state_tiers, session_tiers))
        self.finalizer, self.whole = finalizer, whole
        self._types = [_TYPES[column.dtype] for column in whole.entity]
        self._only = self._types[0] if len(self._types) == 1 else None
        self.read = replace(
            whole,
            ring=whole.ring if rings else (),
            lookups=tuple(item for item in whole.lookups if item.name in lookups),
            batch=tuple(item for item in whole.batch if item.name in tiers),
            wide=tuple(item for item in whole.wide if item.name in wide),
            sessions=tuple(item for item in whole.sessions if item.name in sessions),
        )
        self.marks = {tier.name: mark_field(whole.group, whole.version, tier.name) for tier in self.read.batch}
        self.closed = {mark: mark_field(whole.group, whole.version, mark) for mark in finalizer.stream_marks}
        self.probes: list[Literal["R", "X"]] = ["R"] if whole.ring and not self.read.ring else []
        if whole.hash_fields != self.read.hash_fields:
            self.probes.append("X")
        self.nothing = RawState(None, (None,) * len(self.read.hash_fields))
        self.is_ring = bool(self.read.ring) and not self.read.hash_fields
        self._before = f"{whole.key_prefix}{{"
        self._after = ";".join(["}:R" if self.read.ring else "}:", *self.read.hash_fields])
        self._header, self._size = self.read.header(), self.read.total_size
        used = {program.tier for program in finalizer.programs}
        self._unpack = [
            (tier.name, tier_struct(tier.slot_format, tier.slots).unpack_from, self.read.offset(tier.name))
            for tier in self.read.ring
            if tier.name in used
        ]

    def name(self, text: str) -> str:
        """Under which name the state of an entity is kept: the same for places that read the same bytes; the key of the
        ring where `is_ring`, that is where nothing else is read."""
        return f"{self._before}{text}{self._after}"

    def text(self, parts: Sequence[KeyPart]) -> str:
        """The key of an entity as one text. Raises InputError for parts that do not fit the entity."""
        if len(parts) == 1 and type(parts[0]) is self._only:
            return escape_part(parts[0])
        if [*map(type, parts)] != self._types:
            check_key(self.whole, parts)
        return join_key(parts)

    def check(self, ring: bytes) -> None:
        """Raises CodecError, StateError for bytes of another definition."""
        if len(ring) != self._size or not ring.startswith(self._header):
            check_ring(self.read, ring)

    def windows(self, ring: bytes, at_us: int) -> Row:
        """The features of an entity that has windows alone, of bytes that `check` has seen."""
        return self.finalizer.windows({tier: unpack(ring, at) for tier, unpack, at in self._unpack}, at_us)

    @cached_property
    def shape(self) -> str:
        """The same for places to whose programs a ring means the same."""
        return intern(repr((self._size, [program.shape(self.read) for program in self.finalizer.programs])))

    @cached_property
    def columns(self) -> RingColumns | None:
        """The windows over rings for many entities at once; None where there are none, and without numpy."""
        if not self.finalizer.programs:
            return None
        try:
            made: RingColumns = import_module("featuredsl.ring_columns").RingColumns(self.read, self.finalizer.programs)
        except ModuleNotFoundError as error:
            if error.name != "numpy":
                raise
            return None
        return made


def check_key(layout: StoreLayout, parts: Sequence[object]) -> None:
    """Raises InputError for parts that are not of the entity's number and types: "1001" is no key of an int entity."""
    if len(parts) != len(layout.entity):
        names = ", ".join(column.name for column in layout.entity)
        raise InputError(f"group {layout.group!r} is keyed by ({names}); got {len(parts)} part(s)")
    for column, part in zip(layout.entity, parts, strict=True):
        if not isinstance(part, _TYPES[column.dtype]) or (isinstance(part, bool) and column.dtype != "bool"):
            raise InputError(f"group {layout.group!r}: key part {column.name!r} is {column.dtype}, got {part!r}")


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
