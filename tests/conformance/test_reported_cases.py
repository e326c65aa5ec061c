"""The kinds of failure that users of other feature stores reported, on DuckDB and through the online layout."""

from __future__ import annotations

import random
from itertools import islice, permutations
from typing import Any

import duckdb
import pytest

from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.compilers.snapshot import snapshot
from featuredsl.evaluate import evaluate
from featuredsl.finalize import DEFAULT, EXPIRED, NOT_FOUND, NULL, OK, Finalizer
from featuredsl.online.codec import Tile, decode_ring, encode_ring
from featuredsl.online.request import EntityState
from featuredsl.tiles import store_layout, tile_tiers
from tests.conformance.cases import Case, D, H, Row, plan_of, row, us
from tests.conformance.cases_reported import REPORTED_CASES, US, Ages, Measures, Newest, Parts
from tests.conformance.test_online import state_before
from tests.conformance.test_snapshot import of_no_event
from tests.support.duckdb_tables import create

ORDERS = 24
STREAMED = [case for case in REPORTED_CASES if all(f.freshness == "realtime" for f in case.group.features)]
SMALL = [case for case in REPORTED_CASES if sum(map(len, case.events.values())) <= 5]


def connect(case: Case, rows: dict[str, list[Row]], threads: int = 1) -> duckdb.DuckDBPyConnection:
    """Views of the rows, and the labels of the case."""
    con = duckdb.connect(config={"threads": threads})
    for source in case.group.sources:
        cells = [
            [*(columns.get(name) for name in source.column_names), us(seconds)]
            for seconds, columns in rows[source.name]
        ]
        create(con, source.name, [*source.columns, ("ts_us", "int")], cells)
    labels = [[i, *key, us(seconds)] for i, (key, seconds, _) in enumerate(case.reads)]
    create(con, "labels", [("label_id", "int"), *case.group.entity, ("ts_us", "int")], labels)
    return con


def by_key(found: duckdb.DuckDBPyConnection, width: int) -> dict[tuple[Any, ...], dict[str, Any]]:
    names = [column[0].split("__", 1)[-1] for column in found.description]
    return {row[:width]: dict(zip(names, row, strict=True)) for row in found.fetchall()}


def check(case: Case, con: duckdb.DuckDBPyConnection) -> None:
    found = by_key(con.execute(point_in_time(case.group, DUCKDB)), 1)
    assert len(found) == len(case.reads)
    for i, (_, seconds, expected) in enumerate(case.reads):
        assert {name: found[(i,)][name] for name in expected} == expected, seconds


@pytest.mark.parametrize("case", REPORTED_CASES, ids=lambda case: case.name)
def test_training_set(case: Case) -> None:
    check(case, connect(case, dict(case.events)))


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_every_order_of_rows_gives_the_same(case: Case) -> None:
    """Loaded in any order, by one core or eight (feast#5163, OpenMLDB#1629, #2544)."""
    name = max(case.events, key=lambda source: len(case.events[source]))
    for i, rows in enumerate(islice(permutations(case.events[name]), ORDERS)):
        check(case, connect(case, {**case.events, name: list(rows)}, threads=8 if i % 2 else 1))


@pytest.mark.parametrize("case", REPORTED_CASES, ids=lambda case: case.name)
def test_snapshot(case: Case) -> None:
    """What a batch tier would publish at the times of the last reads."""
    con, width = connect(case, dict(case.events)), len(case.group.entity)
    for key, seconds, expected in case.reads[-6:]:
        found = by_key(con.execute(snapshot(case.group, DUCKDB, us(seconds), case.group.features)), width)
        if key in found:
            assert {name: found[key][name] for name in expected} == expected, seconds
        else:
            assert of_no_event(case.group, expected), seconds


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.name)
def test_online(case: Case) -> None:
    """Tiles and ranks through their bytes, in the order given and in another one."""
    finalizer = Finalizer(case.group)
    shuffled = {name: random.Random(7).sample(rows, len(rows)) for name, rows in case.events.items()}
    for given in (case, Case(case.name, case.group, shuffled, case.reads)):
        for key, seconds, expected in case.reads:
            values = finalizer.values(state_before(given, key, us(seconds)), us(seconds), {})
            assert {name: values[name].value for name in expected} == expected, (key, seconds)


def read(case: Case, key: tuple[Any, ...], seconds: float) -> dict[str, tuple[Any, str]]:
    """Value and status of every feature, online."""
    values = Finalizer(case.group).values(state_before(case, key, us(seconds)), us(seconds), {})
    return {name: (value.value, value.status) for name, value in values.items()}


def test_never_seen_and_null_and_nothing_are_told_apart() -> None:
    """feast#278: a key that was never seen, a null that was stored, a window with nothing in it."""
    parts = Case("", plan_of(Parts), {"events": [row(1)], "other": []}, [])
    assert read(parts, ("zz",), 9)["a"] == (None, NOT_FOUND)
    assert read(parts, ("a",), 9)["a"] == (None, NULL)
    window = Case("", plan_of(Measures), {"events": [row(1, x=3)]}, [])
    assert [read(window, ("zz",), 9)[n] for n in ("n", "average")] == [(0, NOT_FOUND), (None, NOT_FOUND)]
    assert [read(window, ("a",), 9)[n] for n in ("n", "average", "share")] == [(1, OK), (3.0, OK), (None, NULL)]
    assert [read(window, ("a",), D)[n] for n in ("n", "average")] == [(0, OK), (None, NULL)]


@pytest.mark.parametrize(
    ("seconds", "second", "hour", "week"),
    [
        (9 * H + 1, (4, OK), (4, OK), (4, OK)),
        (9 * H + 1 + US, (None, EXPIRED), (4, OK), (4, OK)),
        (9 * H + 17 * 60, (None, EXPIRED), (4, OK), (4, OK)),
        (10 * H, (None, EXPIRED), (4, OK), (4, OK)),
        (10 * H + US, (None, EXPIRED), (None, EXPIRED), (4, OK)),
        (8 * D, (None, EXPIRED), (None, EXPIRED), (None, EXPIRED)),
    ],
)
def test_what_is_expired_says_so(seconds: float, second: Any, hour: Any, week: Any) -> None:
    """feast#6821, #3596: never PRESENT, never another feature's age."""
    found = read(Case("", plan_of(Ages), {"events": [row(9 * H, x=4)]}, []), ("a",), seconds)
    assert (found["second"], found["hour"], found["week"]) == (second, hour, week)
    assert found["ever"] == (4, OK)
    assert found["week_or"] == ((-1, EXPIRED) if week[1] == EXPIRED else (4, OK))


def test_a_default_says_so() -> None:
    """A default is no value that was seen."""
    ages = Case("", plan_of(Ages), {"events": [row(1)]}, [])
    assert read(ages, ("a",), 2)["week_or"] == (-1, DEFAULT)
    assert read(ages, ("zz",), 2)["week_or"] == (-1, NOT_FOUND)


def test_means_of_more_rows_than_32_bits_count() -> None:
    """zipline#1292: two tiles with a sum of 3e9 over 1.5e9 rows each have the mean 2."""
    plan, layout = plan_of(Measures), store_layout(plan_of(Measures))
    (tier,) = layout.ring
    partials = tile_tiers(plan)[0].partials
    sums = {"n": 1_500_000_000, "total": 3_000_000_000}
    feature = {f.name: f for f in plan.features}
    rows: list[Tile] = []
    for index in (10, 11):
        columns: list[Any] = [None] * len(tier.columns)
        for name in ("n", "total", "average"):
            for partial in feature[name].aggregate.partials:  # type: ignore[union-attr]
                value = sums["total"] if evaluate(partial.lift, {"x": 7, "f": None, "s": None}) == 7 else sums["n"]
                columns[partials.index(partial)] = value
        rows.append(Tile(index, 1_500_000_000, index * 300_000_000, tuple(columns)))
    ring = decode_ring(layout, encode_ring(layout, {tier.name: rows}))
    values = Finalizer(plan).values(EntityState(True, ring, {}, {}), 12 * 300_000_000, {})
    assert (values["n"].value, values["total"].value) == (3_000_000_000, 6_000_000_000)
    assert values["average"].value == 2.0


def test_another_definition_has_another_place_in_the_store() -> None:
    """chronon#772: tiles of one definition are never read by the fields of another."""
    layouts = [store_layout(plan_of(group)) for group in (Newest, Parts, Measures, Ages)]
    assert len({layout.key(("a",), "X") for layout in layouts}) == len(layouts)
