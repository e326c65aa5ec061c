"""JSON records that say a key twice: readers disagree on which value counts, so streams refuse them, and so do files.

Only the keys of the record itself are looked at: those of objects inside it are no columns.
"""

from __future__ import annotations

import duckdb

# A row that is refused already may be no JSON, and engines may look at conditions in any order.
_KEYS = "CASE WHEN fdsl_reason IS NULL THEN json_keys(fdsl_raw) END"
_MANY = 10_000


def refuse_repeated_keys(con: duckdb.DuckDBPyConnection, table: str) -> None:
    """Give the rows of a scanned table of JSON objects with a repeated key the reason `duplicate_key:<key>`.

    A file has few lists of keys, so those are searched here; its rows, which takes far longer, only where one is bad.
    """
    if not _any_repeated(con.execute(f"SELECT DISTINCT {_KEYS} FROM {table}")):
        return
    key = f"list_filter({_KEYS}, lambda k, i: list_position({_KEYS}, k) < i)[1]"
    con.execute(
        f"UPDATE {table} SET fdsl_reason = 'duplicate_key:' || {key} WHERE len({_KEYS}) <> list_unique({_KEYS})"
    )


def _any_repeated(lists: duckdb.DuckDBPyConnection) -> bool:
    while rows := lists.fetchmany(_MANY):
        if any(len(set(keys)) < len(keys) for (keys,) in rows if keys is not None):
            return True
    return False
