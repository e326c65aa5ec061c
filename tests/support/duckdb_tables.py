"""Tables of DuckDB with the rows of a test."""

from __future__ import annotations

from typing import Any

import duckdb


def create(con: duckdb.DuckDBPyConnection, name: str, columns: list[tuple[str, str]], rows: list[Any]) -> None:
    """A table of (column, dtype), filled."""
    kinds = {"int": "BIGINT", "float": "DOUBLE", "str": "VARCHAR", "bool": "BOOLEAN"}
    kinds |= {f"{dtype}[]": f"{kind}[]" for dtype, kind in kinds.items()}
    body = ", ".join(f'"{column}" {kinds[dtype]}' for column, dtype in columns)
    con.execute(f'CREATE TABLE "{name}" ({body})')
    if rows:
        con.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" for _ in columns)})', rows)
