"""The script that writes sessions, on a real Redis: which records stay, expiry, keys that hold something else."""

from __future__ import annotations

import random
from itertools import pairwise

from featuredsl.online.layout import Column, SessionField
from featuredsl.online.session_codec import SessionRecord, StoredSessions, decode_sessions, encode_session
from tests.integration.online.test_sink_scripts import FAR as TILE
from tests.integration.online.test_sink_scripts import HOP, LUA, tile, write_tiles
from tests.support.redis_process import RedisProcess

GAP = 1_000
FIELD = SessionField("e/session_1ms", GAP, 3, (Column("n", "int"), Column("x", "float")), 1)
FAR = 4_000_000_000_000_000


def record(first: int, last: int, rows: int) -> SessionRecord:
    return SessionRecord(first, last, rows, (rows, None), (bytes(rows % 7),))


def write(server: RedisProcess, rows: list[tuple[str, SessionRecord]], keep_us: int = 0) -> list[int]:
    keys = [f"g@v1:{{{user}}}:X" for user, _ in rows]
    common = [FIELD.hash_field, FIELD.kept, GAP, keep_us]
    records = [encode_session(FIELD, one) for _, one in rows]
    found: list[int] = server.client.eval((LUA / "sessions.lua").read_text(), len(keys), *keys, *common, *records)
    return found


def stored(server: RedisProcess, user: str) -> StoredSessions:
    return decode_sessions(FIELD, server.client.hget(f"g@v1:{{{user}}}:X", FIELD.hash_field))


def test_guard_table(server: RedisProcess) -> None:
    first = record(10_000, 12_000, 5)
    assert write(server, [("u", first)]) == [1, 0, 0]
    for candidate, outcome, after in [
        (record(10_000, 11_500, 4), [0, 1, 0], [first]),
        (record(12_999, 12_999, 1), [0, 1, 0], [first]),
        (record(9_001, 9_001, 1), [0, 1, 0], [first]),
        (record(10_000, 12_000, 5), [1, 0, 0], [first]),
        (record(12_500, 12_900, 5), [0, 1, 0], [first]),
        (record(9_500, 12_000, 5), [0, 1, 0], [first]),
        (record(13_000, 13_000, 1), [1, 0, 0], [record(13_000, 13_000, 1), first]),
        (record(8_000, 9_000, 3), [1, 0, 0], [record(13_000, 13_000, 1), first, record(8_000, 9_000, 3)]),
        (record(8_000, 13_000, 9), [1, 0, 0], [record(8_000, 13_000, 9)]),
    ]:
        assert write(server, [("u", candidate)]) == outcome, candidate
        assert stored(server, "u") == StoredSessions(tuple(after)), candidate


def test_the_newest_stay_and_it_is_known_that_others_had_to_go(server: RedisProcess) -> None:
    runs = [record(at, at, 1) for at in (50_000, 30_000, -7_000, 2**52)]
    assert write(server, [("u", run) for run in runs[:3]]) == [3, 0, 0]
    assert stored(server, "u") == StoredSessions(tuple(runs[:3]))
    assert write(server, [("u", runs[3])]) == [1, 0, 0]
    assert stored(server, "u") == StoredSessions((runs[3], *runs[:2]), is_cut=True)
    assert write(server, [("u", record(-9_000, -9_000, 8))]) == [0, 1, 0]
    assert write(server, [("u", record(30_000, 50_000, 4))]) == [1, 0, 0]
    assert stored(server, "u") == StoredSessions((runs[3], record(30_000, 50_000, 4)), is_cut=True)
    assert write(server, [("v", run) for run in runs[:3]] + [("v", record(-9_000, -9_000, 8))]) == [3, 1, 0]
    assert stored(server, "v") == StoredSessions(tuple(runs[:3]), is_cut=True)


def grown(times: list[int]) -> list[SessionRecord]:
    """Every record that a job gives for events that come in this order."""
    found, seen = [], []
    for ts in times:
        seen.append(ts)
        ordered = sorted(seen)
        starts = [0, *(i for i, (a, b) in enumerate(pairwise(ordered), 1) if b - a >= GAP), len(ordered)]
        runs = [ordered[a:b] for a, b in pairwise(starts)]
        run = next(run for run in runs if run[0] <= ts <= run[-1])
        found.append(record(run[0], run[-1], len(run)))
    return found


def test_any_order_of_events_and_any_replay_end_with_the_same_bytes(server: RedisProcess) -> None:
    rng = random.Random(3)
    for _ in range(60):
        times = [rng.randrange(9_000) for _ in range(rng.randrange(1, 14))]
        records = grown(rng.sample(times, len(times)))
        again = grown(rng.sample(times, len(times)))
        at = rng.randrange(len(again))
        server.client.flushall()
        write(server, [("u", one) for one in [*records, *again[:at]]])
        write(server, [("u", one) for one in again])
        right = {one.first_us: one for one in grown(sorted(times))}
        newest = sorted(right.values(), key=lambda one: -one.last_us)
        assert stored(server, "u").records == tuple(newest[:3]), times


def test_expiry_is_after_the_close_of_the_newest_session(server: RedisProcess) -> None:
    key = "g@v1:{u}:X"
    write(server, [("u", record(FAR, FAR, 1))], keep_us=1)
    assert server.client.pexpiretime(key) == -(-(FAR + GAP + 1) // 1000)
    write(server, [("u", record(FAR - 9_000, FAR - 9_000, 1))], keep_us=1)
    assert server.client.pexpiretime(key) == -(-(FAR + GAP + 1) // 1000)
    write(server, [("kept", record(FAR, FAR, 1))])
    assert server.client.pexpiretime("g@v1:{kept}:X") == -1


def test_a_hash_with_sessions_lives_as_long_as_the_ring(server: RedisProcess) -> None:
    """Else an entity that is still there would seem to have had no session. A hash that is not there stays so."""
    ring, of_sessions = "g@v1:{u}:R", "g@v1:{u}:X"
    end = -(-((TILE + 1) * HOP + 1) // 1000)
    write(server, [("u", record(FAR - HOP, FAR - HOP, 1))], keep_us=1)
    for user in ("u", "w"):
        write_tiles(server, "a", [(user, tile(TILE, 1))], keep_us=1, with_hash=1)
    assert server.client.pexpiretime(of_sessions) == server.client.pexpiretime(ring) == end
    write_tiles(server, "a", [("u", tile(TILE + 1, 1))], keep_us=1, with_hash=1)
    assert server.client.pexpiretime(of_sessions) == server.client.pexpiretime(ring) == end + HOP // 1000
    write_tiles(server, "a", [("u", tile(TILE, 2))], keep_us=1, with_hash=1)
    write(server, [("u", record(FAR, FAR, 1)), ("w", record(FAR - HOP, FAR - HOP, 1))], keep_us=1)
    assert server.client.pexpiretime(of_sessions) == end + HOP // 1000
    assert server.client.pexpiretime("g@v1:{w}:X") == end
    write_tiles(server, "a", [("w", tile(TILE + 3, 1))], keep_us=1)
    assert server.client.pexpiretime("g@v1:{w}:X") == end
    write_tiles(server, "a", [("none", tile(TILE, 1))], keep_us=1, with_hash=1)
    assert not server.client.exists("g@v1:{none}:X")


def test_foreign_keys_and_fields_are_counted_and_neighbours_written(server: RedisProcess) -> None:
    server.client.rpush("g@v1:{list}:X", "x")
    server.client.hset("g@v1:{other}:X", FIELD.hash_field, b"\2\0")
    one = record(0, 0, 1)
    assert write(server, [("list", one), ("u", one), ("other", one), ("v", one)]) == [2, 0, 2]
    assert server.client.hget("g@v1:{other}:X", FIELD.hash_field) == b"\2\0"
    assert stored(server, "v").records == (one,)
