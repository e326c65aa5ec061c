"""Runs with prefixes of their own on one Redis: none moves the readers of another."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from featuredsl.cli.main import run
from featuredsl.online.codec import Snapshot, Tile, encode_ring
from featuredsl.online.layout import BatchTier, Column, StoreLayout
from featuredsl.online.meta import StoreMeta
from featuredsl.online.store import AsyncOnlineStore, OnlineStore
from featuredsl.registry import Registry
from tests.support.redis_process import RedisProcess

DEFINITIONS = """
from featuredsl import EventSource, feature, feature_group

events = EventSource("events", event_time="ts", schema={"u": str})


@feature_group(name="g", entity="u")
class G:
    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()
"""
HOUR_US = 3_600_000_000
AT_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
AT = "2026-01-01T00:00:00Z"
BATCH = StoreLayout("b", "v1", (Column("u", "str"),), (), (), (BatchTier("1h", (Column("n", "int"),)),), 0)


def test_pointers_and_batch_marks_belong_to_a_namespace(server: RedisProcess) -> None:
    with OnlineStore(server.url) as plain, OnlineStore(server.url, namespace="run.") as other:
        plain.set_current("g", "v1")
        plain.mark_batch(BATCH, "1h", 10)
        assert other.current(["g"]) == {}
        assert other.meta() == StoreMeta({}, {})
        other.set_current("g", "v2")
        other.mark_batch(BATCH, "1h", 20)
        assert plain.current(["g"]) == {"g": "v1"}
        assert plain.meta() == StoreMeta({"g": "v1"}, {"b@v1/1h": (10,)})
        assert other.meta() == StoreMeta({"g": "v2"}, {"b@v1/1h": (20,)})
    assert server.dump() == {
        b"featuredsl:current": {b"g": b"v1"},
        b"featuredsl:batch": {b"b@v1/1h": b"10"},
        b"featuredsl:run.current": {b"g": b"v2"},
        b"featuredsl:run.batch": {b"b@v1/1h": b"20"},
    }


def test_the_asynchronous_store_reads_its_namespace(server: RedisProcess) -> None:
    for namespace, version in (("", "v1"), ("run.", "v2")):
        with OnlineStore(server.url, namespace=namespace) as store:
            store.set_current("g", version)

    async def read(namespace: str) -> tuple[dict[str, str], StoreMeta]:
        store = AsyncOnlineStore(server.url, namespace=namespace)
        try:
            return await store.current(["g"]), await store.meta()
        finally:
            await store.close()

    assert asyncio.run(read("")) == ({"g": "v1"}, StoreMeta({"g": "v1"}, {}))
    assert asyncio.run(read("run.")) == ({"g": "v2"}, StoreMeta({"g": "v2"}, {}))
    assert asyncio.run(read("third.")) == ({}, StoreMeta({}, {}))


def test_values_are_found_in_every_namespace(server: RedisProcess) -> None:
    with OnlineStore(server.url, namespace="run.") as store:
        store.write_batch(BATCH, "1h", 10, [(("a",), (7,))])
    with OnlineStore(server.url) as store:
        assert store.read([(BATCH, ("a",))])[0].batch == {"1h": (Snapshot(10, (7,)),)}


@dataclass
class Home:
    """A home folder with a registry, and the prefix under which its commands run."""

    folder: Path
    prefix: str
    redis: RedisProcess
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str) -> str:
        """A command's output; it must end with 0."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "definitions.py").write_text(DEFINITIONS)
        for name, value in (("HOME", str(self.folder)), ("PREFIX", self.prefix), ("REDIS", self.redis.url)):
            self.monkeypatch.setenv(f"FEATUREDSL_{name}", value)
        self.monkeypatch.delenv("FEATUREDSL_REGISTRY", raising=False)
        self.capsys.readouterr()
        assert run(list(arguments)) == 0
        said = self.capsys.readouterr()
        assert said.err == ""
        return said.out

    def apply(self, suffix: str) -> str:
        """Apply the definitions under a store version of the home's own; returns the version."""
        text = self.run("apply", str(self.folder / "definitions.py"), "--store-suffix", suffix)
        return text.split()[0].removeprefix("g@")

    def write(self, rows: int) -> None:
        """So many events of "k" in the minute before `AT`, under the version that was applied last."""
        layout = Registry.load(self.folder / "registry").layout("g")
        (tier,) = layout.ring
        tile = Tile(AT_US // tier.hop_us - 1, rows, AT_US - 60_000_000, (rows,) * len(tier.columns))
        self.redis.client.set(layout.key(("k",), "R"), encode_ring(layout, {tier.name: [tile]}))

    def read(self) -> tuple[str, object, str]:
        """Version, value and status of `n` by `get`."""
        found = json.loads(self.run("get", "g", "k", "--at", AT, "--json"))
        n = found["rows"][0]["features"]["n"]
        return found["version"], n["value"], n["status"]

    def explained(self) -> list[str]:
        """The lines of `explain-read`."""
        return self.run("explain-read", "g", "k", "--at", AT).splitlines()


@pytest.fixture
def homes(
    server: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[Home, Home, Home]:
    """One without a prefix, one with, and one without a prefix again."""
    names = (("mine", ""), ("demo", "0101T000000-abcd."), ("second", ""))
    mine, demo, second = (Home(tmp_path / name, prefix, server, monkeypatch, capsys) for name, prefix in names)
    return mine, demo, second


def test_a_run_with_its_own_prefix_leaves_other_readers_alone(homes: tuple[Home, Home, Home]) -> None:
    mine, demo, _ = homes
    version = mine.apply("mine")
    mine.write(3)
    assert mine.read() == (version, 3, "OK")
    other = demo.apply("demo")
    assert other != version
    assert demo.read() == (other, 0, "NOT_FOUND")
    demo.write(5)
    assert demo.read() == (other, 5, "OK")
    assert mine.read() == (version, 3, "OK")


def test_explain_read_explains_what_get_reads(homes: tuple[Home, Home, Home]) -> None:
    mine, _, second = homes
    version = mine.apply("mine")
    mine.write(3)
    header, *rest = mine.explained()
    assert header == f"g@{version} k at 2026-01-01T00:00:00.000000Z: found"
    assert "readers follow" not in "".join(rest)
    moved = second.apply("second")
    second.write(5)
    for home in (mine, second):
        assert home.read() == (moved, 5, "OK")
        lines = home.explained()
        assert lines[0] == f"g@{moved} k at 2026-01-01T00:00:00.000000Z: found"
        assert [line for line in lines if line.startswith("  n = 5 OK")]
        tiles = [line for line in lines if line.startswith("  tiles")]
        assert [line.split(": ")[1].split(",")[0] for line in tiles] == ["1 filled"]
    assert f"  readers follow this version; {mine.folder / 'registry'} has {version}" in mine.explained()
    assert not any("readers follow" in line for line in second.explained())
