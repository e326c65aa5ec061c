"""Sums of integers that are null where they do not fit in 64 bits, whatever lies between.

DuckDB adds 64-bit integers up in 128 bits and refuses to cast what does not fit; Spark refuses to add. Sums of the ones
of a count cannot get there, and stay as they are.
"""

from __future__ import annotations

from featuredsl.aggregators import Partial
from featuredsl.compilers.bounds import int_range
from featuredsl.compilers.dialect import Dialect

_SMALL = 2**20
"""Sums of at most that many at a time need 2^43 rows to leave 64 bits."""


def may_overflow(partial: Partial) -> bool:
    """True for a sum of integers that rows may push out of 64 bits."""
    if partial.merge != "sum" or partial.dtype != "int":
        return False
    low, high = int_range(partial.lift)
    return low < -_SMALL or high > _SMALL


def summand(value: str, dialect: Dialect) -> str:
    """An integer, or a part of a sum, as something whose sum is exact."""
    return f"CAST({value} AS DECIMAL(38, 0))" if dialect.name == "spark" else value


def merged(value: str, partial: Partial, dialect: Dialect) -> str:
    """The merge of partials over rows, of the partial's own type."""
    if may_overflow(partial):
        return f"TRY_CAST(SUM({summand(value, dialect)}) AS {dialect.type_name('int')})"
    return f"CAST({partial.merge.upper()}({value}) AS {dialect.type_name(partial.dtype)})"
