"""REST transport of the scoring service (ASGI)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from serving import oip_rest
from serving.config import ServeConfig
from serving.engine import Engine
from serving.inference import OnnxModels
from serving.metrics import CONTENT_TYPE, Metrics
from serving.records import decision_json
from serving.wire import RequestError, parse_decide, parse_reward, refuse

Readiness = Callable[[], tuple[bool, dict[str, Any]]]
"""Whether the service can answer, and details for people."""

_RETRY_AFTER_S = "1"
log = logging.getLogger(__name__)


def create_app(engine: Engine, models: OnnxModels, config: ServeConfig, probes: tuple[Readiness, Metrics]) -> Starlette:
    """The ASGI application; `probes` are the readiness check and the metrics."""
    rest = _Rest(engine, config, probes)
    table = [
        Route("/v1/decide", rest.decide, methods=["POST"]),
        Route("/v1/reward", rest.reward, methods=["POST"]),
        Route("/health/live", rest.live, methods=["GET"]),
        Route("/health/ready", rest.ready, methods=["GET"]),
        Route("/metrics", rest.metrics, methods=["GET"]),
        *oip_rest.routes(models, lambda: probes[0]()[0], rest.read_body),
    ]
    return Starlette(routes=table)


class _Rest:
    def __init__(self, engine: Engine, config: ServeConfig, probes: tuple[Readiness, Metrics]) -> None:
        self._engine = engine
        self._config = config
        self._readiness, self._metrics = probes

    async def decide(self, request: Request) -> Response:
        started = time.perf_counter()
        try:
            payload = await self.read_body(request)
            started = time.perf_counter()
            body = parse_decide(payload, self._config.caps, self._config.replay)
            answer = await self._engine.decide(body, started)
        except RequestError as error:
            return self._refused(error)
        response = _json(decision_json(answer))
        self._engine.finish(answer, started)
        return response

    async def reward(self, request: Request) -> Response:
        try:
            body = parse_reward(await self.read_body(request), self._config.replay)
        except RequestError as error:
            return self._refused(error)
        accepted = self._engine.reward(body)
        return _json({"request_id": body.request_id, "accepted": accepted}, 202 if accepted else 503)

    async def live(self, _: Request) -> Response:
        return _json({"live": True})

    async def ready(self, _: Request) -> Response:
        ready, details = self._readiness()
        return _json({"ready": ready, **details}, 200 if ready else 503)

    async def metrics(self, _: Request) -> Response:
        return Response(self._metrics.exposition(), headers={"content-type": CONTENT_TYPE})

    async def read_body(self, request: Request) -> bytes:
        """The body, refused with 413 as soon as it is known to be too large."""
        limit = self._config.caps.body_bytes
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit:
            refuse("body_too_large", f"the body has {declared} bytes; the limit is {limit}", status=413)
        chunks: list[bytes] = []
        size = 0
        try:
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    refuse("body_too_large", f"the body has more than {limit} bytes", status=413)
                chunks.append(chunk)
        except ClientDisconnect:
            refuse("disconnected", "the client left before the body was complete")
        return b"".join(chunks)

    def _refused(self, error: RequestError) -> Response:
        self._metrics.decisions.labels("", f"refused_{error.status}").inc()
        headers = {"retry-after": _RETRY_AFTER_S} if error.status == 503 else None
        return _json({"error": {"code": error.code, "message": error.message}}, error.status, headers)


def _json(value: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(value), status, headers, media_type="application/json")
