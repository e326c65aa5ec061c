"""A SQL job over the parts of our Flink connector, its events, and a recount of what it must have written."""

from __future__ import annotations

import json
import random
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from featuredsl.online.codec import Rank, Tile, encode_rank, encode_ring
from featuredsl.online.layout import Column, LookupField, RingTier, StoreLayout, WideTier
from featuredsl.online.wide_codec import WideTile, encode_wide_tile
from featuredsl.settings import Settings

START_MS = 1_700_000_100_000
SPAN_MS = 3_000_000
LAYOUT = StoreLayout(
    group="g",
    version="v1",
    entity=(Column("u", "str"), Column("item", "int")),
    ring=(
        RingTier("events/5m", 300_000_000, 20, (Column("n", "int"), Column("q", "int"), Column("x", "float"))),
        RingTier("events/1m", 60_000_000, 60, (Column("n", "int"),)),
    ),
    lookups=(LookupField("last", (Column("q", "int"), Column("s", "str"))), LookupField("s", (Column("s", "str"),))),
    batch=(),
    expire_after_us=0,
    wide=(WideTier("events/5m", 300_000_000, 20, 3),),
)
SELECTED = {"events/5m": "COUNT(x), SUM(q), MAX(x)", "events/1m": "COUNT(q)"}
TYPES = {"int": "BIGINT", "float": "DOUBLE"}
Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ConnectorJob:
    """Where one job reads and writes; `run` tells two starts over the same topic apart."""

    settings: Settings
    redis: str
    run: str

    @property
    def topic(self) -> str:
        """Input; rejected records go to `<topic>.dlq`."""
        return f"{self.settings.prefix}events"

    @property
    def config(self) -> dict[str, Any]:
        """What `jobs.flink.sql_job` wants."""
        group = f"{self.topic}-{self.run}"
        return {
            "name": group,
            "kafka": self.settings.kafka,
            "group_id": group,
            "topics": [self.topic],
            "restart_attempts": 0,
            "statements": statements(self.topic, group, self.settings.kafka, self.redis),
        }


def _with(options: Mapping[str, object]) -> str:
    return "WITH (" + ", ".join(f"'{name}'='{value}'" for name, value in options.items()) + ")"


def statements(topic: str, group: str, kafka: str, redis_url: str) -> list[str]:
    """DDL, then the INSERTs: dead letters, two ring tiers, a wide tier, latest values."""
    broker = {"connector": "kafka", "properties.bootstrap.servers": kafka}
    source = {
        **broker,
        "topic": topic,
        "properties.group.id": group,
        "scan.startup.mode": "earliest-offset",
        "format": "featuredsl-json",
        "featuredsl-json.required": "u",
    }
    dead = {**broker, "topic": f"{topic}.dlq", "format": "json", "properties.max.request.size": 8 * 1024 * 1024}
    return [
        "CREATE TEMPORARY SYSTEM FUNCTION fdsl_key AS 'dev.featuredsl.flink.KeyFunction'",
        "CREATE TEMPORARY SYSTEM FUNCTION fdsl_rank AS 'dev.featuredsl.flink.RankFunction'",
        "CREATE TEMPORARY SYSTEM FUNCTION fdsl_wide AS 'dev.featuredsl.flink.wide.WideFunction'",
        "CREATE TABLE events (u STRING, item BIGINT, q BIGINT, x DOUBLE, s STRING, o STRING, b BOOLEAN, i INT, "
        "_reject STRING, _detail STRING, _payload STRING, _sha256 STRING, _heartbeat BOOLEAN, _ts BIGINT, "
        "_partition INT METADATA FROM 'partition' VIRTUAL, _offset BIGINT METADATA FROM 'offset' VIRTUAL, "
        "rt AS TO_TIMESTAMP_LTZ(COALESCE(_ts, 0) / 1000, 3), WATERMARK FOR rt AS rt - INTERVAL '10' SECOND) "
        + _with(source),
        "CREATE TABLE dead (topic STRING, `partition` INT, `offset` BIGINT, reason STRING, detail STRING, "
        "payload STRING, sha256 STRING) " + _with(dead),
        *(_ring_table(tier, redis_url) for tier in LAYOUT.ring),
        _wide_table(LAYOUT.wide[0], redis_url),
        "CREATE TABLE latest (k STRING, ts BIGINT, f0 STRING, f1 STRING, PRIMARY KEY (k) NOT ENFORCED) "
        + _with(
            {
                "connector": "featuredsl-redis",
                "mode": "fields",
                "url": redis_url,
                "key-prefix": LAYOUT.key_prefix,
                "fields": ";".join(lookup.hash_field for lookup in LAYOUT.lookups),
            }
        ),
        f"INSERT INTO dead SELECT '{topic}', _partition, _offset, _reject, _detail, _payload, _sha256 FROM events "
        "WHERE _reject IS NOT NULL",
        *(_ring_insert(tier) for tier in LAYOUT.ring),
        _wide_insert(LAYOUT.wide[0]),
        "INSERT INTO latest SELECT fdsl_key(u, item), MAX(_ts), MAX(fdsl_rank(_ts, q, s)), "
        "MAX(CASE WHEN s IS NOT NULL THEN fdsl_rank(_ts, s) END) FROM events "
        "WHERE _reject IS NULL AND _heartbeat IS NOT TRUE GROUP BY fdsl_key(u, item)",
    ]


def _table_name(tier: RingTier) -> str:
    return tier.name.replace("/", "_")


def _ring_table(tier: RingTier, redis_url: str) -> str:
    columns = ", ".join(f"c{i} {TYPES[column.dtype]}" for i, column in enumerate(tier.columns))
    options = {
        "connector": "featuredsl-redis",
        "mode": "ring",
        "url": redis_url,
        "key-prefix": LAYOUT.key_prefix,
        "header": LAYOUT.header().hex(),
        "offset": LAYOUT.offset(tier.name),
        "slots": tier.slots,
        "slot-size": tier.slot_size,
        "total-size": LAYOUT.total_size,
        "hop": tier.hop_us,
    }
    return (
        f"CREATE TABLE {_table_name(tier)} (k STRING, tile BIGINT, n BIGINT, hwm BIGINT, {columns}, "
        f"PRIMARY KEY (k, tile) NOT ENFORCED) {_with(options)}"
    )


def _ring_insert(tier: RingTier) -> str:
    return (
        f"INSERT INTO {_table_name(tier)} SELECT fdsl_key(u, item), _ts / {tier.hop_us}, COUNT(*), MAX(_ts), "
        f"{SELECTED[tier.name]} FROM events WHERE _reject IS NULL AND _heartbeat IS NOT TRUE "
        f"GROUP BY fdsl_key(u, item), _ts / {tier.hop_us}"
    )


def _wide_table(tier: WideTier, redis_url: str) -> str:
    options = {
        "connector": "featuredsl-redis",
        "mode": "tiles",
        "url": redis_url,
        "key-prefix": LAYOUT.key_prefix,
        "field-prefix": tier.field_prefix,
        "slots": tier.slots,
        "hop": tier.hop_us,
    }
    return (
        "CREATE TABLE wide (k STRING, tile BIGINT, n BIGINT, hwm BIGINT, s0 BYTES, s1 BYTES, s2 BYTES, "
        f"PRIMARY KEY (k, tile) NOT ENFORCED) {_with(options)}"
    )


def _wide_insert(tier: WideTier) -> str:
    return (
        f"INSERT INTO wide SELECT fdsl_key(u, item), _ts / {tier.hop_us}, COUNT(*), MAX(_ts), "
        "fdsl_wide('most_frequent', '{}', s IS NOT NULL, _ts, s), "
        "fdsl_wide('last_k', '{\"k\":3}', q > 0, _ts, q, q), fdsl_wide('min', '{}', s IS NOT NULL, _ts, s) "
        f"FROM events WHERE _reject IS NULL AND _heartbeat IS NOT TRUE GROUP BY fdsl_key(u, item), _ts / {tier.hop_us}"
    )


def random_events(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Events in no order, some of them twice, with keys and texts that need escaping."""
    events = [
        {
            "ts": START_MS + rng.randrange(SPAN_MS),
            "u": rng.choice(["a|b", "100%", "{x}", "é", ""]),
            "item": rng.randrange(-3, 3),
            "q": rng.choice([None, rng.randrange(-5, 5), 2**53 + 1]),
            "x": rng.choice([None, rng.random(), -1e300]),
            "s": rng.choice([None, "a", "a\0", "\uffff", "\U00010000"]),
            "o": {"k": [1, 2.50]},
        }
        for _ in range(count)
    ]
    return events + rng.sample(events, count // 10)


def wire(event: Event) -> bytes:
    """The record of an event."""
    return json.dumps(event).encode()


def recount(events: Iterable[Event]) -> dict[bytes, object]:
    """Everything that Redis must hold: bytes of each ring, fields of each hash."""
    groups: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for event in events:
        groups[event["u"], event["item"]].append(event)
    content: dict[bytes, object] = {}
    for key, mine in groups.items():
        content[LAYOUT.key(key, "R").encode()] = encode_ring(LAYOUT, {t.name: _tiles(t, mine) for t in LAYOUT.ring})
        content[LAYOUT.key(key, "X").encode()] = _latest(mine) | states(mine)
    return content


def _by_tile(hop_us: int, events: Iterable[Event]) -> list[tuple[int, list[Event]]]:
    by_tile: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        by_tile[event["ts"] * 1000 // hop_us].append(event)
    return sorted(by_tile.items())


def _tiles(tier: RingTier, events: Iterable[Event]) -> list[Tile]:
    return [
        Tile(index, len(found), max(e["ts"] for e in found) * 1000, _partials(tier, found))
        for index, found in _by_tile(tier.hop_us, events)
    ]


def states(events: Iterable[Event]) -> dict[bytes, bytes]:
    """The fields of the wide tier, with bytes of states as docs/aggregators.md says they are."""
    (tier,) = LAYOUT.wide
    fields: dict[bytes, bytes] = {}
    for index, found in _by_tile(tier.hop_us, events):
        texts = [event["s"] for event in found if event["s"] is not None]
        numbers = sorted((event["ts"] * 1000, event["q"]) for event in found if (event["q"] or 0) > 0)[-3:]
        kept = (_counts(texts), _last(numbers), b"\1" + _text(min(texts, key=str.encode)) if texts else None)
        tile = WideTile(index, len(found), max(event["ts"] for event in found) * 1000, kept)
        fields[f"{tier.field_prefix}{index % tier.slots}".encode()] = encode_wide_tile(tier, tile)
    return fields


def _counts(texts: list[str]) -> bytes | None:
    pairs = sorted(Counter(texts).items(), key=lambda pair: pair[0].encode())
    return b"\1" + bytes(8) + b"".join(_text(s) + struct.pack(">Q", n) for s, n in pairs) if pairs else None


def _last(numbers: list[tuple[int, int]]) -> bytes | None:
    rows = (struct.pack(">qHcqcq", time_us, 2, b"i", q, b"i", q) for time_us, q in numbers)
    return b"\1" + b"".join(rows) if numbers else None


def _text(text: str) -> bytes:
    return b"s" + struct.pack(">I", len(text.encode())) + text.encode()


def _partials(tier: RingTier, events: list[Event]) -> tuple[int | float | None, ...]:
    q = [e["q"] for e in events if e["q"] is not None]
    x = [e["x"] for e in events if e["x"] is not None]
    if tier.name == "events/1m":
        return (len(q),)
    return (len(x), sum(q) if q else None, max(x, default=None))


def _latest(events: list[Event]) -> dict[bytes, bytes]:
    def order(event: Event) -> tuple[Any, ...]:
        q, s = event["q"], event["s"]
        return (event["ts"], q is not None, q or 0, s is not None, (s or "").encode())

    last = max(events, key=order)
    found = {b"l:last": _rank(LAYOUT.lookups[0], last["ts"], (last["q"], last["s"]))}
    texts = [(e["ts"], e["s"]) for e in events if e["s"] is not None]
    if texts:
        ts, text = max(texts, key=lambda pair: (pair[0], pair[1].encode()))
        found[b"l:s"] = _rank(LAYOUT.lookups[1], ts, (text,))
    return found


def _rank(lookup: LookupField, ts_ms: int, values: tuple[Any, ...]) -> bytes:
    rank = Rank(ts_ms * 1000, values)
    return encode_rank(rank.event_time_us, lookup.columns, rank.values).encode()
