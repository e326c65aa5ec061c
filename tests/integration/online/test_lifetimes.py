"""Streamed lifetimes on a real Redis: what batch runs write and mark, with tiles, by both readers, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from featuredsl.cli.reading import explain_read
from featuredsl.horizon import HISTORY
from featuredsl.online.codec import Tile, encode_ring
from featuredsl.online.store import AsyncOnlineStore, BatchWrite, OnlineStore
from featuredsl.reader import AsyncFeatureReader, FeatureReader, ReadOptions
from featuredsl.registry import Registry, apply
from featuredsl.times import DAY, HOUR
from tests.support.redis_process import RedisProcess

DEFINITIONS = """
from featuredsl import EventSource, feature, feature_group, lifetime

events = EventSource("events", event_time="ts", schema={"u": str, "x": int})

@feature_group(name="user", entity="u")
class User:
    @feature(freshness="realtime", window=lifetime)
    def total(e: events) -> int:
        return e.x.sum()

    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()
"""
H = 4_102_444_800_000_000  # 2100-01-01, so that nothing expires
FRESH = ReadOptions(cache_ttl_s=0)


def read_by_both(server: RedisProcess, registry: Registry, at: int, *users: str) -> list[tuple[object, str]]:
    """Value and status of the lifetime by the blocking reader, when the other one says the same."""
    keys: Sequence[tuple[str, tuple[str]]] = [("user", (user,)) for user in users]

    async def other() -> list[object]:
        store = AsyncOnlineStore(server.url)
        rows = await AsyncFeatureReader(store, registry, FRESH).get(keys, at)
        await store.close()
        return list(rows)

    with OnlineStore(server.url) as store:
        reader = FeatureReader(store, registry, FRESH)
        rows, narrow = reader.get(keys, at), reader.prepare("user.total").get(keys, at)
    assert asyncio.run(other()) == rows
    assert [row["total"] for row in narrow] == [row["total"] for row in rows]
    assert {row["n"].status for row in rows} <= {"OK", "NOT_FOUND"}
    return [(row["total"].value, row["total"].status) for row in rows]


def test_runs_and_tiles_by_both_readers(server: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    definitions = tmp_path / "definitions.py"
    definitions.write_text(DEFINITIONS)
    apply(tmp_path / "registry", definitions)
    registry = Registry.load(tmp_path / "registry")
    layout = registry.layout("user")
    tile = Tile(H // HOUR, 2, H + 1, (5,))
    for user in ("both", "tiles"):
        server.client.set(layout.key((user,), "R"), encode_ring(layout, {"events/1h": [tile]}))
    users, at = ("both", "tiles", "batch", "nobody"), H + HOUR
    assert read_by_both(server, registry, at, *users) == [
        (5, "DEGRADED"),
        (5, "DEGRADED"),
        (None, "NOT_FOUND"),
        (None, "NOT_FOUND"),
    ]
    big = str(2**63)
    with OnlineStore(server.url) as store:
        rows = [(("both",), (H - 1, "-6")), (("batch",), (H - 9, big))]
        assert store.write_batch(layout, HISTORY, H, rows) == BatchWrite(written=2)
        # not complete yet: what was written counts, of the others nothing is known
        assert read_by_both(server, registry, at, *users)[:2] == [(-1, "OK"), (5, "DEGRADED")]
        store.mark_batch(layout, HISTORY, H)
        whole = [(-1, "OK"), (5, "OK"), (None, "NULL"), (None, "NOT_FOUND")]
        assert read_by_both(server, registry, at, *users) == whole
        # the next run, then one of before: of the two newest the one for the time asked
        store.write_batch(layout, HISTORY, H + DAY, [(("both",), (H + 1, "-1")), (("tiles",), (H + 1, "5"))])
        store.mark_batch(layout, HISTORY, H + DAY)
        assert store.write_batch(layout, HISTORY, H - DAY, [(("both",), (H - 2, "0"))]) == BatchWrite(older=1)
        assert read_by_both(server, registry, at, "both", "tiles") == whole[:2]
        assert read_by_both(server, registry, H + DAY, "both", "tiles") == whole[:2]
        assert read_by_both(server, registry, H + DAY + 51 * HOUR, "both") == [(-1, "DEGRADED")]

    monkeypatch.setenv("FEATUREDSL_REDIS", server.url)
    monkeypatch.setenv("FEATUREDSL_REGISTRY", str(tmp_path / "registry"))
    monkeypatch.setenv("FEATUREDSL_HOME", str(tmp_path))
    told = CliRunner().invoke(explain_read, ["user", "both", "--at", "2100-01-04T03:00:00Z"])
    assert told.exit_code == 0, told.output
    assert "batch history: complete as of 2100-01-02T00:00:00.000000Z, 2100-01-01T00:00:00.000000Z" in told.output
    assert "history up to 2100-01-02T00:00:00.000000Z by batch, 2d 3h before the time asked" in told.output
    assert "do:   featuredsl run batch, at least once a day" in told.output
