"""Event sources: the typed, timestamped streams and tables that features are computed from."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from featuredsl.dtypes import DType, annotation_text, from_annotation
from featuredsl.errors import DefinitionError, unknown
from featuredsl.times import UNIT_US
from featuredsl.where import located

TimeRange = tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class EventSource:
    """A named stream of events. Build it with `EventSource(name, event_time=…, schema=…)`.

    `schema` maps columns to `int | float | str | bool`, or is a class whose annotations do. `event_time` is an
    integer in `time_unit` ("s", "ms", "us"; implied, it need not be in the schema). `topic` and `table` default
    to the name. `sequence` breaks ties of equal event times. `pii` names columns with personal data; `tags` gives
    columns other tags. Every feature that reads such a column carries them.
    """

    name: str
    event_time: str
    columns: tuple[tuple[str, DType], ...]
    topic: str
    table: str
    sequence: str | None
    time_unit: str
    time_range: TimeRange
    tags: tuple[tuple[str, tuple[str, ...]], ...] = field(compare=False)

    @located
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
        pii: Sequence[str] = (),
        tags: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        if time_unit not in UNIT_US:
            raise DefinitionError(_bad_unit(name, time_unit))
        columns = _columns(name, schema, skip=(event_time,))
        if sequence is not None and sequence not in dict(columns):
            columns = (*columns, (sequence, "int"))
        if sequence is not None and dict(columns)[sequence] != "int":
            raise DefinitionError(
                f"source {name!r}: sequence {sequence!r} is {dict(columns)[sequence]}; it must be int"
            )
        for attribute, value in (
            ("name", name),
            ("event_time", event_time),
            ("columns", columns),
            ("topic", topic or name),
            ("table", table or name),
            ("sequence", sequence),
            ("time_unit", time_unit),
            ("time_range", time_range),
            ("tags", _tags(name, columns, pii, tags or {})),
        ):
            object.__setattr__(self, attribute, value)

    def dtype(self, column: str) -> DType | None:
        """The type of a column, or None when there is no such column."""
        return dict(self.columns).get(column)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns without the event time, in schema order."""
        return tuple(name for name, _ in self.columns)


def _columns(source: str, schema: Mapping[str, object] | type, skip: Sequence[str]) -> tuple[tuple[str, DType], ...]:
    fields = _fields(source, schema)
    columns = []
    for name, annotation in fields.items():
        dtype = from_annotation(annotation)
        if name in skip:
            continue
        if dtype is None:
            raise DefinitionError(
                f"source {source!r}: column {name!r} has type {annotation_text(annotation)}; use int, float, str, bool "
                "or a list of int, float or str"
            )
        columns.append((name, dtype))
    if not columns:
        raise DefinitionError(
            f"source {source!r} has an empty schema; give its columns, for example schema={{'user_id': str}}"
        )
    return tuple(columns)


def _fields(source: str, schema: object) -> Mapping[str, object]:
    if isinstance(schema, Mapping):
        return schema
    if not isinstance(schema, type):
        raise DefinitionError(f"source {source!r}: schema {schema!r} is neither a mapping nor a class with annotations")
    try:
        return typing.get_type_hints(schema)
    except NameError as error:
        raise DefinitionError(f"source {source!r}: in the schema {schema.__name__}: {error}") from None


def _bad_unit(source: str, unit: str) -> str:
    long = {"seconds": "s", "second": "s", "sec": "s", "milliseconds": "ms", "millis": "ms", "microseconds": "us"}
    near = long.get(str(unit).lower())
    hint = f" Did you mean {near!r}?" if near else ""
    return f"source {source!r}: time_unit {unit!r} is none of s, ms, us.{hint}"


def _tags(
    source: str, columns: tuple[tuple[str, DType], ...], pii: Sequence[str], tags: Mapping[str, Sequence[str]]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    names = (pii,) if isinstance(pii, str) else tuple(pii)
    found = {column: {given} if isinstance(given, str) else set(given) for column, given in tags.items()}
    for column in names:
        found.setdefault(column, set()).add("pii")
    known = tuple(column for column, _ in columns)
    for column in found:
        if column not in known:
            raise DefinitionError(unknown("tagged column", column, source, known))
    return tuple((column, tuple(sorted(found[column]))) for column in sorted(found))
