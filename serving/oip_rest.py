"""Open Inference Protocol v2 over REST, under /v2."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec
import numpy as np
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from serving.inference import PLATFORM, Array, OnnxModel, OnnxModels, TensorSpec, datatype_of, numpy_dtype
from serving.wire import RequestError, refuse

SERVER = {"name": "featuredsl", "version": "2", "extensions": []}
Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
ReadBody: TypeAlias = Callable[[Request], Awaitable[bytes]]


class _Tensor(msgspec.Struct, frozen=True):
    name: str
    shape: tuple[int, ...]
    datatype: str
    data: list[Any]
    parameters: dict[str, Any] = {}


class _Output(msgspec.Struct, frozen=True):
    name: str
    parameters: dict[str, Any] = {}


class _Infer(msgspec.Struct, frozen=True):
    inputs: tuple[_Tensor, ...]
    id: str | None = None
    outputs: tuple[_Output, ...] = ()
    parameters: dict[str, Any] = {}


def routes(models: OnnxModels, is_ready: Callable[[], bool], read_body: ReadBody) -> list[Route]:
    """The routes of the protocol; `is_ready` answers for the server."""
    rest = _Rest(models, is_ready, read_body)
    table: list[tuple[str, Handler, str]] = [
        ("/v2", rest.server, "GET"),
        ("/v2/health/live", rest.live, "GET"),
        ("/v2/health/ready", rest.ready, "GET"),
    ]
    for model in ("/v2/models/{model}", "/v2/models/{model}/versions/{version}"):
        table += [
            (model, rest.metadata, "GET"),
            (f"{model}/ready", rest.model_ready, "GET"),
            (f"{model}/infer", rest.infer, "POST"),
        ]
    return [Route(path, handler, methods=[method]) for path, handler, method in table]


class _Rest:
    def __init__(self, models: OnnxModels, is_ready: Callable[[], bool], read_body: ReadBody) -> None:
        self._models = models
        self._is_ready = is_ready
        self._read_body = read_body

    async def server(self, _: Request) -> Response:
        return _json(SERVER)

    async def live(self, _: Request) -> Response:
        return _json({"live": True})

    async def ready(self, _: Request) -> Response:
        ready = self._is_ready()
        return _json({"ready": ready}, 200 if ready else 503)

    async def metadata(self, request: Request) -> Response:
        return await _answered(self._metadata(request))

    async def model_ready(self, request: Request) -> Response:
        try:
            model = await self._model(request)
        except RequestError as error:
            return _json({"error": error.message}, error.status)
        return _json({"name": model.name, "ready": True})

    async def infer(self, request: Request) -> Response:
        return await _answered(self._infer(request))

    async def _model(self, request: Request) -> OnnxModel:
        return await self._models.get(request.path_params["model"], request.path_params.get("version"))

    async def _metadata(self, request: Request) -> dict[str, Any]:
        model = await self._model(request)
        return {
            "name": model.name,
            "versions": [model.version],
            "platform": PLATFORM,
            "inputs": [_spec(spec) for spec in model.inputs],
            "outputs": [_spec(spec) for spec in model.outputs],
        }

    async def _infer(self, request: Request) -> dict[str, Any]:
        model = await self._model(request)
        body = _parse(await self._read_body(request))
        feed = {
            tensor.name: to_array(tensor.name, tensor.datatype, tensor.shape, tensor.data) for tensor in body.inputs
        }
        wanted = [output.name for output in body.outputs] or [spec.name for spec in model.outputs]
        arrays = await self._models.infer(model, feed, wanted)
        answer: dict[str, Any] = {"model_name": model.name, "model_version": model.version}
        if body.id is not None:
            answer["id"] = body.id
        answer["outputs"] = [_tensor(name, array) for name, array in zip(wanted, arrays, strict=True)]
        return answer


def to_array(name: str, datatype: str, shape: tuple[int, ...], data: list[Any]) -> Array:
    """A tensor from flat or nested JSON data. Raises RequestError (400) when it does not fit its shape."""
    where = f"input {name!r}"
    dtype = numpy_dtype(datatype, where)
    try:
        array = np.asarray(data, dtype=dtype)
        if any(size < 0 for size in shape) or array.size != int(np.prod(shape)):
            refuse("wrong_shape", f"{where}: {array.size} values do not fill the shape {list(shape)}")
        return array.reshape(shape)
    except (ValueError, TypeError, OverflowError) as error:
        refuse("wrong_data", f"{where}: data is not {datatype}: {error}")


def _parse(payload: bytes) -> _Infer:
    try:
        return msgspec.json.decode(payload, type=_Infer)
    except (msgspec.DecodeError, RecursionError) as error:
        refuse("invalid_request", str(error))


def _spec(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "datatype": spec.datatype, "shape": list(spec.shape)}


def _tensor(name: str, array: Array) -> dict[str, Any]:
    return {
        "name": name,
        "shape": list(array.shape),
        "datatype": datatype_of(array),
        "data": _flat(name, array),
    }


def _flat(name: str, array: Array) -> list[Any]:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise RequestError(500, "not_finite", f"output {name!r} holds NaN or an infinity, which JSON cannot carry")
    flat: list[Any] = array.ravel().tolist()
    return flat


async def _answered(answer: Awaitable[dict[str, Any]]) -> Response:
    try:
        return _json(await answer)
    except RequestError as error:
        return _json({"error": error.message}, error.status)


def _json(value: dict[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")
