"""The data and definitions of the history benchmark; no side knows another."""

from __future__ import annotations

from pathlib import Path

import duckdb

DAYS_US = 30 * 86_400_000_000
T0_US = 1_767_225_600_000_000
LABELS_PER_EVENT = 4

LOOKUPS = """from featuredsl import EventSource, feature, feature_group

users = EventSource("users", event_time="ts", schema={"user": int, "price": float, "n": int}, time_unit="us")
items = EventSource("items", event_time="ts", schema={"item": int, "stock": int}, time_unit="us")


@feature_group(name="u", entity="user")
class Users:
    @feature(freshness="realtime", ttl="7d")
    def price(e: users) -> float:
        return e.latest().price

    @feature(freshness="realtime", ttl="7d")
    def n(e: users) -> int:
        return e.latest().n


@feature_group(name="i", entity="item")
class Items:
    @feature(freshness="realtime", ttl="1d")
    def stock(e: items) -> int:
        return e.latest().stock
"""
WINDOWS = """from featuredsl import EventSource, feature, feature_group

users = EventSource("users", event_time="ts", schema={"user": int, "price": float, "n": int}, time_unit="us")


@feature_group(name="u", entity="user")
class Users:
    @feature(freshness="realtime", window=["1h", "1d", "7d"])
    def count(e: users) -> int:
        return e.count()

    @feature(freshness="realtime", window=["1h", "1d", "7d"])
    def spent(e: users) -> float:
        return e.price.sum()

    @feature(freshness="realtime", window=["1d", "7d"])
    def most(e: users) -> int:
        return e.n.max()

    @feature(freshness="realtime", ttl="7d")
    def price(e: users) -> float:
        return e.latest().price
"""


def generate(folder: Path, events: int) -> None:
    """Events of 30 days at unique odd microseconds, a fifth of them of one user; labels at even ones."""
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    keys = max(events // 50, 10)
    step = DAYS_US // events // 2 * 2
    moment = f"make_timestamptz({T0_US} + {{i}} * {step} + {{odd}})"
    user = f"CASE WHEN hash(i, 1) % 5 = 0 THEN 0 ELSE hash(i, 2) % {keys} END::BIGINT"
    tables = {
        "users": f"{user} AS user, (hash(i, 3) % 100000) / 128 AS price, (hash(i, 4) % 1000)::BIGINT AS n, "
        f"{moment.format(i='i', odd=1)} AS ts FROM range({events}) r(i)",
        "items": f"(hash(i, 5) % {keys})::BIGINT AS item, (hash(i, 6) % 1000)::BIGINT AS stock, "
        f"{moment.format(i='i', odd=1)} AS ts FROM range({events}) r(i)",
        "labels": f"{user} AS user, (hash(i, 7) % {keys})::BIGINT AS item, i AS number, "
        f"{moment.format(i=f'(hash(i, 8) % {events})::BIGINT', odd=step // 4 * 2)} AS ts "
        f"FROM range({events // LABELS_PER_EVENT}) r(i)",
    }
    for name, query in tables.items():
        order = "hash(i, 9)" if name != "labels" else "i"
        con.execute(f"COPY (SELECT {query} ORDER BY {order}) TO '{folder / name}.parquet' (FORMAT parquet)")
    (folder / "lookups.py").write_text(LOOKUPS, encoding="utf-8")
    (folder / "windows.py").write_text(WINDOWS, encoding="utf-8")
