"""One scoring service put together: start, readiness, background work, stop. Knows no transport."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from featuredsl.settings import Settings
from schemas import topics
from serving.catalog import Catalog, CatalogFollower
from serving.champion import Champion, Loader
from serving.config import ServeConfig
from serving.engine import Engine, Parts
from serving.features import FeatureFetcher, FeatureSource, Lookup
from serving.inference import OnnxModels
from serving.metrics import Metrics
from serving.recordlog import KafkaSink, Recorder

CHAMPIONS = "champions"
_LOG_POLL_S = 0.1

log = logging.getLogger(__name__)


class Service:
    """Everything behind the transports. Use `start`, then `engine`; `stop` at the end."""

    def __init__(
        self,
        config: ServeConfig,
        settings: Settings,
        loader: Loader,
        features: tuple[FeatureSource | None, tuple[Lookup, ...]],
    ) -> None:
        self.config = config
        self.metrics = Metrics()
        self.models = OnnxModels(settings.home / CHAMPIONS, config.providers)
        self._settings = settings
        self._catalog = Catalog(self.metrics)
        self._follower: CatalogFollower | None = None
        self._champion = Champion(settings.home / CHAMPIONS, config.model, loader, self.metrics)
        self._fetcher = FeatureFetcher(*features, config.features, self.metrics)
        self._sink = self._make_sink()
        self.engine = Engine(
            Parts(
                config=config,
                champion=self._champion,
                fetcher=self._fetcher,
                catalog=self._catalog,
                recorder=Recorder(self._sink, config.log),
                metrics=self.metrics,
            )
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._state = "starting"

    async def start(self) -> None:
        """Read the catalog, look for a champion, begin the background work."""
        await self._load_catalog()
        await self._champion.poll()
        self._spawn(partial(self._champion.follow, self.config.poll_interval_s))
        if self._sink is not None:
            self._spawn(partial(self._poll_log, self._sink))
        self._state = "ready"

    def drain(self) -> None:
        """Answer not ready from now on; requests are still answered."""
        self._state = "draining"

    async def stop(self) -> None:
        """End the background work and flush the log."""
        self.drain()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._follower is not None:
            await asyncio.to_thread(self._follower.stop)
        if self._sink is not None:
            await asyncio.to_thread(self._sink.flush, self.config.log.flush_s)

    def readiness(self) -> tuple[bool, dict[str, Any]]:
        """Whether to send requests here, and the state of every part."""
        active, previous = self._champion.active, self._champion.previous
        details = {
            "state": self._state,
            "model": self.config.model,
            "model_version": active.version if active else None,
            "previous_version": previous.version if previous else None,
            "model_swaps": self._champion.swaps,
            "model_error": self._champion.last_error,
            "feature_breaker_open": self._fetcher.breaker_open,
            "catalog_actions": len(self._catalog),
            "log_queue": self._sink.waiting if self._sink else None,
            "inflight": self.engine.inflight,
        }
        return self._state == "ready", details

    def _make_sink(self) -> KafkaSink | None:
        log_config = self.config.log
        if not (log_config.predictions or log_config.impressions):
            return None
        bootstrap = self._settings.require("kafka")
        return KafkaSink(bootstrap, self._settings.prefix, log_config.queue_records, self.metrics)

    async def _load_catalog(self) -> None:
        where = self.config.catalog
        if where == "kafka":
            topic = topics.topic(self._settings.prefix, topics.CATALOG)
            self._follower = CatalogFollower(self._settings.require("kafka"), topic, self._catalog)
            self._follower.start()
            await asyncio.to_thread(self._follower.wait, self.config.catalog_timeout_s)
        elif where:
            self._catalog.load_file(Path(where))

    def _spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        self._tasks.append(asyncio.ensure_future(_logged(work)))

    async def _poll_log(self, sink: KafkaSink) -> None:
        while True:
            sink.poll()
            await asyncio.sleep(_LOG_POLL_S)


async def _logged(work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except Exception:
        log.exception("background work of the service ended")
        raise
