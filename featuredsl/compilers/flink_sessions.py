"""Sessions in Flink SQL: a process table function per (group, source, gap, filter) into a field of the hash.

`fdsl_sessions` keeps the sessions of each key that may still grow, with what is made of their events, and gives a
record of a session when the watermark has closed it; for realtime features also at each of its events. Only rows that
are in time come to it, so a session that was closed never changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from featuredsl.compilers.flink_closed import in_time, mark_options
from featuredsl.compilers.flink_tables import GroupTarget, StreamConfig, key_is_null, key_of, table, table_of
from featuredsl.compilers.flink_wide import state_arguments
from featuredsl.compilers.scalar import FLINK, render
from featuredsl.plan import GroupPlan
from featuredsl.session_tiers import SessionTier, session_tiers
from featuredsl.tiers import TIERS

_FUNCTION = "CREATE TEMPORARY SYSTEM FUNCTION fdsl_sessions AS 'dev.featuredsl.flink.session.SessionFunction'"
_COLUMNS = ("`k` STRING", "`first_us` BIGINT", "`last_us` BIGINT", "`n` BIGINT", "`content` BYTES")


def session_functions(plans: Iterable[GroupPlan]) -> list[str]:
    """The statements that the session statements of these groups need before them."""
    return [_FUNCTION] if any(map(session_tiers, plans)) else []


def sessions(target: GroupTarget, config: StreamConfig) -> list[tuple[str, str, str]]:
    """For each session tier of a group the view of the rows that make sessions, the sink, the INSERT that fills it."""
    return [_sessions(target, tier, config) for tier in session_tiers(target.plan)]


def _sessions(target: GroupTarget, tier: SessionTier, config: StreamConfig) -> tuple[str, str, str]:
    plan, layout = target.plan, target.layout
    name = table_of(plan, tier.name)
    (stored,) = (field for field in layout.sessions if field.name == tier.name)
    options = (
        ("connector", "featuredsl-redis"),
        ("mode", "sessions"),
        ("url", config.redis),
        ("key-prefix", layout.key_prefix),
        ("field-prefix", stored.hash_field),
        ("slots", str(stored.kept)),
        ("hop", str(stored.gap_us)),
        ("expire-after", str(layout.expire_after_us)),
        *mark_options(layout, tier.mark, tier.freshness, config),
    )
    parts, columns = _parts(plan, tier)
    rows = f"{name}__rows"
    insert = (
        f"INSERT INTO {FLINK.ident(name)}\n"
        "SELECT `k`, `first_us`, `last_us`, `n`, `content`\n"
        f"FROM fdsl_sessions(input => TABLE {FLINK.ident(rows)} PARTITION BY `k`,\n"
        f"  gapUs => CAST({stored.gap_us} AS BIGINT), parts => {FLINK.text(parts)},\n"
        f"  maxBytes => {stored.max_bytes}, live => {str(not TIERS[tier.freshness].is_deferred).upper()},\n"
        f"  on_time => DESCRIPTOR(`_rowtime`), uid => {FLINK.text(_uid(name))})"
    )
    sink = table(name, [*_COLUMNS, "PRIMARY KEY (`k`, `first_us`) NOT ENFORCED"], options)
    return _view(rows, plan, tier, columns), sink, insert


def _view(name: str, plan: GroupPlan, tier: SessionTier, columns: list[str]) -> str:
    counted = [f"NOT ({key_is_null(plan)})"]
    if tier.forms is not None:
        counted.append(f"({render(tier.forms, FLINK)})")
    selected = [f"{column} AS `c{i}`" for i, column in enumerate(columns)]
    return (
        f"CREATE TEMPORARY VIEW {FLINK.ident(name)} AS\n"
        f"SELECT {', '.join([f'{key_of(plan)} AS `k`', '`_ts`', *selected, '`_rowtime`'])}\n"
        f"FROM {FLINK.ident(in_time(plan.source(tier.source), tier.freshness))}\n"
        f"WHERE {' AND '.join(counted)}"
    )


def _parts(plan: GroupPlan, tier: SessionTier) -> tuple[str, list[str]]:
    """What the function is told to keep, as JSON, and the columns that it reads for that."""
    source = plan.source(tier.source)
    parts: list[dict[str, object]] = [{"merge": partial.merge} for partial in tier.numbers]
    columns = [render(partial.lift, FLINK) for partial in tier.numbers]
    for state in tier.states:
        kind, params, taken, values = state_arguments(state, source)
        parts.append({"kind": kind, "params": params, "values": len(values)})
        columns += [taken, *values]
    return json.dumps(parts, separators=(",", ":")), columns


def _uid(name: str) -> str:
    """The name of the function's state in checkpoints."""
    return f"sessions-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
