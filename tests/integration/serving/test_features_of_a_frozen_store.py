"""The service's features on a real Redis that stops answering: last good states, then the breaker, then all is well."""

from __future__ import annotations

import asyncio
from pathlib import Path

from featuredsl.online.codec import Tile, encode_ring
from featuredsl.registry import Registry, apply
from featuredsl.settings import Settings
from serving.config import FeatureBudget, GroupLookup, ServeConfig
from serving.features import FeatureFetcher, Fetched
from serving.metrics import Metrics
from serving.reading import open_features
from tests.support.redis_process import redis_process

DEFINITIONS = """
from featuredsl import EventSource, feature, feature_group, on_demand

events = EventSource("events", event_time="ts", schema={"u": str})


@feature_group(name="user", entity="u")
class User:
    @feature(freshness="realtime", window="1h")
    def n(e: events) -> int:
        return e.count()

    @on_demand(inputs=["n"], request={"factor": int})
    def times(n: int, factor: int) -> int:
        return n * factor
"""
AT_US = 4_102_444_800_000_000


def test_features_while_redis_does_not_answer(tmp_path: Path) -> None:
    (tmp_path / "definitions.py").write_text(DEFINITIONS)
    apply(tmp_path / "registry", tmp_path / "definitions.py")
    layout = Registry.load(tmp_path / "registry").layout("user")
    (tier,) = layout.ring
    ring = encode_ring(layout, {tier.name: [Tile(AT_US // tier.hop_us - 1, 3, AT_US - 1, (3,))]})
    budget = FeatureBudget(budget_ms=200.0, breaker_failures=2, breaker_open_s=0.3)
    config = ServeConfig(model="m", groups=(GroupLookup("user", ("u",)),), features=budget)

    async def scenario(url: str) -> list[Fetched]:
        settings = Settings.load(home=tmp_path, redis=url, registry=tmp_path / "registry", prefix="")
        reading = await open_features(config, settings)
        fetcher = FeatureFetcher(reading.source, reading.lookups, budget, Metrics())
        found = [await fetcher.fetch({"u": "k"}, AT_US, {"factor": 2})]
        await asyncio.sleep(0.15)  # past what is kept for hot keys
        server.freeze()
        found.append(await fetcher.fetch({"u": "k"}, AT_US, {"factor": 5}))
        found.append(await fetcher.fetch({"u": "never"}, AT_US, {"factor": 5}))
        found.append(await fetcher.fetch({"u": "k"}, AT_US, {"factor": 5}))
        server.thaw()
        await asyncio.sleep(0.35)
        found.append(await fetcher.fetch({"u": "k"}, AT_US, {"factor": 5}))
        await reading.close()
        return found

    with redis_process(tmp_path) as server:
        server.client.set(layout.key(("k",), "R"), ring)
        good, stale, missing, broken, after = asyncio.run(scenario(server.url))
    assert good.values == {"user__n": 3, "user__times": 6}
    assert set(good.statuses.values()) == {"OK"}
    assert stale.values == {"user__n": 3, "user__times": 15}
    assert set(stale.statuses.values()) == {"STALE"}
    assert (stale.flags, stale.error) == (("features_stale",), "timeout")
    assert missing.values == {"user__n": 0, "user__times": 0}
    assert set(missing.statuses.values()) == {"NOT_FOUND"}
    assert (missing.flags, missing.error) == (("features_missing",), "timeout")
    assert (broken.values["user__n"], broken.error) == (3, "breaker_open")
    assert (after.values, after.flags, after.error) == ({"user__n": 3, "user__times": 15}, (), None)
