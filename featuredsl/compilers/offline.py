"""Plans to point-in-time SQL for DuckDB and Spark: one row of feature values per label, linear in rows.

DuckDB gets range frames and ASOF joins (`ranges`), except where an arrival time decides what was known. Spark, and
DuckDB there, gets running aggregates over blocks (`stack`).

Inputs are views: one per source, named after it, with its columns, `ts_us` (event time in microseconds) and, where
it has an arrival time, `arrival_us`; and a labels view with `label_id` (unique BIGINT), the entity columns and `ts_us`.
"""

from __future__ import annotations

from collections.abc import Sequence

from featuredsl.compilers.ranges import Ranges
from featuredsl.compilers.scalar import Dialect
from featuredsl.compilers.stack import Stack
from featuredsl.compilers.units import units_of, value_columns
from featuredsl.plan import GroupPlan

LABELS = "labels"


def point_in_time(
    plan: GroupPlan,
    dialect: Dialect,
    *,
    labels: str = LABELS,
    features: Sequence[str] | None = None,
    as_known: bool = True,
) -> str:
    """A SELECT of `label_id` and one column per stored feature of the group, named `group__feature`.

    Without `as_known` an event counts from its event time, whenever it arrived. Wide features are left out:
    `compilers.wide` feeds them.
    """
    wanted = [f for f in plan.features if (features is None or f.name in features) and f not in plan.wide]
    units = units_of(plan, wanted)
    if not wanted:
        return f"SELECT label_id FROM {dialect.ident(labels)}"
    columns = ",\n  ".join(["label_id", *value_columns(plan, wanted, units, dialect)])
    timed = frozenset(source.name for source in plan.sources if as_known and source.arrival_time is not None)
    if dialect.name == "duckdb" and not timed & units.sources:
        ctes = Ranges(plan, dialect, units).ctes(labels)
    else:
        ctes = Stack(plan, dialect, units, timed).ctes(labels)
    return f"{ctes}\nSELECT {columns}\nFROM merged"
