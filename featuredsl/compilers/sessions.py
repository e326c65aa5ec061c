"""Sessions as rows: gaps and islands, linear in events, without a label in sight.

An event starts a session when the one before it (same entity, same filter) is `gap` or more away, or there is none;
a session closes at its last event + gap. Whether it has closed by t does not depend on events from t on, so every
session is computed once, and the last one closed by t is found like a latest value, by its closing time.
"""

from __future__ import annotations

from collections.abc import Sequence

from featuredsl.aggregators import Partial
from featuredsl.compilers.relations import struct
from featuredsl.compilers.scalar import Dialect, render
from featuredsl.compilers.totals import merged
from featuredsl.compilers.units import SessionUnit, has_key, key_columns
from featuredsl.plan import GroupPlan


def closed_sessions(
    name: str, unit: SessionUnit, partials: Sequence[Partial], plan: GroupPlan, dialect: Dialect, relation: str
) -> list[str]:
    """Common table expressions over `relation`, the events of the unit's source; the last, `name`, has the keys
    `k0` …, `closed` (when the session closed, in us) and `r`, a struct that orders by it, with the partials of the
    session as `p0` …."""
    keys = ", ".join(f"k{i}" for i in range(len(plan.entity)))
    by_key = ", ".join(key_columns(plan, dialect))
    where = "" if unit.where is None else f" AND ({render(unit.where, dialect)})"
    selected = [f"{key} AS k{i}" for i, key in enumerate(key_columns(plan, dialect))]
    selected += ["ts_us", *(f"{render(p.lift, dialect)} AS p{j}" for j, p in enumerate(partials))]
    apart = f"ts_us - LAG(ts_us) OVER (PARTITION BY {by_key} ORDER BY ts_us)"
    columns = ", ".join(f"p{j}" for j in range(len(partials)))
    folded = ", ".join(f"{merged(f'p{j}', p, dialect)} AS p{j}" for j, p in enumerate(partials))
    fields = [("t", "closed"), *((f"p{j}", f"p{j}") for j in range(len(partials)))]
    starts = f"CASE WHEN {apart} < {unit.window.gap_us} THEN 0 ELSE 1 END AS s"
    source = f"{relation} WHERE {has_key(plan, dialect)}{where}"
    return [
        f"{name}_starts AS (SELECT {', '.join(selected)}, {starts}\n  FROM {source})",
        # Equal times are peers of the default frame, so whichever of them started the session, all are in it.
        f"{name}_numbered AS (SELECT {keys}, ts_us, {columns}, SUM(s) OVER (PARTITION BY {keys} ORDER BY ts_us) AS n"
        f"\n  FROM {name}_starts)",
        f"{name}_merged AS (SELECT {keys}, MAX(ts_us) + {unit.window.gap_us} AS closed, {folded}"
        f"\n  FROM {name}_numbered GROUP BY {keys}, n)",
        f"{name} AS (SELECT {keys}, closed, {struct(fields, dialect)} AS r FROM {name}_merged)",
    ]
