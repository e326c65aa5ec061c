"""The decide pipeline, free of transports: features, candidates, policy, answer, records."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from featuredsl.ccb.decide import DecisionResult
from featuredsl.ccb.scorer import UniformPolicy
from featuredsl.ccb.types import DecisionRequest, Slot
from featuredsl.errors import InputError
from serving.catalog import Catalog
from serving.champion import Champion, Loaded, non_finite
from serving.config import ServeConfig
from serving.features import FeatureFetcher, Fetched
from serving.metrics import Metrics
from serving.recordlog import Recorder
from serving.records import Answer
from serving.wire import DecideBody, Input, RewardBody, refuse

FLAG_NO_MODEL = "no_model"
FLAG_MODEL_ERROR = "model_error"
FLAG_PREVIOUS = "previous_model"
FLAG_OVERLOAD = "overload"
FLAG_CATALOG = "catalog_missing"
ARM_CHAMPION = "champion"
ARM_FALLBACK = "fallback"

_OVERLOADED = Fetched(flags=(FLAG_OVERLOAD,), error="overload")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What an engine works with."""

    config: ServeConfig
    champion: Champion
    fetcher: FeatureFetcher
    catalog: Catalog
    recorder: Recorder
    metrics: Metrics
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class _Scored:
    result: DecisionResult
    version: str
    arm: str
    flags: tuple[str, ...] = ()
    error: str | None = None


class Engine:
    """Answers decide and reward requests within one event loop."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._config = parts.config
        self._uniform = UniformPolicy()
        self._inflight = 0

    @property
    def inflight(self) -> int:
        """Decisions in progress."""
        return self._inflight

    async def decide(self, body: DecideBody, started: float) -> Answer:
        """Decide; `started` is the perf_counter at which the request was taken up, `body` has been checked.

        Raises RequestError for another model (404), impossible slots (400) and overload (503).
        """
        if body.model is not None and body.model != self._config.model:
            refuse("unknown_model", f"$.model: this service serves {self._config.model!r}", status=404)
        with self._admitted() as overloaded:
            parsed = time.perf_counter()
            ts_ms = self._parts.now_ms() if body.ts is None else body.ts
            fetched = _OVERLOADED if overloaded else await self._fetch(body, ts_ms)
            read = time.perf_counter()
            request, flags = self._assemble(body, fetched)
            assembled = time.perf_counter()
            scored = self._score(request, overloaded)
        stages = _waterfall(started, parsed, read, assembled, time.perf_counter())
        return Answer(
            body=body,
            model=self._config.model,
            version=scored.version,
            result=scored.result,
            ts_ms=ts_ms,
            context=dict(request.context),
            candidates=request.candidates,
            features=fetched.values,
            feature_status=fetched.statuses,
            fallback=(*fetched.flags, *flags, *scored.flags),
            error=scored.error or fetched.error,
            arm=scored.arm,
            stages=stages,
        )

    def finish(self, answer: Answer, started: float) -> None:
        """Write records and metrics of an answer that has been encoded."""
        metrics = self._parts.metrics
        ended = time.perf_counter()
        stages = answer.stages
        metrics.observe({**stages, "respond": round((ended - started) * 1_000 - stages["total"], 4)})
        metrics.decisions.labels(answer.version, "degraded" if answer.fallback else "ok").inc()
        metrics.count_fallbacks(answer.fallback)
        self._parts.recorder.decision(answer)

    def reward(self, body: RewardBody) -> bool:
        """Record a reward; False when it was dropped or nothing is logged."""
        return self._parts.recorder.reward(body, self._parts.now_ms() if body.ts is None else body.ts)

    @contextmanager
    def _admitted(self) -> Iterator[bool]:
        caps = self._config.caps
        if self._inflight >= caps.hard_inflight:
            refuse("overloaded", f"{self._inflight} decisions are in progress; try again later", status=503)
        self._inflight += 1
        self._parts.metrics.inflight.set(self._inflight)
        try:
            yield self._inflight > caps.soft_inflight
        finally:
            self._inflight -= 1
            self._parts.metrics.inflight.set(self._inflight)

    async def _fetch(self, body: DecideBody, ts_ms: int) -> Fetched:
        inputs: Mapping[str, Input] = {**body.context, **body.request} if body.request else body.context
        return await self._parts.fetcher.fetch(body.entities, ts_ms * 1_000, inputs)

    def _assemble(self, body: DecideBody, fetched: Fetched) -> tuple[DecisionRequest, tuple[str, ...]]:
        candidates, unknown = self._parts.catalog.resolve(body.candidates)
        context = {**body.context, **fetched.values} if fetched.values else body.context
        slots = tuple(Slot(slot.slot_id, slot.features, slot.include, slot.exclude) for slot in body.slots)
        request = DecisionRequest(context, candidates, slots, body.seed or body.request_id)
        return request, (FLAG_CATALOG,) if unknown and len(self._parts.catalog) else ()

    def _score(self, request: DecisionRequest, overloaded: bool) -> _Scored:
        champion = self._parts.champion
        active = champion.active
        if overloaded:
            return self._answer_uniformly(request)
        if active is None:
            return self._answer_uniformly(request, FLAG_NO_MODEL)
        scored = self._try(active, request)
        if scored.error and champion.previous is not None:
            second = self._try(champion.previous, request)
            if not second.error:
                return replace(second, flags=(FLAG_MODEL_ERROR, FLAG_PREVIOUS), error=scored.error)
        if scored.error:
            return replace(self._answer_uniformly(request, FLAG_MODEL_ERROR), error=scored.error)
        return scored

    def _try(self, loaded: Loaded, request: DecisionRequest) -> _Scored:
        try:
            result = loaded.policy.decide(request)
        except InputError as error:
            refuse("impossible", str(error))
        except Exception as error:  # a broken model degrades an answer, it never refuses one
            log.exception("version %s failed on a request", loaded.version)
            return _Scored(DecisionResult("", "", "", ()), loaded.version, ARM_CHAMPION, error=type(error).__name__)
        return _Scored(result, loaded.version, ARM_CHAMPION, error=non_finite(result))

    def _answer_uniformly(self, request: DecisionRequest, *flags: str) -> _Scored:
        try:
            result = self._uniform.decide(request)
        except InputError as error:
            refuse("impossible", str(error))
        return _Scored(result, f"{self._uniform.model}-{self._uniform.version}", ARM_FALLBACK, flags)


def _waterfall(started: float, parsed: float, read: float, assembled: float, done: float) -> dict[str, float]:
    """Milliseconds of each stage and of all."""
    marks = {
        "parse": parsed - started,
        "features": read - parsed,
        "assembly": assembled - read,
        "inference": done - assembled,
        "total": done - started,
    }
    return {stage: round(seconds * 1_000, 4) for stage, seconds in marks.items()}
