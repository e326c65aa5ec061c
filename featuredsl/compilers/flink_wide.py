"""States of variable width in Flink SQL: one aggregation per (group, source, hop) into fields of the hash.

`fdsl_wide(kind, params, condition, time, columns…)` keeps the state of a monoid of `featuredsl.wide` and gives its
bytes, so the reader merges and finalizes what the job has counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from featuredsl.aggregators import Partial, WidePartial
from featuredsl.compilers.flink_closed import mark_options, tile_rows
from featuredsl.compilers.flink_sources import sequence_of
from featuredsl.compilers.flink_tables import GroupTarget, StreamConfig, key_of, table, table_of, tile_of
from featuredsl.compilers.scalar import FLINK, render
from featuredsl.nodes import Column, Node, call
from featuredsl.plan import GroupPlan
from featuredsl.sources import EventSource
from featuredsl.tiles import StateTier, state_tiers

_FUNCTION = "CREATE TEMPORARY SYSTEM FUNCTION fdsl_wide AS 'dev.featuredsl.flink.wide.WideFunction'"


def wide_functions(plans: Iterable[GroupPlan]) -> list[str]:
    """The statements that the wide statements of these groups need before them."""
    return [_FUNCTION] if any(map(state_tiers, plans)) else []


def wide_tiles(target: GroupTarget, tier: StateTier, config: StreamConfig) -> tuple[str, str]:
    """The sink of a wide tier, and the INSERT that fills it."""
    plan, layout = target.plan, target.layout
    name = f"{table_of(plan, tier.name)}__wide"
    (stored,) = (wide for wide in layout.wide if wide.name == tier.name)
    states = [f"`s{i}` BYTES" for i in range(len(tier.states))]
    columns = ["`k` STRING", "`tile` BIGINT", "`n` BIGINT", "`hwm` BIGINT", *states]
    options = (
        ("connector", "featuredsl-redis"),
        ("mode", "tiles"),
        ("url", config.redis),
        ("key-prefix", layout.key_prefix),
        ("field-prefix", stored.field_prefix),
        ("slots", str(tier.slots)),
        ("hop", str(tier.hop_us)),
        ("expire-after", str(layout.expire_after_us)),
        *mark_options(layout, tier.mark, tier.freshness, config),
    )
    source = plan.source(tier.source)
    kept = [f"{_state(state, source)} AS `s{i}`" for i, state in enumerate(tier.states)]
    selected = ",\n  ".join(["COUNT(*) AS `n`", "MAX(`_ts`) AS `hwm`", *kept])
    insert = (
        f"INSERT INTO {FLINK.ident(name)}\n"
        f"SELECT {key_of(plan)} AS `k`, {tile_of(tier.hop_us)} AS `tile`,\n  {selected}\n"
        f"{tile_rows(plan, tier.source, tier.hop_us, tier.freshness)}"
    )
    return table(name, [*columns, "PRIMARY KEY (`k`, `tile`) NOT ENFORCED"], options), insert


def _state(state: Partial | WidePartial, source: EventSource) -> str:
    """The call that keeps a state."""
    kind, params, taken, columns = state_arguments(state, source)
    return f"fdsl_wide({FLINK.text(kind)}, {FLINK.text(params)}, {taken}, `_ts`, {', '.join(columns)})"


def state_arguments(state: Partial | WidePartial, source: EventSource) -> tuple[str, str, str, list[str]]:
    """What keeps a state: kind and parameters, as texts, and in SQL the condition and the columns of a row."""
    if isinstance(state, Partial):
        present = render(call("not", call("is_null", state.lift)), FLINK)
        return state.merge, "{}", present, [render(state.lift, FLINK)]
    params = json.dumps(dict(state.params), separators=(",", ":"), sort_keys=True)
    taken = "TRUE" if state.where is None else render(state.where, FLINK)
    return state.kind, params, taken, [_column(node, source) for node in state.columns]


def _column(node: Node, source: EventSource) -> str:
    """A column of the row; what breaks ties of equal times has an expression of its own in a stream."""
    sequence = sequence_of(source)
    if sequence is not None and isinstance(node, Column) and node.name == source.sequence_column:
        return sequence
    return render(node, FLINK)
