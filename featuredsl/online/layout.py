"""Where the values of one feature group stand in Redis.

Two keys per (group, store version, entity) under one hash tag:

- `group@version:{key}:R`, a string: an 8-byte header, then the ring tiers one after another. A tier is
  `slots` slots of fixed width; tile `i` (event time div hop) stands in slot `i mod slots`, so a new tile
  overwrites the oldest.
- `group@version:{key}:X`, a hash: `l:<name>` = latest value of a lookup, `b:<tier>` = batch snapshots,
  `t:<tier>:<slot>` = a tile of states of variable width; its slot follows from its index as in the ring,
  `s:<tier>` = the newest sessions.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from featuredsl.dtypes import ELEMENTS, SCALARS, DType
from featuredsl.errors import DefinitionError
from featuredsl.online.keys import KeyPart, join_key

FORMAT_VERSION: Final = 1
HEADER_SIZE: Final = 8
SLOT_PREFIX: Final = struct.Struct(">qqqQ")
MAX_RING_COLUMNS: Final = 64
MAX_RING_BYTES: Final = 1 << 20
MAX_WIDE_STATES: Final = 64
MAX_WIDE_SLOTS: Final = 10_000
MAX_SESSIONS_BYTES: Final = 1 << 20

Suffix = Literal["R", "X"]


@dataclass(frozen=True, slots=True)
class Column:
    """A stored column; `dtype` is int (64 bit), float (binary64), str, bool, int[], float[] or str[]."""

    name: str
    dtype: DType

    def __post_init__(self) -> None:
        if self.dtype not in (*SCALARS, *ELEMENTS):
            known = ", ".join((*SCALARS, *ELEMENTS))
            message = f"column {self.name!r}: dtype {self.dtype!r} is not one of {known}"
            raise DefinitionError(message)


@dataclass(frozen=True, slots=True)
class RingTier:
    """Tiles of one source and hop, e.g. `exposures/5m`; the columns are int or float partials, at most 64."""

    name: str
    hop_us: int
    slots: int
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if self.hop_us <= 0 or self.slots <= 0:
            message = f"ring tier {self.name!r}: hop and slots must be positive"
            raise DefinitionError(message)
        if len(self.columns) > MAX_RING_COLUMNS:
            message = (
                f"ring tier {self.name!r} has {len(self.columns)} columns, at most {MAX_RING_COLUMNS} fit; "
                "move features to a second group"
            )
            raise DefinitionError(message)
        wide = [column.name for column in self.columns if column.dtype not in ("int", "float")]
        if wide:
            message = f"ring tier {self.name!r}: columns {wide} are not int or float"
            raise DefinitionError(message)

    @property
    def slot_format(self) -> str:
        """`struct` format of one slot."""
        return SLOT_PREFIX.format + "".join("q" if c.dtype == "int" else "d" for c in self.columns)

    @property
    def slot_size(self) -> int:
        """Bytes of one slot."""
        return SLOT_PREFIX.size + 8 * len(self.columns)


@dataclass(frozen=True, slots=True)
class LookupField:
    """A latest value; the columns are those of its rank after the time: [sequence,] then the row."""

    name: str
    columns: tuple[Column, ...]

    @property
    def hash_field(self) -> str:
        """Field of the hash `X`."""
        return "l:" + self.name


@dataclass(frozen=True, slots=True)
class BatchTier:
    """Values that a batch job writes as of a time; `name` is the tier: `1h` or `1d`."""

    name: str
    columns: tuple[Column, ...]

    @property
    def hash_field(self) -> str:
        """Field of the hash `X`."""
        return "b:" + self.name


@dataclass(frozen=True, slots=True)
class WideTier:
    """Tiles of one source and hop that hold `states` states of variable width, at most 64, a field for each slot."""

    name: str
    hop_us: int
    slots: int
    states: int

    def __post_init__(self) -> None:
        if min(self.hop_us, self.slots, self.states) <= 0:
            message = f"wide tier {self.name!r}: hop, slots and states must be positive"
            raise DefinitionError(message)
        if self.states > MAX_WIDE_STATES or self.slots > MAX_WIDE_SLOTS:
            message = (
                f"wide tier {self.name!r} has {self.states} states in {self.slots} slots; at most "
                f"{MAX_WIDE_STATES} states fit (move features to a second group) in at most {MAX_WIDE_SLOTS} slots "
                "(use a longer hop or a shorter window)"
            )
            raise DefinitionError(message)

    @property
    def field_prefix(self) -> str:
        """What stands before the slot's number in the fields of the hash `X`."""
        return f"t:{self.name}:"

    @property
    def hash_fields(self) -> tuple[str, ...]:
        """Fields of the hash `X`, by slot."""
        return tuple(f"{self.field_prefix}{slot}" for slot in range(self.slots))


@dataclass(frozen=True, slots=True)
class SessionField:
    """The newest `kept` sessions of an entity, whose events are less than a gap apart: of each a number for each column
    and `states` of variable width."""

    name: str
    gap_us: int
    kept: int
    columns: tuple[Column, ...]
    states: int

    @property
    def hash_field(self) -> str:
        """Field of the hash `X`."""
        return "s:" + self.name

    @property
    def max_bytes(self) -> int:
        """So many bytes has the content of a session at most: all that are kept take 1 MiB."""
        return MAX_SESSIONS_BYTES // self.kept


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """Layout of one group under one store version. `expire_after_us` 0 means that keys never expire."""

    group: str
    version: str
    entity: tuple[Column, ...]
    ring: tuple[RingTier, ...]
    lookups: tuple[LookupField, ...]
    batch: tuple[BatchTier, ...]
    expire_after_us: int
    wide: tuple[WideTier, ...] = ()
    sessions: tuple[SessionField, ...] = ()
    _structs: tuple[struct.Struct, ...] = field(init=False, repr=False, compare=False, default=())
    _header: bytes = field(init=False, repr=False, compare=False, default=b"")
    _total: int = field(init=False, repr=False, compare=False, default=0)
    _prefix: str = field(init=False, repr=False, compare=False, default="")
    _fields: tuple[str, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        if self.expire_after_us < 0:
            message = f"group {self.group!r}: expire_after_us must not be negative"
            raise DefinitionError(message)
        for kind in (self.ring, self.lookups, self.batch, self.wide, self.sessions):
            names = [item.name for item in kind]
            if len(set(names)) != len(names):
                message = f"group {self.group!r}: repeated names in {names}"
                raise DefinitionError(message)
        total = HEADER_SIZE + sum(t.slots * t.slot_size for t in self.ring) if self.ring else 0
        object.__setattr__(self, "_total", total)
        object.__setattr__(self, "_prefix", f"{self.group}@{self.version}:")
        if self.total_size > MAX_RING_BYTES:
            message = (
                f"group {self.group!r}: a ring of {self.total_size} bytes per entity is over "
                f"{MAX_RING_BYTES}; use a longer hop or a shorter window"
            )
            raise DefinitionError(message)
        fields = [item.hash_field for item in self.lookups] + [item.hash_field for item in self.batch]
        fields += [name for tier in self.wide for name in tier.hash_fields]
        fields += [item.hash_field for item in self.sessions]
        object.__setattr__(self, "_structs", tuple(struct.Struct(tier.slot_format) for tier in self.ring))
        object.__setattr__(self, "_header", _header(self.ring))
        object.__setattr__(self, "_fields", tuple(fields))

    def header(self) -> bytes:
        """First 8 bytes of `R`: format version, then 7 bytes of the SHA-256 of the ring's canonical JSON."""
        return self._header

    def slot_size(self, tier: str) -> int:
        """Bytes of one slot of a ring tier."""
        return self.ring_tier(tier).slot_size

    def offset(self, tier: str) -> int:
        """Byte at which the first slot of a ring tier stands in `R`."""
        at = HEADER_SIZE
        for candidate in self.ring:
            if candidate.name == tier:
                return at
            at += candidate.slots * candidate.slot_size
        raise self._unknown(tier, [t.name for t in self.ring])

    @property
    def total_size(self) -> int:
        """Bytes of `R`; 0 for a group without ring tiers."""
        return self._total

    @property
    def key_prefix(self) -> str:
        """What stands before the braces of every key: `group@version:`."""
        return self._prefix

    def key(self, parts: Sequence[KeyPart], suffix: Suffix) -> str:
        """Redis key of an entity; parts in entity order."""
        return self.key_of(self.text(parts), suffix)

    def text(self, parts: Sequence[KeyPart]) -> str:
        """An entity as one text. Raises DefinitionError for another number of parts."""
        if len(parts) != len(self.entity):
            names = [column.name for column in self.entity]
            message = f"group {self.group!r}: key {tuple(parts)!r} does not fit the entity {names}"
            raise DefinitionError(message)
        return join_key(parts)

    def key_of(self, text: str, suffix: Suffix) -> str:
        """Redis key of an entity as one text."""
        return f"{self._prefix}{{{text}}}:{suffix}"

    @property
    def hash_fields(self) -> tuple[str, ...]:
        """Fields of `X` that this layout knows: lookups, batch tiers, the slots of each wide tier, then sessions."""
        return self._fields

    @property
    def slot_structs(self) -> tuple[struct.Struct, ...]:
        """Compiled slot formats, one per ring tier."""
        return self._structs

    def ring_tier(self, name: str) -> RingTier:
        """The ring tier of that name."""
        for tier in self.ring:
            if tier.name == name:
                return tier
        raise self._unknown(name, [t.name for t in self.ring])

    def batch_tier(self, name: str) -> BatchTier:
        """The batch tier of that name."""
        for tier in self.batch:
            if tier.name == name:
                return tier
        raise self._unknown(name, [t.name for t in self.batch])

    def _unknown(self, name: str, known: list[str]) -> DefinitionError:
        return DefinitionError(f"group {self.group!r} has no tier {name!r}; it has {known}")


def _header(ring: tuple[RingTier, ...]) -> bytes:
    tiers = [[t.name, t.hop_us, t.slots, [[c.name, c.dtype] for c in t.columns]] for t in ring]
    canonical = json.dumps({"format": FORMAT_VERSION, "ring": tiers}, separators=(",", ":"), sort_keys=True)
    return bytes([FORMAT_VERSION]) + hashlib.sha256(canonical.encode()).digest()[:7]
