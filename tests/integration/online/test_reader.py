"""The reader on a real Redis: handles, hot keys, deadlines, what stands in when Redis is away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from featuredsl.errors import CodecError, DependencyError, InputError
from featuredsl.finalize import FeatureValue
from featuredsl.online.codec import Tile, encode_rank, encode_ring
from featuredsl.online.exchange import Command, Steps
from featuredsl.online.store import AsyncOnlineStore, OnlineStore
from featuredsl.reader import AsyncFeatureReader, FeatureReader, ReadOptions
from featuredsl.registry import Registry, apply
from tests.support.redis_process import RedisProcess
from tests.support.wait import until

DEFINITIONS = """
from featuredsl import EventSource, feature, feature_group, on_demand

events = EventSource("events", event_time="ts", schema={"u": str, "price": float, "item": str, "vec": list[float]})


@feature_group(name="user", entity="u")
class User:
    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window="1h", default=-1.0)
    def spend(e: events) -> float:
        return e.price.sum()

    @feature(freshness="realtime", ttl="1d")
    def item(e: events) -> str:
        return e.latest().item

    @feature(freshness="realtime", ttl="1d")
    def vec(e: events) -> list[float]:
        return e.latest().vec

    @feature(freshness="1h", window="1d")
    def daily(e: events) -> int:
        return e.count()

    @on_demand(inputs=["spend", "n"], request={"factor": float})
    def mean(spend: float, n: int, factor: float) -> float:
        return factor * spend / n

    @on_demand(inputs=["mean"])
    def doubled(mean: float) -> float:
        return 2 * mean


@feature_group(name="other", entity="u")
class Other:
    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()
"""
HOUR_US = 3_600_000_000
AT_US = 4_102_444_800_000_000  # 2100-01-01, so that nothing expires
EVENT_US = AT_US - 60_000_000
K = ("user", ("k",))


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Site:
    server: RedisProcess
    store: OnlineStore
    registry: Registry

    def put(self, user: str, rows: int, spend: float, item: str = "i", group: str = "user", suffix: str = "") -> None:
        """So many events of a user one minute before `AT_US`, of `spend` in all."""
        version = self.registry.store_versions[group] + suffix
        layout = FeatureReader(self.store, self.registry)._core.everything.part(group).place(version).whole
        (tier,) = layout.ring
        index = EVENT_US // tier.hop_us
        partials: tuple[int | float, ...] = (rows, spend) if len(tier.columns) == 2 else (rows,)
        tile = Tile(index, rows, EVENT_US, partials)
        self.server.client.set(layout.key((user,), "R"), encode_ring(layout, {tier.name: [tile]}))
        for field in layout.lookups:
            row = [{"item": item, "u": user, "price": spend, "vec": [1.0, 2.0]}.get(c.name) for c in field.columns]
            value = encode_rank(EVENT_US, field.columns, row)
            self.server.client.hset(layout.key((user,), "X"), field.hash_field, value)

    def reader(self, clock: Clock | None = None, **options: object) -> FeatureReader:
        return FeatureReader(self.store, self.registry, ReadOptions(**options), clock or Clock())  # type: ignore[arg-type]

    def commands(self) -> dict[str, int]:
        """Calls of each command so far."""
        stats = self.server.client.info("commandstats")
        return {name.removeprefix("cmdstat_"): value["calls"] for name, value in stats.items()}


@pytest.fixture
def site(server: RedisProcess, tmp_path: Path) -> Iterator[Site]:
    definitions = tmp_path / "definitions.py"
    definitions.write_text(DEFINITIONS)
    apply(tmp_path / "registry", definitions)
    with OnlineStore(server.url, timeout_s=2.0) as store:
        yield Site(server, store, Registry.load(tmp_path / "registry"))


def plain(row: dict[str, FeatureValue]) -> dict[str, tuple[object, str]]:
    return {name: (value.value, value.status) for name, value in row.items()}


def test_a_handle_reads_the_named_features_only(site: Site) -> None:
    site.put("k", 4, 10.0)
    handle = site.reader().prepare("user.item", "user.doubled", "other")
    site.server.client.config_resetstat()
    rows = handle.get([K, ("other", ("k",))], AT_US, {"factor": 2.0})
    assert [plain(row) for row in rows] == [
        {"item": ("i", "OK"), "doubled": (10.0, "OK")},
        {"n": (0, "NOT_FOUND")},
    ]
    assert rows.error is None
    calls = site.commands()
    assert {name: calls[name] for name in ("mget", "hmget", "exists", "hgetall")} == {
        "mget": 1, "hmget": 1, "exists": 1, "hgetall": 1,
    }  # fmt: skip
    with pytest.raises(InputError, match="group 'third' is not in 'the registry'"):
        site.reader().prepare("third")
    with pytest.raises(InputError, match=r"feature 'itm' is not in 'user'.*Did you mean 'item'"):
        site.reader().prepare("user.itm")
    with pytest.raises(InputError, match="group 'user' is not in 'the prepared handle'; it has: other"):
        site.reader().prepare("other").get([K], AT_US)


def test_an_entity_that_exists_by_another_key_is_found(site: Site) -> None:
    site.put("k", 4, 10.0)
    layout = site.reader().layout("user")
    site.server.client.delete(layout.key(("k",), "X"))
    site.put("x", 1, 1.0)
    site.server.client.delete(layout.key(("x",), "R"))
    keys = [("user", (name,)) for name in ("k", "x", "none")]
    for names in (("user.item",), ("user.n",), ("user.item", "user.n"), ("user.daily",), ("user",)):
        whole = site.reader().get(keys, AT_US, {"factor": 1.0})
        part = site.reader().prepare(*names).get(keys, AT_US, {"factor": 1.0})
        assert list(part) == [{name: row[name] for name in got} for row, got in zip(whole, part, strict=True)], names
    statuses = [row["item"].status for row in site.reader().prepare("user.item").get(keys, AT_US)]
    assert statuses == ["NULL", "OK", "NOT_FOUND"]


def test_hot_keys_are_read_once_in_100_ms(site: Site) -> None:
    clock = Clock()
    reader = site.reader(clock)
    site.put("k", 1, 1.0)
    assert reader.get([K], AT_US)[0]["n"].value == 1
    site.put("k", 2, 2.0)
    clock.now += 0.0999
    site.server.client.config_resetstat()
    assert reader.get([K], AT_US)[0]["n"].value == 1
    assert "mget" not in site.commands()
    assert reader.get([K], AT_US + 2 * HOUR_US)[0]["n"].value == 0  # a state is kept, not a value
    clock.now += 0.0002
    before = site.server.client.info("stats")["total_reads_processed"]
    assert reader.get([K], AT_US)[0]["n"].value == 2
    assert site.server.client.info("stats")["total_reads_processed"] - before == 2  # the groups' state comes along
    site.put("k", 3, 3.0)
    assert site.reader(clock, cache_ttl_s=0.0).get([K], AT_US)[0]["n"].value == 3
    eager = site.reader(clock, cache_ttl_s=0.0)
    assert eager.get([K], AT_US)[0]["n"].value == 3
    site.put("k", 4, 4.0)
    assert eager.get([K], AT_US)[0]["n"].value == 4


@pytest.mark.parametrize("cache_ttl_s", [0.0, 0.1])
def test_a_read_of_many_is_the_reads_of_each(site: Site, cache_ttl_s: float) -> None:
    """Groups with and without a hash, entities that are not there or not whole, keys asked twice, some kept."""
    for number in range(12):
        for group in ("user", "other") if number % 4 else ("user",):
            site.put(f"u{number}", number + 1, number * 1.5, f"i{number}", group)
    layout = site.reader().layout("user")
    site.server.client.delete(layout.key(("u3",), "R"), layout.key(("u5",), "X"))
    keys = [(group, (f"u{number}",)) for number in range(14) for group in ("other", "user")]
    keys += keys[:3]
    alone = [site.reader(cache_ttl_s=0.0).get([key], AT_US, {"factor": 2.0})[0] for key in keys]
    reader = site.reader(cache_ttl_s=cache_ttl_s)
    reader.get(keys[2:9], AT_US)
    for _ in range(2):
        assert list(reader.get(keys, AT_US, {"factor": 2.0})) == alone
    statuses = {value.status for row in alone for value in row.values()}
    assert statuses >= {"OK", "NOT_FOUND", "NULL"}
    (tier,) = site.reader().layout("other").ring
    assert alone[2]["n"].value == 2
    site.server.client.set(site.reader().layout("other").key(("u7",), "R"), b"\x01" + b"x" * tier.slot_size)
    with pytest.raises(CodecError, match="another definition"):
        site.reader(cache_ttl_s=0.0).get(keys, AT_US)


def test_a_caller_may_change_the_lists_it_gets(site: Site) -> None:
    site.put("k", 1, 1.0)
    reader = site.reader()
    for _ in range(3):
        value = reader.get([K], AT_US)[0]["vec"].value
        assert value == [1.0, 2.0]
        value.append(3.0)


def test_readers_follow_a_new_version_within_100_ms_and_never_mix(site: Site) -> None:
    clock = Clock()
    reader = site.reader(clock, cache_ttl_s=0.0)
    site.put("k", 1, 1.0)
    site.put("k", 5, 5.0, suffix="-b")
    assert reader.get([K], AT_US)[0]["n"].value == 1
    site.store.set_current("user", site.registry.store_versions["user"] + "-b")
    assert reader.get([K], AT_US)[0]["n"].value == 1
    clock.now += 0.11
    assert reader.get([K], AT_US)[0]["n"].value == 5
    assert reader.layout("user").version.endswith("-b")


def test_batch_times_are_those_of_now(site: Site) -> None:
    clock = Clock()
    reader = site.reader(clock)
    layout = reader.layout("user")
    site.put("k", 1, 1.0)
    for number, as_of in enumerate((AT_US - 2 * HOUR_US, AT_US - HOUR_US)):
        site.store.write_batch(layout, "1h", as_of, [(("k",), (number + 7,))])
        site.store.mark_batch(layout, "1h", as_of)
        clock.now += 1
        found = reader.get([K], AT_US)[0]["daily"]
        assert (found.value, found.as_of_us) == (number + 7, as_of)
    assert found.status == "OK"


def run_batch(site: Site, as_of_us: int, value: int, *, ends: bool = True) -> None:
    """An hourly run that gives k a value; one that does not end leaves no mark."""
    layout = site.reader().layout("user")
    site.store.write_batch(layout, "1h", as_of_us, [(("k",), (value,))])
    if ends:
        site.store.mark_batch(layout, "1h", as_of_us)


def daily(reader: FeatureReader, at_us: int = AT_US, user: str = "k") -> tuple[object, str, int | None]:
    value = reader.get([("user", (user,))], at_us)[0]["daily"]
    return value.value, value.status, value.as_of_us


def test_a_kept_state_is_judged_by_the_batch_times_that_it_was_read_with(site: Site) -> None:
    clock = Clock()
    reader = site.reader(clock, on_error="fallback")
    first, second = AT_US - 2 * HOUR_US, AT_US - HOUR_US
    run_batch(site, first, 41)
    daily(reader, user="z")
    clock.now += 0.05
    assert daily(reader) == (41, "STALE", first)
    run_batch(site, second, 42)
    clock.now += 0.06  # what is known of groups is asked again, the state of k is fresh still
    daily(reader, user="y")
    assert daily(reader) == (41, "STALE", first)
    clock.now += 0.1
    assert daily(reader) == (42, "OK", second)
    run_batch(site, AT_US, 43)
    clock.now += 1
    assert daily(reader, AT_US + HOUR_US, "other") == (0, "NOT_FOUND", AT_US)
    site.server.freeze()
    try:
        row = reader.get([K], AT_US + HOUR_US, deadline_s=0.05)[0]["daily"]
    finally:
        site.server.thaw()
    assert (row.value, row.status, row.as_of_us) == (42, "STALE", second)


def test_on_a_cluster_a_run_that_ends_between_state_and_mark_hides_no_value(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its nodes answer in any order: here the state comes before the run, the completed times after it."""
    operations, clock = site.store.operations, Clock()
    request, left = operations.request, [AT_US - HOUR_US, AT_US - 2 * HOUR_US]

    def in_the_worst_order(commands: Sequence[Command]) -> Steps[list[Any]]:
        late = [i for i, command in enumerate(commands) if command[:2] == ("HMGET", "featuredsl:batch")]
        found = yield from request([c for i, c in enumerate(commands) if i not in late])
        for i in late:
            if left:
                run_batch(site, left[-1], 40 + len(left))
                left.pop()
            found.insert(i, (yield from request([commands[i]]))[0])
        return found

    run_batch(site, AT_US - 3 * HOUR_US, 40)
    monkeypatch.setattr(operations, "address", replace(operations.address, cluster=True))
    monkeypatch.setattr(operations, "request", in_the_worst_order)
    reader = site.reader(clock, cache_ttl_s=0.0)
    assert daily(reader) == (42, "STALE", AT_US - 2 * HOUR_US)
    clock.now += 1
    assert daily(reader) == (41, "OK", AT_US - HOUR_US)
    assert left == []


SHUT = """
from featuredsl import EventSource, feature, feature_group

events = EventSource("events", event_time="ts", schema={"u": str})


@feature_group(name="shut", entity="u")
class Shut:
    @feature(freshness="5m", window="1h")
    def n(e: events) -> int:
        return e.count()

    @feature(freshness="realtime", window="1h")
    def live(e: events) -> int:
        return e.count()
"""


@pytest.fixture
def shut(site: Site, tmp_path: Path) -> Site:
    """With a group that has a tier of closed minutes."""
    file = tmp_path / "shut.py"
    file.write_text(SHUT)
    apply(tmp_path / "registry", file)
    return replace(site, registry=Registry.load(tmp_path / "registry"))


def close_minute(site: Site, minute_us: int, rows: int) -> None:
    """What a job does for k at the end of a minute: the tiles of both tiers, then the mark."""
    layout = site.registry.layout("shut")
    tiles = {
        tier.name: [Tile((minute_us - 1) // tier.hop_us, rows, minute_us - 1, (rows,) * len(tier.columns))]
        for tier in layout.ring
    }
    site.server.client.set(layout.key(("k",), "R"), encode_ring(layout, tiles))
    name = f"shut@{layout.version}/events/5m@5m"
    site.server.client.hset("featuredsl:closed", name, f"{minute_us} job/1 {minute_us}")


def test_on_a_cluster_a_minute_that_closes_between_state_and_mark_is_no_undercount(
    shut: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    operations, clock = shut.store.operations, Clock()
    request, left = operations.request, [3, 2]
    first = AT_US - 5 * 60_000_000

    def in_the_worst_order(commands: Sequence[Command]) -> Steps[list[Any]]:
        late = [i for i, command in enumerate(commands) if command[:2] == ("HMGET", "featuredsl:closed")]
        found = yield from request([c for i, c in enumerate(commands) if i not in late])
        for i in late:
            if left:
                rows = left.pop()
                close_minute(shut, first + rows * 60_000_000, rows)
            found.insert(i, (yield from request([commands[i]]))[0])
        return found

    def read() -> tuple[object, str, int | None]:
        value = reader.get([("shut", ("k",))], AT_US)[0]["n"]
        return value.value, value.status, value.as_of_us

    close_minute(shut, first + 60_000_000, 1)
    monkeypatch.setattr(operations, "address", replace(operations.address, cluster=True))
    monkeypatch.setattr(operations, "request", in_the_worst_order)
    reader = shut.reader(clock, cache_ttl_s=0.0)
    for rows in (2, 3):
        assert read()[::2] == (rows, first + rows * 60_000_000)
        clock.now += 1
    assert left == []


@pytest.mark.parametrize("names", [("shut.live", "shut.n"), ("shut.n", "shut.live")])
def test_handles_of_both_tiers_share_what_is_kept(shut: Site, names: tuple[str, str]) -> None:
    close_minute(shut, AT_US - 60_000_000, 4)
    reader = shut.reader(Clock())
    for name in names:
        (row,) = reader.prepare(name).get([("shut", ("k",))], AT_US - 30_000_000)
        assert plain(row) == {name.partition(".")[2]: (4, "OK")}


def test_an_error_of_the_server_is_no_error_of_the_bytes(site: Site) -> None:
    """A fallback stands in for a server that refuses; a key of another type is refused loudly."""
    site.put("k", 4, 10.0)
    clock = Clock()
    reader = site.reader(clock, on_error="fallback")
    assert reader.get([K], AT_US, {"factor": 1.0})[0]["n"].value == 4
    site.server.client.execute_command("ACL", "SETUSER", "default", "-mget")
    try:
        clock.now += 0.2
        rows = reader.get([K], AT_US, {"factor": 1.0})
        assert (rows[0]["n"].value, rows[0]["n"].status) == (4, "STALE")
        with pytest.raises(DependencyError, match="Redis refused to read MGET: NOPERM"):
            site.reader().get([K], AT_US, {"factor": 1.0})
    finally:
        site.server.client.execute_command("ACL", "SETUSER", "default", "+mget")
    key = reader.layout("user").key(("k",), "X")
    site.server.client.delete(key)
    site.server.client.set(key, b"text")
    with pytest.raises(CodecError, match="WRONGTYPE"):
        site.reader().get([K], AT_US, {"factor": 1.0})


def test_a_run_that_died_before_its_mark_costs_no_reader_a_value(site: Site) -> None:
    reader = site.reader(cache_ttl_s=0.0)
    hours = [AT_US - i * HOUR_US for i in (4, 3, 2, 1)]
    run_batch(site, hours[0], 40)
    run_batch(site, hours[1], 41)
    run_batch(site, hours[2], 42, ends=False)
    assert daily(reader, AT_US) == (41, "STALE", hours[1])
    run_batch(site, hours[3], 43, ends=False)
    assert daily(reader, AT_US) == (43, "STALE", hours[3])
    assert daily(reader, AT_US - HOUR_US) == (42, "STALE", hours[2])
    assert daily(reader, AT_US - 2 * HOUR_US) == (0, "STALE", None)
    site.store.mark_batch(reader.layout("user"), "1h", hours[3])
    assert daily(site.reader(), AT_US) == (43, "OK", hours[3])


def test_no_snapshot_as_of_a_completed_time_is_no_event(site: Site) -> None:
    reader = site.reader(cache_ttl_s=0.0)
    run_batch(site, AT_US - 3 * HOUR_US, 40)
    site.store.mark_batch(reader.layout("user"), "1h", AT_US - 2 * HOUR_US)
    assert daily(reader, AT_US) == (0, "STALE", AT_US - 2 * HOUR_US)
    run_batch(site, AT_US - HOUR_US, 42, ends=False)
    assert daily(reader, AT_US) == (0, "STALE", AT_US - 2 * HOUR_US)


def test_a_read_asks_for_the_batch_times_of_its_groups_only(site: Site) -> None:
    clock = Clock()
    reader = site.reader(clock, cache_ttl_s=0.0)
    run_batch(site, AT_US - HOUR_US, 42)
    many = {f"g{i}@v/1h": "1796040000000000,1796043600000000" for i in range(2_000)}
    site.server.client.hset("featuredsl:batch", mapping=many)
    daily(reader)
    clock.now += 1
    before = site.server.client.info("stats")
    assert daily(reader) == (42, "OK", AT_US - HOUR_US)
    after = site.server.client.info("stats")
    assert after["total_reads_processed"] - before["total_reads_processed"] == 2  # ours, and the question itself
    assert after["total_net_output_bytes"] - before["total_net_output_bytes"] < 20_000


def test_without_an_answer_a_read_raises_or_gives_what_was_read_last(site: Site) -> None:
    clock = Clock()
    reader = site.reader(clock)
    site.put("k", 4, 10.0)
    good = reader.get([K], AT_US, {"factor": 1.0})[0]
    keys = [K, ("user", ("never",))]
    clock.now += 1
    site.server.freeze()
    try:
        with pytest.raises(DependencyError, match="does not answer"):
            reader.get(keys, AT_US, deadline_s=0.05)
        rows = reader.get(keys, AT_US + 1_000_000, {"factor": 1.0}, deadline_s=0.05, on_error="fallback")
        late = reader.get(keys, AT_US + 2 * HOUR_US, deadline_s=0.05, on_error="fallback")
        clock.now += 300
        old = reader.get([K], AT_US, deadline_s=0.05, on_error="fallback")
    finally:
        site.server.thaw()
    assert isinstance(rows.error, DependencyError)
    assert {name: value.value for name, value in rows[0].items()} == {n: v.value for n, v in good.items()}
    assert {value.status for value in rows[0].values()} == {"STALE"}
    assert rows[0]["n"].as_of_us == AT_US
    assert plain(rows[1]) == {
        "n": (0, "NOT_FOUND"), "spend": (-1.0, "NOT_FOUND"), "item": (None, "NOT_FOUND"), "vec": (None, "NOT_FOUND"),
        "daily": (0, "NOT_FOUND"), "mean": (None, "NOT_FOUND"), "doubled": (None, "NOT_FOUND"),
    }  # fmt: skip
    assert (late[0]["n"].value, late[0]["n"].status) == (0, "STALE")
    assert plain(old[0])["n"] == (0, "NOT_FOUND")
    after = reader.get(keys, AT_US, {"factor": 1.0})
    assert after.error is None
    assert [row["n"].status for row in after] == ["OK", "NOT_FOUND"]


def test_a_reader_that_never_reached_redis_falls_back_to_defaults(site: Site) -> None:
    with OnlineStore("redis://127.0.0.1:1/0", timeout_s=0.2) as nowhere:
        reader = FeatureReader(nowhere, site.registry, ReadOptions(on_error="fallback"))
        rows = reader.get([K], AT_US)
        assert rows.error is not None
        assert plain(rows[0])["spend"] == (-1.0, "NOT_FOUND")
        with pytest.raises(DependencyError):
            reader.get([K], AT_US, on_error="raise")


def test_memory_is_bounded(site: Site) -> None:
    clock = Clock()
    reader = site.reader(clock, kept=3)
    for name in "abcd":
        site.put(name, 1, 1.0)
        reader.get([("user", (name,))], AT_US)
    assert len(reader._core._states) == 3
    clock.now += 1
    site.server.freeze()
    try:
        rows = reader.get([("user", (n,)) for n in "abcd"], AT_US, deadline_s=0.05, on_error="fallback")
    finally:
        site.server.thaw()
    assert [row["n"].status for row in rows] == ["NOT_FOUND", "STALE", "STALE", "STALE"]


def test_the_asynchronous_reader_reads_the_same(site: Site) -> None:
    site.put("k", 4, 10.0)
    keys = [K, ("other", ("k",)), ("user", ("never",))]
    wanted = site.reader().get(keys, AT_US, {"factor": 1.0})
    part = site.reader().prepare("user.mean").get([K], AT_US, {"factor": 3.0})

    async def scenario() -> None:
        store = AsyncOnlineStore(site.server.url)
        clock = Clock()
        reader = AsyncFeatureReader(store, site.registry, ReadOptions(), clock)
        assert await reader.get(keys, AT_US, {"factor": 1.0}) == wanted
        assert await reader.prepare("user.mean").get([K], AT_US, {"factor": 3.0}) == part
        clock.now += 1
        site.server.freeze()
        try:
            with pytest.raises(DependencyError):
                await reader.get(keys, AT_US, deadline_s=0.05)
            rows = await reader.get(keys, AT_US, {"factor": 1.0}, deadline_s=0.05, on_error="fallback")
        finally:
            site.server.thaw()
        assert [row["n"].status for row in rows] == ["STALE", "NOT_FOUND", "NOT_FOUND"]
        await store.close()

    asyncio.run(scenario())


def test_many_entities_in_one_read_are_those_of_reads_of_one(site: Site) -> None:
    """Hot or not: some have no ring, some lookups only, some nothing."""
    users = [f"u{i}" for i in range(30)]
    for i, user in enumerate(users):
        if i % 5:
            site.put(user, i, i / 3)
        if i % 7 == 0:
            site.server.client.delete(f"user@{site.registry.store_versions['user']}:{{{user}}}:R")
        if i % 3:
            site.put(user, i, 0.0, group="other")
    keys = [(group, (user,)) for user in users for group in ("user", "other")]
    request = {"factor": 2.0}
    alone = [site.reader().get([key], AT_US, request)[0] for key in keys]
    reader = site.reader()
    assert reader.get(keys, AT_US, request) == alone
    assert reader.get(keys, AT_US, request) == alone
    assert {row["n"].status for row in alone} == {"OK", "NOT_FOUND"}

    async def scenario() -> None:
        async with AsyncOnlineStore(site.server.url) as store:
            assert await AsyncFeatureReader(store, site.registry).get(keys, AT_US, request) == alone
            assert connected() == before + 1

    def connected() -> int:
        return int(site.server.client.info("clients")["connected_clients"])

    before = connected()
    asyncio.run(scenario())
    until(lambda: connected() == before, 5, "the connection is closed")


def test_a_key_that_does_not_fit_the_entity_is_refused(site: Site) -> None:
    for parts, text in (((5,), "key part 'u' is str, got 5"), (("a", "b"), "keyed by")):
        with pytest.raises(InputError, match=text):
            site.reader().get([("user", parts)], AT_US)
