"""Sources with arrival times, duplicates, unions and tables on DuckDB against plain loops over the records."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pytest

from featuredsl import EventSource, TableSource, feature, feature_group, lifetime, tumbling, union, window
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.compilers.snapshot import snapshot
from featuredsl.plan import GroupPlan, inputs_of
from featuredsl.wide.program import wide_program
from featuredsl.wide_history import wide_values
from tests.support import source_oracle as oracle
from tests.support.source_oracle import Record, Stream

SECOND, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000
TUMBLING = 40 * MINUTE
WHOLE = ("realtime", TUMBLING, TUMBLING)
T0 = 1_767_225_600 * SECOND
SCHEMA = {"u": str, "x": int, "c": str}
TYPES = {"int": "BIGINT", "float": "DOUBLE", "str": "VARCHAR", "bool": "BOOLEAN"}

plain = EventSource("plain", event_time="ts", schema=SCHEMA, time_unit="us")
timed = EventSource("timed", event_time="ts", schema=SCHEMA, time_unit="us", arrival_time="at")
once = EventSource("once", event_time="ts", schema=SCHEMA, time_unit="us", unique=("x", "c"), sequence="n")
spaced = EventSource("spaced", event_time="ts", schema=SCHEMA, time_unit="us", unique=("c", "u"), within="10m")
both = EventSource(
    "both", event_time="ts", schema=SCHEMA, time_unit="us", unique="c", within="5m", arrival_time="at", sequence="n"
)
mixed = union("mixed", spaced, timed, plain)
items = TableSource("items", key="c", valid_from="since", schema={"c": str, "price": int, "kind": str}, time_unit="us")

STREAMS = {
    "plain": Stream(("u", "x", "c")),
    "timed": Stream(("u", "x", "c"), arrival=True),
    "once": Stream(("u", "x", "c", "n"), sequence="n", unique=("x", "c")),
    "spaced": Stream(("u", "x", "c"), unique=("c", "u"), within=10 * MINUTE),
    "both": Stream(("u", "x", "c", "n"), sequence="n", arrival=True, unique=("c",), within=5 * MINUTE),
}
WINDOWS: dict[str, tuple[str, int, int, int]] = {
    "short": ("realtime", 60 * MINUTE, 5 * MINUTE, 0),
    "odd": ("realtime", 35 * MINUTE, 5 * MINUTE, 0),
    "back": ("realtime", 30 * MINUTE, 10 * MINUTE, 20 * MINUTE),
    "deferred": ("1h", 3 * HOUR, HOUR, 0),
    "closed": ("5m", 20 * MINUTE, MINUTE, 0),
}


def group(source: EventSource) -> GroupPlan:
    """Aggregates and lookups of every kind of window and tier."""

    def declare(name: str, body: Any, kind: type, **options: Any) -> Any:
        body.__name__, body.__annotations__ = name, {"e": source, "return": kind}
        return feature(**options)(body)

    members = {}
    for name, (tier, size, hop, offset) in WINDOWS.items():
        body = (lambda e: e.x.max()) if name == "back" else (lambda e: e.x.sum())
        members[name] = declare(name, body, int, freshness=tier, window=window(size, hop=hop, offset=offset or None))
    members["whole"] = declare("whole", lambda e: e.x.sum(), int, freshness="realtime", window=tumbling("40m"))
    members["ever"] = declare("ever", lambda e: e.count(), int, freshness="1h", window=lifetime)
    members["last"] = declare("last", lambda e: e.latest().c, str, freshness="realtime")
    members["young"] = declare("young", lambda e: e.filter(e.x > 3).x.latest(), int, freshness="1h", ttl="2h")
    plan: GroupPlan = feature_group(name="g", entity="u")(type("G", (), members)).plan
    return plan


def expected(stream: Stream, events: Sequence[Record], key: str, t: int, as_known: bool) -> dict[str, Any]:
    """What the group is worth."""
    mine = [r for r in events if r["u"] == key]
    found: dict[str, Any] = {}
    for name, (tier, size, hop, offset) in WINDOWS.items():
        seen = oracle.known(stream, mine, t, tier, as_known)
        values = [r["x"] for r in oracle.window(seen, t, tier, size, hop, offset) if r["x"] is not None]
        found[name] = None if not values else max(values) if name == "back" else sum(values)
    whole = oracle.window(oracle.known(stream, mine, t, "realtime", as_known), t // TUMBLING * TUMBLING, *WHOLE)
    values = [r["x"] for r in whole if r["x"] is not None]
    found["whole"] = sum(values) if values else None
    found["ever"] = len(oracle.known(stream, mine, t, "1h", as_known))
    last = oracle.latest(stream, oracle.known(stream, mine, t, "realtime", as_known), t, "realtime", None)
    found["last"] = None if last is None else last["c"]
    filtered = Stream(("x",), stream.sequence, stream.arrival)
    big = [r for r in oracle.known(stream, mine, t, "1h", as_known) if r["x"] is not None and r["x"] > 3]
    young = oracle.latest(filtered, big, t, "1h", 2 * HOUR)
    found["young"] = None if young is None else young["x"]
    return found


def records(rng: random.Random, count: int, lag: int) -> list[Record]:
    """Records of four hours with many ties; `lag` bounds how long they take to arrive."""
    made = []
    for _ in range(count):
        ts = T0 + rng.randrange(240) * MINUTE + rng.choice((0, 0, 0, 1, rng.randrange(MINUTE)))
        late = rng.choice((0, 0, rng.randrange(lag + 1), rng.randrange(lag // 10 + 1), -5 * SECOND))
        row = {"u": rng.choice("aaab"), "x": rng.choice((None, *range(9))), "c": rng.choice((None, *"pqrs"))}
        made.append(row | {"ts": ts, "arrival": ts + late, "n": rng.choice((None, 1, 2))})
    return made


def connect(plans: GroupPlan, rows: Mapping[str, Sequence[Record]]) -> duckdb.DuckDBPyConnection:
    """Views of the inputs."""
    con = duckdb.connect()
    for name, source in inputs_of([plans]).items():
        fields = [*source.columns, *((time, "int") for time in source.time_columns)]
        con.execute(f'CREATE TABLE "{name}" ({", ".join(f"{n} {TYPES[t]}" for n, t in fields)})')
        cells = [[{**r, "ts_us": r["ts"], "arrival_us": r.get("arrival")}[n] for n, _ in fields] for r in rows[name]]
        if cells:
            con.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" for _ in fields)})', cells)
    return con


def asked(rng: random.Random, count: int) -> list[tuple[str, int]]:
    times = [T0 + rng.randrange(420) * MINUTE + rng.choice((0, 0, 1, rng.randrange(MINUTE))) for _ in range(count)]
    return [(rng.choice("aab"), t) for t in times]


def answers(
    con: duckdb.DuckDBPyConnection, plan: GroupPlan, labels: Sequence[tuple[str, int]], as_known: bool = True
) -> list[dict[str, Any]]:
    con.execute("CREATE OR REPLACE TABLE labels (label_id BIGINT, u VARCHAR, ts_us BIGINT)")
    con.executemany("INSERT INTO labels VALUES (?, ?, ?)", [[i, *label] for i, label in enumerate(labels)])
    found = con.execute(point_in_time(plan, DUCKDB, as_known=as_known) + " ORDER BY label_id")
    names = [column[0].split("__", 1)[-1] for column in found.description]
    return [dict(zip(names[1:], row[1:], strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("lag", [10 * MINUTE, 90 * MINUTE, 10 * HOUR])
@pytest.mark.parametrize("source", [plain, timed, once, spaced, both], ids=lambda source: source.name)
def test_source(source: EventSource, lag: int) -> None:
    rng = random.Random(f"{source.name}{lag}")
    plan, stream = group(source), STREAMS[source.name]
    rows = records(rng, 300, lag)
    labels = asked(rng, 200)
    con, events = connect(plan, {source.name: rows}), stream.events(rows)
    for as_known in (True, False):
        found = answers(con, plan, labels, as_known)
        assert found == [expected(stream, events, key, t, as_known) for key, t in labels]
    at = labels[0][1]
    names = [name.split("__", 1)[-1] for name in ("u", *(f"g__{f.name}" for f in plan.features))]
    by_key = {
        row[0]: dict(zip(names[1:], row[1:], strict=True))
        for row in con.execute(snapshot(plan, DUCKDB, at, plan.features)).fetchall()
    }
    for key, values in by_key.items():
        assert values == expected(stream, events, key, at, True)
    assert by_key


@pytest.mark.parametrize("source", [timed, both, mixed], ids=lambda source: source.name)
def test_wide(source: EventSource) -> None:
    """The sweep waits for what arrives late, and reads unions and repeats like SQL does."""
    rng = random.Random(f"wide {source.name}")

    @feature_group(name="g", entity="u")
    class Wide:
        @feature(freshness="realtime", window=window("1h", hop="5m"))
        def earliest(e: source) -> int:
            return e.filter(e.x > 1).x.first()

        @feature(freshness="1h", window=window("3h", hop="1h"))
        def newest(e: source) -> list[str]:
            return e.c.last_k(3)

    plan: GroupPlan = Wide.plan  # type: ignore[attr-defined]
    rows = {name: records(rng, 200, 2 * HOUR) for name in inputs_of([plan])}
    stream = Stream(("x",), "n" if source is both else None, arrival=True)
    events = []
    for name, found in rows.items():
        kept = STREAMS[name].events(found)
        events += [r if STREAMS[name].arrival else r | {"arrival": r["ts"]} for r in kept]
    labels = asked(rng, 150)
    con = connect(plan, rows)
    answers(con, plan, labels)
    program = wide_program(plan)
    assert program is not None
    values = {row[0]: row[1:] for row in wide_values(con, plan, program)}
    for number, (key, t) in enumerate(labels):
        mine = [r for r in events if r["u"] == key]
        hour = oracle.window(oracle.known(stream, mine, t, "realtime"), t, "realtime", HOUR, 5 * MINUTE)
        big = [r for r in hour if r["x"] is not None and r["x"] > 1]
        first = min(big, key=lambda r: (r["ts"], stream.rank(r)), default=None)
        three = oracle.window(oracle.known(stream, mine, t, "1h"), t, "1h", 3 * HOUR, HOUR)
        by_c = Stream(("c",), stream.sequence, arrival=True)
        newest = sorted((r for r in three if r["c"]), key=lambda r: (r["ts"], by_c.rank(r)), reverse=True)[:3]
        assert values[number] == (None if first is None else first["x"], [r["c"] for r in newest] or None)


def test_union() -> None:
    rng = random.Random(5)
    plan = group(mixed)
    rows = {name: records(rng, 150, 2 * HOUR) for name in ("spaced", "timed", "plain")}
    events = []
    for name, found in rows.items():
        kept = STREAMS[name].events(found)
        events += [r if STREAMS[name].arrival else r | {"arrival": r["ts"]} for r in kept]
    labels = asked(rng, 200)
    stream = Stream(("u", "x", "c"), arrival=True)
    assert answers(connect(plan, rows), plan, labels) == [expected(stream, events, key, t, True) for key, t in labels]


@feature_group(name="g", entity="u")
class Priced:
    """Features over the columns of a table."""

    @feature(freshness="realtime", window=window("1h", hop="5m"))
    def spend(e: spaced) -> int:
        return e.join(items).price.sum()

    @feature(freshness="realtime", window=window("1h", hop="5m"))
    def books(e: spaced) -> int:
        j = e.join(items, prefix="item_")
        return j.filter(j.item_kind == "book").count()

    @feature(freshness="realtime")
    def last_kind(e: spaced) -> str:
        return e.join(items).kind.latest()


def test_table() -> None:
    rng = random.Random(9)
    plan: GroupPlan = Priced.plan  # type: ignore[attr-defined]
    rows, stream = records(rng, 400, HOUR), STREAMS["spaced"]
    changes = [
        {"c": rng.choice((None, *"pqr")), "price": rng.choice((None, 1, 5)), "kind": rng.choice((None, "book", "toy"))}
        | {"ts": T0 + rng.randrange(-10, 240) * MINUTE}
        for _ in range(200)
    ]
    labels = asked(rng, 200)
    found = answers(connect(plan, {"spaced": rows, "items": changes}), plan, labels)
    events = [r | oracle.row_at(changes, ("price", "kind"), (r["c"],), ("c",), r["ts"]) for r in stream.events(rows)]
    some = 0
    for values, (key, t) in zip(found, labels, strict=True):
        seen = [r for r in oracle.known(stream, events, t, "realtime") if r["u"] == key]
        inside = oracle.window(seen, t, "realtime", HOUR, 5 * MINUTE)
        prices = [r["price"] for r in inside if r["price"] is not None]
        kinds = [r for r in seen if r["kind"] is not None]
        last = oracle.latest(Stream(("kind",)), kinds, t, "realtime", None)
        assert values == {
            "spend": sum(prices) if prices else None,
            "books": sum(r["kind"] == "book" for r in inside),
            "last_kind": None if last is None else last["kind"],
        }
        some += bool(prices)
    assert some > 100
