"""The conformance cases through the online layout: events folded into tiles, states and ranks, encoded, read back."""

from __future__ import annotations

from typing import Any

import pytest

from featuredsl.evaluate import evaluate
from featuredsl.finalize import Finalizer
from featuredsl.online.codec import encode_rank
from featuredsl.online.request import EntityState, ReadRequest
from featuredsl.plan import GroupPlan
from featuredsl.tiles import rank_columns, store_layout, stream_lookups
from tests.conformance.cases import CASES, Case, Row, us
from tests.conformance.cases_wide import WIDE_CASES
from tests.conformance.cases_wide_sessions import WIDE_SESSION_CASES
from tests.conformance.cases_windows import WINDOW_CASES, streamed_part
from tests.support.online_tiles import ring, session_fields, wide_fields
from tests.support.wide_cases import same

STREAMED = [
    case
    for case in (*CASES, *map(streamed_part, WINDOW_CASES))
    if all(f.freshness == "realtime" for f in case.group.features)
]


def ranks_of(plan: GroupPlan, events: dict[str, list[Row]], key: tuple[Any, ...]) -> dict[str, bytes]:
    names = [name for name, _ in plan.entity]
    ranks: dict[str, bytes] = {}
    for lookup in stream_lookups(plan):
        columns = rank_columns(plan, lookup)
        found = [
            encode_rank(us(seconds), columns, [row.get(c.name) for c in columns]).encode()
            for seconds, row in events[lookup.source]
            if tuple(row[name] for name in names) == key
            and (lookup.where is None or evaluate(lookup.where, row) is True)
        ]
        if found:
            ranks[lookup.name] = max(found)
    return ranks


def state_before(case: Case, key: tuple[Any, ...], at_us: int) -> EntityState:
    """What a job would have stored when it had seen every event before `at_us`, and none after."""
    plan, layout = case.group, store_layout(case.group)
    names = [name for name, _ in plan.entity]
    seen = {name: [r for r in rows if us(r[0]) < at_us] for name, rows in case.events.items()}
    mine = {
        name: [(us(seconds), row) for seconds, row in rows if tuple(row[part] for part in names) == key]
        for name, rows in seen.items()
    }
    fields = {f"l:{name}": rank for name, rank in ranks_of(plan, seen, key).items()}
    fields |= wide_fields(plan, layout, mine) | session_fields(plan, layout, mine)
    replies: list[Any] = [[ring(plan, layout, mine)]] if layout.ring else []
    if layout.hash_fields:
        replies.append([fields.get(name) for name in layout.hash_fields])
    (state,) = ReadRequest([(layout, key)]).parse(replies)
    return state


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    finalizer = Finalizer(case.group)
    for key, seconds, expected in case.reads:
        values = finalizer.values(state_before(case, key, us(seconds)), us(seconds), {})
        assert {name: values[name].value for name in expected} == expected, (key, seconds)


@pytest.mark.parametrize("case", [*WIDE_CASES, *WIDE_SESSION_CASES], ids=lambda case: case.name)
def test_wide_case(case: Case) -> None:
    finalizer = Finalizer(case.group)
    streamed = {feature.name for feature in case.group.features if feature.freshness == "realtime"}
    compared = 0
    for key, seconds, expected in (read for read in case.reads if None not in read[0]):
        values = finalizer.values(state_before(case, key, us(seconds)), us(seconds), {})
        for name in streamed & set(expected):
            assert same(values[name].value, expected[name]), (key, seconds, name, values[name].value)
            compared += 1
    assert compared > 2
