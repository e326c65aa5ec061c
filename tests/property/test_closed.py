"""Reads of the tier of closed minutes are the values of training sets, whatever minute the job has come to.

The tiles are made here, of the events before the minute that is closed; the values are those of `featuredsl.testing`,
which a loop over the events checks too.
"""

from __future__ import annotations

import random

import pytest

from featuredsl import testing
from featuredsl.finalize import Finalizer
from featuredsl.online.codec import encode_rank
from featuredsl.online.request import EntityState, ReadRequest
from featuredsl.plan import GroupPlan
from featuredsl.session_tiers import session_tiers
from featuredsl.tiles import store_layout
from featuredsl.times import MINUTE, SECOND
from tests.support.closed_groups import Minutes
from tests.support.closed_oracle import CLOSED, START, Event, expected, visit
from tests.support.online_tiles import ring, session_fields, wide_fields

PLAN: GroupPlan = Minutes.plan  # type: ignore[attr-defined]
LAYOUT = store_layout(PLAN)
MARKS = (
    "visits/latest@5m",
    "visits/5m@5m",
    "visits/30s@5m",
    "visits/1m@5m",
    "visits/5m@5m/states",
    "visits/30s@5m/states",
    *(tier.mark for tier in session_tiers(PLAN)),
)
SPAN = 90 * MINUTE


def events_of(rng: random.Random) -> list[Event]:
    """Some at the edges of minutes and tiles."""
    times = {rng.randrange(SPAN) for _ in range(150)}
    times |= {rng.randrange(1, 180) * 30 * SECOND - rng.choice((0, 1)) for _ in range(60)}
    return [visit(t, rng.choice("ab"), rng.randrange(-9, 9), f"p{rng.randrange(40):02}") for t in sorted(times)]


def asked_of(rng: random.Random) -> int:
    """A time, or an edge at which another minute is asked for."""
    edge = rng.randrange(2, 92) * MINUTE + 30 * SECOND
    return START + rng.choice((rng.randrange(SPAN), edge, edge - 1))


def stored(mine: list[tuple[int, Event]], u: str, rng: random.Random) -> EntityState:
    """What a job has written of the events of an entity."""
    fields = wide_fields(PLAN, LAYOUT, {"visits": mine}, rng) | session_fields(PLAN, LAYOUT, {"visits": mine}, rng)
    (last,) = (field for field in LAYOUT.lookups if field.name == "last")
    if mine:
        at, event = mine[-1]
        fields[last.hash_field] = encode_rank(at, last.columns, [event[c.name] for c in last.columns]).encode()
    replies = [[ring(PLAN, LAYOUT, {"visits": mine})], [fields.get(name) for name in LAYOUT.hash_fields]]
    (state,) = ReadRequest([(LAYOUT, (u,))]).parse(replies)
    return state


@pytest.mark.parametrize("seed", range(10))
def test_a_read_is_what_a_training_set_has(seed: int) -> None:
    rng = random.Random(seed)
    events = events_of(rng)
    asked = [(rng.choice("ab"), asked_of(rng)) for _ in range(20)]
    rows = testing.table(Minutes, events={"visits": events}, at=[{"u": u, "ts": t} for u, t in asked])
    wrong = []
    for (u, t), row in zip(asked, rows, strict=True):
        closed = (t - 30 * SECOND) // MINUTE * MINUTE
        behind = rng.randrange(3) * MINUTE
        as_of = closed - behind
        mine = [(e["ts"], e) for e in events if e["u"] == u and e["ts"] < as_of]
        state = stored(mine, u, rng)
        found = Finalizer(PLAN).values(state, t, dict.fromkeys(MARKS, (as_of,)))
        wanted = expected(events, u, as_of)
        wrong += [(u, t, name, found[name], wanted[name]) for name in CLOSED if found[name].value != wanted[name]]
        if state.exists:
            wrong += [(u, t, name, found[name]) for name in CLOSED if (found[name].status == "STALE") != (behind > 0)]
        if not behind:
            wrong += [(u, t, name, row[name], wanted[name]) for name in CLOSED if row[name] != wanted[name]]
    assert wrong == []
