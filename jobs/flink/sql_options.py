"""Texts and options as they stand in Flink SQL statements."""

from __future__ import annotations

from collections.abc import Mapping


def sql_text(value: str) -> str:
    """A text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def sql_options(options: Mapping[str, str]) -> str:
    """Options of a WITH clause."""
    return ",\n  ".join(f"'{name}' = {sql_text(value)}" for name, value in options.items())
