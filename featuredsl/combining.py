"""Sources made of others: `union` puts streams together, `joined` adds the columns of a slowly changing table."""

from __future__ import annotations

from collections.abc import Sequence

from featuredsl.errors import DefinitionError, unknown
from featuredsl.source_checks import ARRIVAL_US, joined_tags
from featuredsl.sources import EventSource, JoinOf, TableSource, UnionOf


def union(name: str, *sources: EventSource) -> EventSource:
    """One stream of the events of several sources, with the columns that all of them have.

    A column of the same name must have the same type. Each source keeps its own checks, de-duplication and
    arrival time (where only some have one, an event of the others arrives at its event time). The stream has a
    sequence where all have one of the same name.
    """
    if len(sources) < 2 or len({source.name for source in sources}) < len(sources):
        raise DefinitionError(f"union {name!r} needs two or more different sources")
    if name in {source.name for source in sources}:
        raise DefinitionError(f"union {name!r} has the name of one of its sources")
    made = [source.name for source in sources if source.origin is not None]
    if made:
        raise DefinitionError(f"union {name!r}: {made[0]!r} is a union itself; name its sources instead")
    common = []
    for column, dtype in sources[0].columns:
        kinds = {source.name: source.dtype(column) for source in sources}
        if None in kinds.values():
            continue
        if len(set(kinds.values())) > 1:
            raise DefinitionError(f"union {name!r}: column {column!r} has several types: {kinds}")
        common.append((column, dtype))
    if not common:
        raise DefinitionError(f"union {name!r}: its sources have no column in common")
    sequences = {source.sequence for source in sources}
    sequence = sources[0].sequence if len(sequences) == 1 else None
    arrival = ARRIVAL_US if any(source.arrival_time is not None for source in sources) else None
    tags = joined_tags(*(source.tags for source in sources))
    kept = tuple((column, names) for column, names in tags if column in dict(common))
    return EventSource.derived(name, sources[0], tuple(common), UnionOf(sources), sequence, arrival, kept)


def joined(base: EventSource, table: TableSource, on: str | Sequence[str] | None, prefix: str) -> EventSource:
    """`base` with the columns of `table`, each called `prefix` + its name. Raises DefinitionError."""
    keys = table.key if on is None else (on,) if isinstance(on, str) else tuple(on)
    what = f"join of {base.name!r} with table {table.name!r}"
    if len(keys) != len(table.key):
        raise DefinitionError(f"{what}: on= names {len(keys)} columns, the key is {', '.join(table.key)}")
    for column, key in zip(keys, table.key, strict=True):
        kind, wanted = base.dtype(column), table.records.dtype(key)
        if kind is None:
            raise DefinitionError(
                f"{what}: {unknown('column', column, base.name, base.column_names)} Or say which: on="
            )
        if kind != wanted:
            raise DefinitionError(f"{what}: column {column!r} is {kind}, the key {key!r} is {wanted}")
    origin = JoinOf(base, table, keys, prefix)
    clash = [name for name, _, _ in origin.added if base.dtype(name) is not None]
    if clash:
        raise DefinitionError(
            f"{what}: both have a column {clash[0]!r}; give prefix=, for example prefix='{table.name}_'"
        )
    columns = (*base.columns, *((name, dtype) for name, _, dtype in origin.added))
    other = "" if keys == table.key else f"[{','.join(keys)}]"
    name = f"{base.name}+{prefix}{table.name}{other}"
    added = {of: column for column, of, _ in origin.added}
    tags = tuple((added[column], names) for column, names in table.records.tags if column in added)
    both = joined_tags(base.tags, tags)
    return EventSource.derived(name, base, columns, origin, base.sequence, base.arrival_time, both)
