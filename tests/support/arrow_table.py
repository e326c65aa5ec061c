"""Rows of a test as an Arrow table with the types of the jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from featuredsl.dtypes import DType
from jobs.spark.arrow_types import ARROW_TYPES


def arrow_table(columns: Sequence[tuple[str, DType]], rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Columns by name and type; each row has a cell for each."""
    return pa.table({n: pa.array([row[i] for row in rows], ARROW_TYPES[t]) for i, (n, t) in enumerate(columns)})
