"""Cases about sources: arrival times, duplicates, unions, tables, ties and edges. Same shape as `cases`.

Rows may carry `arrival`, in seconds after `T0`. A table's rows are listed under its name, at their valid-from time.
"""

from __future__ import annotations

from typing import Any

from featuredsl import EventSource, TableSource, feature, feature_group, union, window
from tests.conformance.cases import Case, D, H, Row, plan_of

M = 60.0
SCHEMA = {"u": str, "x": int}

timed = EventSource("timed", event_time="ts", schema=SCHEMA, time_unit="us", arrival_time="at")
numbered = EventSource("numbered", event_time="ts", schema=SCHEMA, time_unit="us", arrival_time="at", sequence="n")
once = EventSource(
    "once", event_time="ts", schema={"u": str, "id": str, "x": int}, time_unit="us", unique="id", sequence="n"
)
exact = EventSource("exact", event_time="ts", schema={"u": str, "x": int}, time_unit="us", unique=("u", "ts"))
within = EventSource(
    "within", event_time="ts", schema={"u": str, "id": str, "x": int}, time_unit="us", unique=("id", "u"), within="10m"
)
resent = EventSource(
    "resent",
    event_time="ts",
    schema={"u": str, "id": str, "x": int},
    time_unit="us",
    unique="id",
    arrival_time="at",
    within="1h",
)
web = EventSource("web", event_time="t", schema={"u": str, "page": str, "x": int}, time_unit="us")
app = EventSource("app", event_time="ts", schema={"x": int, "u": str, "screen": int}, time_unit="us", arrival_time="at")
anywhere = union("anywhere", web, app)
buys = EventSource("buys", event_time="ts", schema={"u": str, "item": str, "shop": str, "n": int}, time_unit="us")
items = TableSource(
    "items", key="item", valid_from="since", schema={"item": str, "price": int, "kind": str}, time_unit="us"
)
offers = TableSource(
    "offers", key=("item", "shop"), valid_from="since", schema={"item": str, "shop": str, "n": int}, time_unit="us"
)
pairs = EventSource("pair_events", event_time="ts", schema={"u": int, "m": int, "x": int}, time_unit="us")
texts = EventSource("texts", event_time="when", schema={"u": str, "unused": int, "s": str, "y": int}, time_unit="us")


@feature_group(name="arrived", entity="u", retention="3650d")
class Arrived:
    """What was known when."""

    @feature(freshness="realtime", window=window("1h", hop="5m"))
    def n(e: timed) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("1h", hop="5m"))
    def high(e: timed) -> int:
        return e.x.max()

    @feature(freshness="realtime", window=window("1h", hop="30m", offset="1h"))
    def before(e: timed) -> int:
        return e.count()

    @feature(freshness="1h", window="6h")
    def hourly(e: timed) -> int:
        return e.count()

    @feature(freshness="1d", window="1d")
    def daily(e: timed) -> int:
        return e.count()

    @feature(freshness="realtime")
    def last(e: timed) -> int:
        return e.latest().x

    @feature(freshness="1h", ttl="2h")
    def last_hourly(e: timed) -> int:
        return e.latest().x


@feature_group(name="numbers", entity="u", retention="3650d")
class Numbers:
    """A declared sequence comes before the arrival."""

    @feature(freshness="realtime")
    def last(e: numbered) -> int:
        return e.latest().x


@feature_group(name="unique", entity="u", retention="3650d")
class Unique:
    """Records that are one event."""

    @feature(freshness="realtime", window="1h")
    def n(e: once) -> int:
        return e.count()

    @feature(freshness="realtime", window="1h")
    def total(e: once) -> int:
        return e.x.sum()

    @feature(freshness="realtime")
    def last(e: once) -> int:
        return e.latest().x


@feature_group(name="exact_times", entity="u", retention="3650d")
class ExactTimes:
    """The event time is part of what makes records one event."""

    @feature(freshness="realtime", window="1h")
    def total(e: exact) -> int:
        return e.x.sum()


@feature_group(name="spaced", entity="u", retention="3650d")
class Spaced:
    """Records of one key are one event for ten minutes."""

    @feature(freshness="realtime", window=window("6h", hop="1h"))
    def n(e: within) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("6h", hop="1h"))
    def total(e: within) -> int:
        return e.x.sum()


@feature_group(name="resend", entity="u", retention="3650d")
class Resend:
    """The record that arrives first is the event."""

    @feature(freshness="realtime", window=window("6h", hop="1h"))
    def n(e: resent) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("6h", hop="1h"))
    def total(e: resent) -> int:
        return e.x.sum()


@feature_group(name="everywhere", entity="u", retention="3650d")
class Everywhere:
    """A union of a source with an arrival time and one without."""

    @feature(freshness="realtime", window="1h")
    def n(e: anywhere) -> int:
        return e.count()

    @feature(freshness="realtime")
    def last(e: anywhere) -> int:
        return e.latest().x


@feature_group(name="bought", entity="u", retention="3650d")
class Bought:
    """Columns of slowly changing tables."""

    @feature(freshness="realtime", window="1h")
    def spend(e: buys) -> int:
        j = e.join(items)
        return (j.price * j.n).sum()

    @feature(freshness="realtime", window="1h")
    def books(e: buys) -> int:
        return e.filter(e.n > 0).join(items, prefix="item_").item_kind.count()

    @feature(freshness="realtime")
    def last_kind(e: buys) -> str:
        return e.join(items).latest().kind

    @feature(freshness="1h")
    def offered(e: buys) -> int:
        return e.join(offers, prefix="offered_").offered_n.latest()

    @feature(freshness="realtime", window="1h")
    def n(e: buys) -> int:
        return e.count()


@feature_group(name="pair_keys", entity=("u", "m"), retention="3650d")
class PairKeys:
    """Two parts of a key."""

    @feature(freshness="realtime", window="1h")
    def n(e: pairs) -> int:
        return e.count()


@feature_group(name="plain_rows", entity="u", retention="3650d")
class PlainRows:
    """Lookups only, a time column of another name, a column that no feature reads."""

    @feature(freshness="realtime")
    def s(e: texts) -> str:
        return e.latest().s

    @feature(freshness="realtime")
    def y(e: texts) -> int:
        return e.latest().y

    @feature(freshness="realtime")
    def some_s(e: texts) -> str:
        return e.s.latest()

    @feature(freshness="1d", window=window("1d", hop="1d"))
    def yesterday(e: texts) -> int:
        return e.count()

    @feature(freshness="realtime", window=["1h", "1d"])
    def n(e: texts) -> int:
        return e.count()

    @feature(freshness="realtime", window=window("1d", hop="1h", offset="1d"))
    def day_before(e: texts) -> int:
        return e.count()


def known(at: float, arrived: float, x: int | None = 1, **more: Any) -> Row:
    """An event of user a that arrives at a time."""
    return at, {"u": "a", "x": x, "arrival": arrived, **more}


def sent(at: float, ident: str | None, x: int, **more: Any) -> Row:
    """An event of user a with an id."""
    return at, {"u": "a", "id": ident, "x": x, **more}


def text(at: float, s: str | None = None, y: int | None = None) -> Row:
    """A row of user a."""
    return at, {"u": "a", "unused": None, "s": s, "y": y}


def bought(at: float, item: str | None, n: int = 1, shop: str | None = "s", user: str = "a") -> Row:
    """A purchase."""
    return at, {"u": user, "item": item, "shop": shop, "n": n}


CASES: tuple[Case, ...] = (
    Case(
        "a row that arrived later does not leak into the past, and wins the tie once it is there",
        plan_of(Arrived),
        {"timed": [known(9 * H, 9 * H + M, 1), known(9 * H, 12 * H, 2)]},
        [
            (("a",), 9 * H + M, {"last": 1, "n": 1, "high": 1}),
            (("a",), 9 * H + M - 1e-6, {"last": None, "n": 0, "high": None}),
            (("a",), 10 * H, {"last": 1, "n": 1, "high": 1}),
            (("a",), 12 * H - 1e-6, {"last": 1}),
            (("a",), 12 * H, {"last": 2, "n": 0}),
            (("a",), 13 * H, {"last": 2}),
        ],
    ),
    Case(
        "late, across the end of its block: counts from its arrival, until it leaves the window",
        plan_of(Arrived),
        {"timed": [known(10 * H + 50 * M, 11 * H + 20 * M, 7), known(11 * H + M, 11 * H + M, 3)]},
        [
            (("a",), 11 * H + 10 * M, {"n": 1, "high": 3}),
            (("a",), 11 * H + 20 * M - 1e-6, {"n": 1, "high": 3}),
            (("a",), 11 * H + 20 * M, {"n": 2, "high": 7}),
            (("a",), 11 * H + 54 * M, {"n": 2, "high": 7}),
            (("a",), 11 * H + 55 * M, {"n": 1, "high": 3}),
            (("a",), 12 * H + 20 * M, {"n": 0, "before": 1}),
            (("a",), 12 * H + 30 * M, {"before": 2}),
            (("a",), 13 * H, {"before": 1}),
        ],
    ),
    Case(
        "later than its window: never counts there, counts in a longer one",
        plan_of(Arrived),
        {"timed": [known(8 * H, 10 * H, 5)]},
        [
            (("a",), 9 * H + 30 * M, {"n": 0, "before": 0}),
            (("a",), 10 * H, {"n": 0, "before": 1, "last": 5}),
            (("a",), 12 * H, {"hourly": 1}),
        ],
    ),
    Case(
        "a deferred tier knows what arrived by its query time and delay",
        plan_of(Arrived),
        {
            "timed": [
                known(5 * H, 6 * H + 600, 1),
                known(5 * H + M, 6 * H + 600.000001, 2),
                known(6 * H, 6 * H, 3),
            ]
        },
        [
            (("a",), 6 * H + 599, {"hourly": 0, "last_hourly": None}),
            (("a",), 6 * H + 600, {"hourly": 1, "last_hourly": 1}),
            (("a",), 7 * H, {"hourly": 1, "last_hourly": 1}),
            (("a",), 7 * H + 600, {"hourly": 3, "last_hourly": 3}),
            (("a",), 9 * H + 600, {"last_hourly": None}),
            (("a",), D + H, {"daily": 3}),
        ],
    ),
    Case(
        "a late row of yesterday counts for yesterday only; run to 10:00, then to 10:05",
        plan_of(Arrived),
        {"timed": [known(9 * H + 58 * M, 10 * H + 3 * M, 4)]},
        [(("a",), 10 * H, {"n": 0, "last": None}), (("a",), 10 * H + 5 * M, {"n": 1, "last": 4})],
    ),
    Case(
        "an event time ahead of the arrival still waits for the event time",
        plan_of(Arrived),
        {"timed": [known(2 * H, 1 * H, 6)]},
        [(("a",), 2 * H, {"n": 0, "last": None}), (("a",), 2 * H + 1e-6, {"n": 1, "last": 6})],
    ),
    Case(
        "the sequence decides before the value, nulls lowest; the arrival only where there is none",
        plan_of(Numbers),
        {"numbered": [known(10, 30, 9, n=1), known(10, 20, 5, n=2), known(10, 40, 7, n=None)]},
        [(("a",), 25, {"last": 5}), (("a",), 50, {"last": 5})],
    ),
    Case(
        "one event: the first by time, then sequence, then value; a null id is an event of its own",
        plan_of(Unique),
        {
            "once": [
                sent(20, "p", 2, n=1),
                sent(10, "p", 1, n=2),
                sent(10, "p", 8, n=1),
                sent(10, "p", 3, n=1),
                sent(30, "q", 4, n=None),
                sent(30, "q", 5, n=1),
                sent(40, None, 6, n=1),
                sent(40, None, 6, n=1),
                sent(3000, "p", 7, n=0),
            ]
        },
        [
            (("a",), 10, {"n": 0, "total": None, "last": None}),
            (("a",), 11, {"n": 1, "total": 3, "last": 3}),
            (("a",), 31, {"n": 2, "total": 7, "last": 4}),
            (("a",), 3100, {"n": 4, "total": 19, "last": 6}),
        ],
    ),
    Case(
        "the event time in the key: one event a user and time, the least row",
        plan_of(ExactTimes),
        {
            "exact": [
                (10, {"u": "a", "x": 4}),
                (10, {"u": "a", "x": 2}),
                (11, {"u": "a", "x": 1}),
                (10, {"u": "b", "x": 8}),
            ]
        },
        [(("a",), 60, {"total": 3}), (("b",), 60, {"total": 8}), (("a",), 11, {"total": 2})],
    ),
    Case(
        "one key, two users: the event is that of the first record",
        plan_of(Unique),
        {"once": [sent(10, "p", 1, n=1), (20, {"u": "b", "id": "p", "x": 2, "n": 1})]},
        [(("a",), 60, {"n": 1}), (("b",), 60, {"n": 0, "last": None})],
    ),
    Case(
        "within: later than ten minutes after the kept one is a new event, however the others lie between",
        plan_of(Spaced),
        {
            "within": [
                sent(0, "p", 1),
                sent(5 * M, "p", 2),
                sent(10 * M, "p", 4),
                sent(10 * M + 1e-6, "p", 8),
                sent(15 * M, "p", 16),
                sent(20 * M + 2e-6, "p", 32),
                sent(20 * M + 2e-6, "p", 64),
                sent(H, "p", 128),
                sent(H, None, 256),
                sent(H, None, 512),
            ]
        },
        [
            (("a",), 10 * M + 1e-6, {"n": 1, "total": 1}),
            (("a",), 20 * M, {"n": 2, "total": 9}),
            (("a",), 30 * M, {"n": 3, "total": 41}),
            (("a",), 2 * H, {"n": 6, "total": 41 + 128 + 256 + 512}),
        ],
    ),
    Case(
        "a duplicate that arrives later neither hides nor replaces the first, though its time is earlier",
        plan_of(Resend),
        {
            "resent": [
                sent(H, "p", 1, arrival=H + M),
                sent(H - M, "p", 2, arrival=H + 2 * M),
                sent(H, "p", 4, arrival=2 * H + M),
                sent(H, "p", 8, arrival=2 * H + M + 1e-6),
            ]
        },
        [
            (("a",), H + 30, {"n": 0}),
            (("a",), H + M, {"n": 1, "total": 1}),
            (("a",), H + 5 * M, {"n": 1, "total": 1}),
            (("a",), 2 * H + M, {"n": 1, "total": 1}),
            (("a",), 2 * H + 2 * M, {"n": 2, "total": 9}),
        ],
    ),
    Case(
        "a union: columns in another order, each source with its own arrival",
        plan_of(Everywhere),
        {
            "web": [(10, {"u": "a", "page": "p", "x": 1}), (30, {"u": "b", "page": "p", "x": 9})],
            "app": [
                (10, {"u": "a", "screen": 1, "x": 0, "arrival": 20}),
                (15, {"u": "a", "screen": 1, "x": 3, "arrival": 15}),
            ],
        },
        [
            (("a",), 15, {"n": 1, "last": 1}),
            (("a",), 16, {"n": 2, "last": 3}),
            (("a",), 60, {"n": 3, "last": 3}),
            (("b",), 60, {"n": 1, "last": 9}),
        ],
    ),
    Case(
        "a union: of equal times the later arrival wins",
        plan_of(Everywhere),
        {
            "web": [(10, {"u": "a", "page": "p", "x": 7})],
            "app": [(10, {"u": "a", "screen": 1, "x": 2, "arrival": 20})],
        },
        [(("a",), 15, {"last": 7}), (("a",), 20, {"last": 2})],
    ),
    Case(
        "a table: the row valid from at or before the event; greatest of equal rows; null key, no row",
        plan_of(Bought),
        {
            "buys": [
                bought(100, "p", 2),
                bought(200, "p", 1),
                bought(200, "q", 1),
                bought(300, None, 1),
                bought(99, "p", 50, user="b"),
            ],
            "items": [
                (100, {"item": "p", "price": 10, "kind": "book"}),
                (200, {"item": "p", "price": 3, "kind": "toy"}),
                (200, {"item": "p", "price": 3, "kind": None}),
                (200, {"item": "p", "price": None, "kind": "zoo"}),
                (201, {"item": "q", "price": 99, "kind": "late"}),
                (0, {"item": None, "price": 77, "kind": "null"}),
            ],
            "offers": [],
        },
        [
            (("a",), 200, {"spend": 20, "books": 1, "last_kind": "book", "n": 1}),
            (("a",), 201, {"spend": 23, "books": 2, "last_kind": None, "n": 3}),
            (("a",), 400, {"spend": 23, "books": 2, "last_kind": None, "n": 4}),
            (("b",), 400, {"spend": None, "books": 0, "last_kind": None, "n": 1}),
        ],
    ),
    Case(
        "a table with two key columns and a prefix; a null part never matches; later changes count for nothing",
        plan_of(Bought),
        {
            "buys": [bought(10, "p", shop="s"), bought(20, "p", shop=None), bought(30, "p", shop="t")],
            "items": [],
            "offers": [
                (0, {"item": "p", "shop": "s", "n": 5}),
                (40, {"item": "p", "shop": "t", "n": 6}),
                (0, {"item": "p", "shop": None, "n": 7}),
            ],
        },
        [(("a",), 2 * H, {"offered": 5}), (("a",), 60, {"offered": None, "n": 3, "spend": None})],
    ),
    Case(
        "composite key with one null part: neither the event nor anything else matches it",
        plan_of(PairKeys),
        {
            "pair_events": [
                (1, {"u": 1, "m": None, "x": 1}),
                (1, {"u": 1, "m": 2, "x": 1}),
                (1, {"u": 1, "m": 2, "x": 1}),
            ]
        },
        [((1, 2), 10, {"n": 2}), ((1, 3), 10, {"n": 0})],
    ),
    Case(
        "columns stand where they belong; empty text is not null",
        plan_of(PlainRows),
        {"texts": [text(1, "s", 4), text(2, "", None), text(3, None, None)]},
        [
            (("a",), 2, {"s": "s", "y": 4, "some_s": "s"}),
            (("a",), 3, {"s": "", "y": None, "some_s": ""}),
            (("a",), 4, {"s": None, "y": None, "some_s": ""}),
        ],
    ),
    Case(
        "a day ends before midnight",
        plan_of(PlainRows),
        {"texts": [text(D - 0.001, "x"), text(D, "y"), text(0, "z")]},
        [(("a",), D + H, {"yesterday": 2}), (("a",), 2 * D + H, {"yesterday": 1})],
    ),
    Case(
        "asked before the stored rows: nothing of the future; a late row stays out of the short window",
        plan_of(PlainRows),
        {"texts": [text(100), text(101), text(10.5 * H)]},
        [
            (("a",), 99, {"n_1h": 0, "n_1d": 0}),
            (("a",), 12 * H, {"n_1h": 0, "n_1d": 3}),
        ],
    ),
    Case(
        "a window in the past leaves out now",
        plan_of(PlainRows),
        {"texts": [text(3 * D), text(3 * D - 36 * H)]},
        [(("a",), 3 * D, {"day_before": 1}), (("a",), 3 * D + 1, {"day_before": 1})],
    ),
)
