"""Plans to the values of every entity at one time, for the batch tiers: one grouping per feature group.

The time is a constant, so a window is a filter inside its aggregate and no label is needed. The meaning is
that of `point_in_time` for a label of every entity at that time; entities without any event in reach of the
features have no row.
"""

from __future__ import annotations

from collections.abc import Sequence

from featuredsl.compilers.relations import Relations
from featuredsl.compilers.scalar import Dialect, render
from featuredsl.compilers.sessions import closed_sessions
from featuredsl.compilers.totals import merged
from featuredsl.compilers.units import (
    LookupUnit,
    Units,
    WindowUnit,
    has_key,
    key_columns,
    null_of,
    rank_struct,
    units_of,
    value_columns,
)
from featuredsl.plan import GroupPlan, LookupFeature, StoredFeature
from featuredsl.sources import EventSource
from featuredsl.tiers import Tier


def snapshot(plan: GroupPlan, dialect: Dialect, at_us: int, features: Sequence[StoredFeature]) -> str:
    """A SELECT of the entity columns and `group__feature`, as read at `at_us` (each tier at its own q).

    Inputs are views as for `point_in_time`. Wide features count for which entities have a row, and have no column:
    `compilers.wide` feeds them.
    """
    plain = [feature for feature in features if feature not in plan.wide]
    units = units_of(plan, plain)
    keys = ", ".join(key_columns(plan, dialect))
    relations = Relations(dialect)
    sources = dict.fromkeys(name for feature in features for name in feature.source_names)
    events = [_events(plan, relations, units, plan.source(name), at_us) for name in sources]
    events += [_closed(plan, dialect, units, i, at_us) for i in range(len(units.sessions))]
    rows = "\n  UNION ALL ".join(events)
    values = ",\n  ".join([keys, *value_columns(plan, plain, units, dialect)])
    reach = _reach(features, at_us)
    sessions = "".join(
        f"{cte},\n"
        for i, (unit, partials) in enumerate(units.sessions.items())
        for cte in closed_sessions(
            f"fdsl_session_{i}", unit, partials, plan, dialect, relations.of(plan.source(unit.source))
        )
    )
    return (
        f"WITH {relations.prefix()}{sessions}events AS (\n  {rows}),\n"
        f"merged AS (SELECT {', '.join([keys, *_merged(dialect, units, at_us)])}\n"
        f"  FROM events WHERE {reach} GROUP BY {keys})\n"
        f"SELECT {values}\nFROM merged"
    )


def _events(plan: GroupPlan, relations: Relations, units: Units, source: EventSource, at_us: int) -> str:
    dialect, timed = relations.dialect, source.arrival_time is not None
    columns = [*key_columns(plan, dialect), "ts_us"]
    for i, (unit, partials) in enumerate(units.windows.items()):
        inside = _inside(unit, at_us)
        for j, partial in enumerate(partials):
            value = null_of(partial.dtype, dialect)
            if unit.source == source.name:
                lift = render(partial.lift, dialect)
                value = f"CASE WHEN {inside}{_known(unit.tier, at_us, timed)} THEN {lift} ELSE {value} END"
            columns.append(f"{value} AS w{i}_p{j}")
    columns += [f"{_rank(dialect, u, source, at_us)} AS l{i}" for i, u in enumerate(units.lookups)]
    columns += [f"NULL AS s{i}" for i in range(len(units.sessions))]
    arrived = f" AND arrival_us <= {at_us}" if timed else ""
    return f"SELECT {', '.join(columns)}\n  FROM {relations.of(source)} WHERE {has_key(plan, dialect)}{arrived}"


def _inside(unit: WindowUnit, at_us: int) -> str:
    low, high = unit.window.bounds(unit.tier.query_time(at_us))
    before = f"ts_us < {high}"
    return before if unit.window.low is None else f"ts_us >= {low} AND {before}"


def _closed(plan: GroupPlan, dialect: Dialect, units: Units, index: int, at_us: int) -> str:
    """The sessions closed by the time that is asked for, as rows at the last microsecond before they closed."""
    asked = list(units.sessions)[index].tier.query_time(at_us)
    columns = [f"k{i} AS {key}" for i, key in enumerate(key_columns(plan, dialect))] + ["closed - 1 AS ts_us"]
    columns += [
        f"{null_of(partial.dtype, dialect)} AS w{i}_p{j}"
        for i, partials in enumerate(units.windows.values())
        for j, partial in enumerate(partials)
    ]
    columns += [f"NULL AS l{i}" for i in range(len(units.lookups))]
    columns += [f"{'r' if i == index else 'NULL'} AS s{i}" for i in range(len(units.sessions))]
    return f"SELECT {', '.join(columns)}\n  FROM fdsl_session_{index} WHERE closed <= {asked}"


def _rank(dialect: Dialect, unit: LookupUnit, source: EventSource, at_us: int) -> str:
    if unit.source != source.name:
        return "NULL"
    where = _known(unit.tier, at_us, source.arrival_time is not None)
    where += "" if unit.where is None else f" AND ({render(unit.where, dialect)})"
    return f"CASE WHEN ts_us < {unit.tier.query_time(at_us)}{where} THEN {rank_struct(unit, dialect)} END"


def _known(tier: Tier, at_us: int, timed: bool) -> str:
    return f" AND arrival_us <= {tier.query_time(at_us) + tier.delay_us}" if timed else ""


def _merged(dialect: Dialect, units: Units, at_us: int) -> list[str]:
    columns = [
        f"{merged(f'w{i}_p{j}', p, dialect)} AS w{i}_p{j}"
        for i, partials in enumerate(units.windows.values())
        for j, p in enumerate(partials)
    ]
    for i, unit in enumerate(units.lookups):
        asked = f"CAST({unit.tier.query_time(at_us)} AS BIGINT)"
        columns += [f"MAX(l{i}) AS l{i}", f"{asked} AS l{i}_q"]
    for i, parts in enumerate(units.sessions.values()):
        columns += [f"(MAX(s{i})).p{j} AS s{i}_p{j}" for j in range(len(parts))]
    return columns


def _reach(features: Sequence[StoredFeature], at_us: int) -> str:
    """The events that can matter: before the latest query time, since the earliest window or ttl."""
    before = max(feature.tier.query_time(at_us) for feature in features)
    starts = [_start(feature, at_us) for feature in features]
    known = [start for start in starts if start is not None]
    since = f" AND ts_us >= {min(known)}" if len(known) == len(starts) else ""
    return f"ts_us < {before}{since}"


def _start(feature: StoredFeature, at_us: int) -> int | None:
    asked = feature.tier.query_time(at_us)
    if isinstance(feature, LookupFeature):
        return None if feature.ttl_us is None else asked - feature.ttl_us
    return None if feature.window.reach_us is None else feature.window.bounds(asked)[0]
