"""Event sources: the typed, timestamped streams and tables that features are computed from."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from featuredsl.dtypes import ANNOTATIONS, DType, from_annotation
from featuredsl.errors import DefinitionError
from featuredsl.times import UNIT_US

TimeRange = tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class EventSource:
    """A named stream of events. Build it with `EventSource(name, event_time=…, schema=…)`.

    `schema` maps columns to `int | float | str | bool`, or to a list of one of the first three (`list[float]`), or
    is a class whose annotations do. `event_time` is an
    integer in `time_unit` ("s", "ms", "us"; implied, it need not be in the schema). `topic` and `table` default
    to the name. `sequence` breaks ties of equal event times.
    """

    name: str
    event_time: str
    columns: tuple[tuple[str, DType], ...]
    topic: str
    table: str
    sequence: str | None
    time_unit: str
    time_range: TimeRange

    def __init__(
        self,
        name: str,
        *,
        event_time: str,
        schema: Mapping[str, object] | type,
        topic: str | None = None,
        table: str | None = None,
        sequence: str | None = None,
        time_unit: str = "ms",
        time_range: TimeRange = ("1980", "2100"),
    ) -> None:
        if time_unit not in UNIT_US:
            raise DefinitionError(f"source {name!r}: time_unit {time_unit!r} is none of s, ms, us")
        columns = _columns(name, schema, skip=(event_time,))
        if sequence is not None and sequence not in dict(columns):
            columns = (*columns, (sequence, "int"))
        for field, value in (
            ("name", name),
            ("event_time", event_time),
            ("columns", columns),
            ("topic", topic or name),
            ("table", table or name),
            ("sequence", sequence),
            ("time_unit", time_unit),
            ("time_range", time_range),
        ):
            object.__setattr__(self, field, value)

    def dtype(self, column: str) -> DType | None:
        """The type of a column, or None when there is no such column."""
        return dict(self.columns).get(column)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns without the event time, in schema order."""
        return tuple(name for name, _ in self.columns)


def _columns(source: str, schema: Mapping[str, object] | type, skip: Sequence[str]) -> tuple[tuple[str, DType], ...]:
    fields = typing.get_type_hints(schema) if isinstance(schema, type) else dict(schema)
    columns = []
    for name, annotation in fields.items():
        dtype = from_annotation(annotation)
        if name in skip:
            continue
        if dtype is None:
            raise DefinitionError(f"source {source!r}: column {name!r} has type {annotation!r}; use {ANNOTATIONS}")
        columns.append((name, dtype))
    if not columns:
        raise DefinitionError(f"source {source!r} has an empty schema")
    return tuple(columns)
