"""Python values into DuckDB by the column: a list is one parameter; a row at a time costs a thousand times more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from featuredsl.compilers.scalar import DUCKDB


def create_table(con: duckdb.DuckDBPyConnection, table: str, types: Mapping[str, str]) -> None:
    """An empty table (or an emptied one) of columns with SQL types."""
    columns = ", ".join(f"{DUCKDB.ident(name)} {kind}" for name, kind in types.items())
    con.execute(f"CREATE OR REPLACE TABLE {DUCKDB.ident(table)} ({columns})")


def append(
    con: duckdb.DuckDBPyConnection, table: str, types: Mapping[str, str], columns: Sequence[Sequence[Any]]
) -> None:
    """Add rows, given as columns of equal length in the order of `types`."""
    lists = ", ".join(f"unnest(CAST(${i} AS {kind}[]))" for i, kind in enumerate(types.values(), 1))
    con.execute(f"INSERT INTO {DUCKDB.ident(table)} SELECT {lists}", [list(column) for column in columns])
