"""What a source declaration may say: its columns, their types, its keys. Each check raises DefinitionError."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence

from featuredsl.dtypes import ANNOTATIONS, DType, annotation_text, from_annotation
from featuredsl.errors import DefinitionError, unknown
from featuredsl.times import parse_duration

Columns = tuple[tuple[str, DType], ...]
ColumnTags = tuple[tuple[str, tuple[str, ...]], ...]
EVENT_US, ARRIVAL_US = "ts_us", "arrival_us"
"""The columns of a source's view that hold its event time and its arrival time, in microseconds."""
_RESERVED = (EVENT_US, ARRIVAL_US)
_KEY_TYPES = ("int", "str", "bool")


def check_sequence(source: str, sequence: str | None, columns: Columns) -> None:
    """The sequence is an int column."""
    if sequence is not None and dict(columns)[sequence] != "int":
        raise DefinitionError(
            f"source {source!r}: sequence {sequence!r} is {dict(columns)[sequence]}; it must be an int"
        )


def check_unique(source: str, keys: tuple[str, ...], within: str | int | None, columns: Columns) -> int | None:
    """The keys are columns that compare exactly; returns `within` in microseconds."""
    if keys:
        check_keys(f"source {source!r}: unique", source, keys, columns)
    if within is None:
        return None
    if not keys:
        raise DefinitionError(f"source {source!r}: within= needs unique=, the columns that make records one event")
    try:
        within_us = parse_duration(within)
    except ValueError as error:
        raise DefinitionError(f"source {source!r}: within: {error}") from None
    if within_us <= 0:
        raise DefinitionError(f"source {source!r}: within={within!r} is not positive; write it like '1d'")
    return within_us


def check_keys(what: str, owner: str, keys: tuple[str, ...], columns: Columns) -> None:
    """The keys are one or several different columns of type int, str or bool."""
    if not keys or len(set(keys)) < len(keys):
        raise DefinitionError(f"{what} must name one or several different columns, not {keys!r}")
    kinds = dict(columns)
    for key in keys:
        if key not in kinds:
            raise DefinitionError(f"{what}: {unknown('column', key, owner, tuple(kinds))}")
        if kinds[key] not in _KEY_TYPES:
            raise DefinitionError(f"{what}: column {key!r} is {kinds[key]}; use {' or '.join(_KEY_TYPES)}")


def read_columns(source: str, schema: Mapping[str, object] | type, skip: Sequence[str]) -> Columns:
    """The columns of a schema with their types, without those of `skip`."""
    fields = _fields(source, schema)
    columns = []
    for name, annotation in fields.items():
        dtype = from_annotation(annotation)
        if name in skip:
            continue
        if dtype is None:
            raise DefinitionError(
                f"source {source!r}: column {name!r} has type {annotation_text(annotation)}; use {ANNOTATIONS}"
            )
        if name in _RESERVED:
            raise DefinitionError(f"source {source!r}: the column name {name!r} is reserved; rename it")
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


def bad_unit(source: str, unit: str) -> str:
    """The text for a time unit that there is not."""
    long = {"seconds": "s", "second": "s", "sec": "s", "milliseconds": "ms", "millis": "ms", "microseconds": "us"}
    near = long.get(str(unit).lower())
    hint = f" Did you mean {near!r}?" if near else ""
    return f"source {source!r}: time_unit {unit!r} is none of s, ms, us.{hint}"


def column_tags(
    source: str, columns: Columns, pii: str | Sequence[str], tags: Mapping[str, str | Sequence[str]]
) -> ColumnTags:
    """The tags of columns, sorted; those of `pii` get that tag."""
    names = (pii,) if isinstance(pii, str) else tuple(pii)
    found = {column: {given} if isinstance(given, str) else set(given) for column, given in tags.items()}
    for column in names:
        found.setdefault(column, set()).add("pii")
    known = tuple(column for column, _ in columns)
    for column in found:
        if column not in known:
            raise DefinitionError(unknown("tagged column", column, source, known))
    return tuple((column, tuple(sorted(found[column]))) for column in sorted(found))


def joined_tags(*given: ColumnTags) -> ColumnTags:
    """The tags of columns that several sources give to one."""
    found: dict[str, set[str]] = {}
    for tags in given:
        for column, names in tags:
            found.setdefault(column, set()).update(names)
    return tuple((column, tuple(sorted(found[column]))) for column in sorted(found))
