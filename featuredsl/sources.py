"""Event sources and tables: the typed, timestamped streams that features are computed from.

A source is read from a topic or a file, or is made of others (see `combining`). Everything downstream sees one kind
of source; `origin` says what it is made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from featuredsl.dtypes import DType
from featuredsl.errors import DefinitionError
from featuredsl.source_checks import (
    ARRIVAL_US,
    EVENT_US,
    Columns,
    ColumnTags,
    bad_unit,
    check_keys,
    check_sequence,
    check_unique,
    column_tags,
    read_columns,
)
from featuredsl.times import TIME_RANGE, UNIT_US, TimeRange
from featuredsl.where import located


@dataclass(frozen=True, slots=True)
class EventSource:
    """A named stream of events. Build it with `EventSource(name, event_time=…, schema=…)`.

    `schema` maps columns to `int | float | str | bool`, or to a list of one of the first three (`list[float]`), or
    is a class whose annotations do. `event_time` is an
    integer in `time_unit` ("s", "ms", "us"; implied, it need not be in the schema). `topic` and `table` default
    to the name.

    `arrival_time` names the integer (same unit) that says when a record became known: what is asked at t uses
    only records that arrived by t. `sequence` breaks ties of equal event times; without it the arrival does.
    `unique` names columns: records that agree on all of them are one event, the first; with `within`, a record
    later than that after the first starts a new event.

    `pii` names columns with personal data; `tags` gives columns other tags. Every feature that reads such a column
    carries them.
    """

    name: str
    event_time: str
    columns: Columns
    topic: str
    table: str
    sequence: str | None
    time_unit: str
    time_range: TimeRange
    arrival_time: str | None
    unique: tuple[str, ...]
    within_us: int | None
    origin: UnionOf | JoinOf | None
    tags: ColumnTags = field(compare=False)

    @located
    def __init__(
        self,
        name: str,
        *,
        event_time: str,
        schema: Mapping[str, object] | type,
        topic: str | None = None,
        table: str | None = None,
        arrival_time: str | None = None,
        sequence: str | None = None,
        unique: str | Sequence[str] | None = None,
        within: str | int | None = None,
        time_unit: str = "ms",
        time_range: TimeRange = TIME_RANGE,
        pii: str | Sequence[str] = (),
        tags: Mapping[str, str | Sequence[str]] | None = None,
    ) -> None:
        if time_unit not in UNIT_US:
            raise DefinitionError(bad_unit(name, time_unit))
        if arrival_time == event_time:
            raise DefinitionError(f"source {name!r}: arrival_time is the event time; leave it out when they are one")
        times = (event_time, arrival_time) if arrival_time else (event_time,)
        columns = read_columns(name, schema, skip=times)
        sequence = None if sequence == arrival_time else sequence
        if sequence is not None and sequence not in dict(columns):
            columns = (*columns, (sequence, "int"))
        check_sequence(name, sequence, columns)
        keys = () if unique is None else (unique,) if isinstance(unique, str) else tuple(unique)
        within_us = check_unique(name, keys, within, ((event_time, "int"), *columns))
        self._set(
            name=name,
            event_time=event_time,
            columns=columns,
            topic=topic or name,
            table=table or name,
            sequence=sequence,
            time_unit=time_unit,
            time_range=time_range,
            arrival_time=arrival_time,
            unique=keys,
            within_us=within_us,
            origin=None,
            tags=column_tags(name, columns, pii, tags or {}),
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"source {self.name!r} has no {name!r}; its events are the parameter of a feature method: "
            f"def f(e: {self.name}) -> …: return e.{name}…"
        )

    def _set(self, **fields: object) -> None:
        for attribute, value in fields.items():
            object.__setattr__(self, attribute, value)

    @classmethod
    def derived(
        cls,
        name: str,
        base: EventSource,
        columns: Columns,
        origin: UnionOf | JoinOf,
        sequence: str | None,
        arrival_time: str | None,
        tags: ColumnTags,
    ) -> EventSource:
        made = object.__new__(cls)
        made._set(
            name=name,
            event_time=base.event_time,
            columns=columns,
            topic="",
            table="",
            sequence=sequence,
            time_unit=base.time_unit,
            time_range=base.time_range,
            arrival_time=arrival_time,
            unique=(),
            within_us=None,
            origin=origin,
            tags=tags,
        )
        return made

    def dtype(self, column: str) -> DType | None:
        """The type of a column, or None when there is no such column."""
        return dict(self.columns).get(column)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns without the times, in schema order."""
        return tuple(name for name, _ in self.columns)

    @property
    def view_columns(self) -> tuple[str, ...]:
        """The columns that a view of this source has: those of the schema and its times in microseconds."""
        return (*self.column_names, *self.time_columns)

    @property
    def time_columns(self) -> dict[str, str]:
        """The times of a view, `ts_us` and `arrival_us` where there is one, and the field that each is read from."""
        arrival = {} if self.arrival_time is None else {ARRIVAL_US: self.arrival_time}
        return {EVENT_US: self.event_time} | arrival

    @property
    def sequence_column(self) -> str | None:
        """The view's column that breaks ties of equal event times: the sequence, else the arrival, else none."""
        return self.sequence or (ARRIVAL_US if self.arrival_time is not None else None)

    def streams(self) -> Iterator[EventSource]:
        """The sources with a topic or file of their own that this one is made of, itself when it has one."""
        if isinstance(self.origin, UnionOf):
            for part in self.origin.parts:
                yield from part.streams()
        elif isinstance(self.origin, JoinOf):
            yield from self.origin.base.streams()
        else:
            yield self

    def chain(self) -> Iterator[EventSource]:
        """What tables were joined to, from the first on; last the source itself."""
        if isinstance(self.origin, JoinOf):
            yield from self.origin.base.chain()
        yield self

    def tables(self) -> Iterator[TableSource]:
        """The tables that are joined to this source."""
        if isinstance(self.origin, UnionOf):
            for part in self.origin.parts:
                yield from part.tables()
        elif isinstance(self.origin, JoinOf):
            yield from self.origin.base.tables()
            yield self.origin.table


@dataclass(frozen=True, slots=True)
class TableSource:
    """A slowly changing table: rows by `key`, each valid from `valid_from` until the next row of its key.

    `schema` holds the key columns and the others; `valid_from` is an integer in `time_unit` and is implied.
    A row counts for events at or after its time. Of rows with the same key and time the greatest row counts.
    Features read it with `e.join(table)`.
    """

    name: str
    key: tuple[str, ...]
    records: EventSource

    @located
    def __init__(
        self,
        name: str,
        *,
        key: str | Sequence[str],
        valid_from: str,
        schema: Mapping[str, object] | type,
        topic: str | None = None,
        table: str | None = None,
        time_unit: str = "ms",
        time_range: TimeRange = TIME_RANGE,
        pii: str | Sequence[str] = (),
        tags: Mapping[str, str | Sequence[str]] | None = None,
    ) -> None:
        records = EventSource(
            name,
            event_time=valid_from,
            schema=schema,
            topic=topic,
            table=table,
            time_unit=time_unit,
            time_range=time_range,
            pii=pii,
            tags=tags,
        )
        keys = (key,) if isinstance(key, str) else tuple(key)
        check_keys(f"table {name!r}: key", name, keys, records.columns)
        if not _values(keys, records):
            raise DefinitionError(f"table {name!r} has no column beside its key {', '.join(keys)}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "key", keys)
        object.__setattr__(self, "records", records)

    @property
    def values(self) -> Columns:
        """The columns beside the key."""
        return _values(self.key, self.records)


@dataclass(frozen=True, slots=True)
class UnionOf:
    """Several sources as one stream."""

    parts: tuple[EventSource, ...]


@dataclass(frozen=True, slots=True)
class JoinOf:
    """A source with the columns of the table's row that was valid at the event's time; `on` are its key columns."""

    base: EventSource
    table: TableSource
    on: tuple[str, ...]
    prefix: str

    @property
    def added(self) -> tuple[tuple[str, str, DType], ...]:
        """(column of the stream, column of the table, type)."""
        return tuple((self.prefix + name, name, dtype) for name, dtype in self.table.values)


def _values(keys: tuple[str, ...], records: EventSource) -> Columns:
    return tuple((name, dtype) for name, dtype in records.columns if name not in keys)
