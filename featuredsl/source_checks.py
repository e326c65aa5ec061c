"""What a source declaration may say: its columns, their types, its keys. Each check raises DefinitionError."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence

from featuredsl.dtypes import ANNOTATIONS, DType, from_annotation
from featuredsl.errors import DefinitionError, unknown
from featuredsl.times import parse_duration

Columns = tuple[tuple[str, DType], ...]
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
    fields = typing.get_type_hints(schema) if isinstance(schema, type) else dict(schema)
    columns = []
    for name, annotation in fields.items():
        dtype = from_annotation(annotation)
        if name in skip:
            continue
        if dtype is None:
            raise DefinitionError(f"source {source!r}: column {name!r} has type {annotation!r}; use {ANNOTATIONS}")
        if name in _RESERVED:
            raise DefinitionError(f"source {source!r}: the column name {name!r} is reserved; rename it")
        columns.append((name, dtype))
    if not columns:
        raise DefinitionError(f"source {source!r} has an empty schema")
    return tuple(columns)
