"""The model in service: follows the champion channel and swaps without dropping a request."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from featuredsl.ccb.channel import MANIFEST, Current, read_current
from featuredsl.ccb.decide import DecisionResult
from featuredsl.ccb.types import DecisionRequest
from featuredsl.errors import FeatureError, InputError
from serving.metrics import Metrics

_RETRY_POLLS = 20

log = logging.getLogger(__name__)


class Policy(Protocol):
    """Answers decision requests."""

    def decide(self, request: DecisionRequest) -> DecisionResult: ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """A version that has passed its checks. Requests hold on to the one they began with."""

    version: str
    sha256: str
    path: Path
    policy: Policy


Loader = Callable[[Path], Policy]
"""Loads an artefact directory and verifies it (hashes, golden requests); raises when it is not sound."""


class Champion:
    """Active and previous version of one model. `poll` belongs to one event loop."""

    def __init__(self, root: Path, model: str, loader: Loader, metrics: Metrics) -> None:
        self._root = root
        self._model = model
        self._loader = loader
        self._metrics = metrics
        self._refused: tuple[str, str] | None = None
        self._polls_since_refusal = 0
        self.active: Loaded | None = None
        self.previous: Loaded | None = None
        self.last_error: str | None = None
        self.swaps = 0

    async def poll(self) -> bool:
        """Look once for another version, load and check it in a thread, swap. True when it was swapped.

        A version that fails its checks is refused: the active one stays, and the failure is kept in
        `last_error`. The same artefact is tried again only now and then.
        """
        try:
            current = await asyncio.to_thread(read_current, self._root, self._model)
        except (FeatureError, OSError) as error:
            self._fail(f"champion pointer of {self._model!r}: {error}")
            return False
        if current is None or self._is_active(current) or self._is_refused(current):
            return False
        if self.previous and (self.previous.version, self.previous.sha256) == (
            current.version,
            current.sha256,
        ):
            self._swap(self.previous)
            return True
        try:
            loaded = await asyncio.to_thread(self._load, current)
        except Exception as error:  # whatever is wrong with an artefact, the old version keeps serving
            self._refused = (current.version, current.sha256)
            self._polls_since_refusal = 0
            self._fail(f"version {current.version} of {self._model!r} was refused: {error}")
            return False
        self._swap(loaded)
        return True

    async def follow(self, interval_s: float) -> None:
        """Poll until cancelled."""
        while True:
            await asyncio.sleep(interval_s)
            await self.poll()

    def _is_active(self, current: Current) -> bool:
        active = self.active
        return active is not None and (active.version, active.sha256) == (current.version, current.sha256)

    def _is_refused(self, current: Current) -> bool:
        if self._refused != (current.version, current.sha256):
            return False
        self._polls_since_refusal += 1
        return self._polls_since_refusal % _RETRY_POLLS != 0

    def _load(self, current: Current) -> Loaded:
        manifest = (current.path / MANIFEST).read_bytes()
        if hashlib.sha256(manifest).hexdigest() != current.sha256:
            msg = f"{MANIFEST} does not have the published digest {current.sha256[:12]}…"
            raise InputError(msg)
        return Loaded(current.version, current.sha256, current.path, self._loader(current.path))

    def _swap(self, loaded: Loaded) -> None:
        before = self.active
        self.active, self.previous = loaded, before
        self.last_error = None
        self._refused = None
        self.swaps += 1
        self._metrics.swaps.inc()
        if before is not None:
            self._metrics.model_info.labels(self._model, before.version).set(0)
        self._metrics.model_info.labels(self._model, loaded.version).set(1)
        log.info("model %s: version %s is in service", self._model, loaded.version)

    def _fail(self, message: str) -> None:
        if message != self.last_error:
            log.error("%s", message)
        self.last_error = message
        self._metrics.reload_failures.inc()


def non_finite(result: DecisionResult) -> str | None:
    """The error code of a result that holds NaN or an infinity, else None."""
    for slot in result.slots:
        total = sum(score + probability for _, score, probability in slot.ranking)
        if not math.isfinite(total):
            return "nan" if math.isnan(total) else "inf"
    return None
