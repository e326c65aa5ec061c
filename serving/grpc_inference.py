"""Open Inference Protocol v2 over gRPC: inference.GRPCInferenceService."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import numpy as np

from serving.grpc_errors import abort
from serving.inference import PLATFORM, Array, OnnxModel, OnnxModels, TensorSpec, datatype_of, numpy_dtype
from serving.proto.inference import open_inference_pb2 as pb
from serving.proto.inference import open_inference_pb2_grpc
from serving.wire import RequestError, refuse

_Context = grpc.aio.ServicerContext
_FIELDS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}


class InferenceServicer(open_inference_pb2_grpc.GRPCInferenceServiceServicer):
    """Health, metadata and inference of every ONNX model in the champion folder."""

    def __init__(self, models: OnnxModels, is_ready: Callable[[], bool]) -> None:
        self._models = models
        self._is_ready = is_ready

    async def ServerLive(self, request: Any, context: _Context[Any, Any]) -> pb.ServerLiveResponse:
        return pb.ServerLiveResponse(live=True)

    async def ServerReady(self, request: Any, context: _Context[Any, Any]) -> pb.ServerReadyResponse:
        return pb.ServerReadyResponse(ready=self._is_ready())

    async def ServerMetadata(self, request: Any, context: _Context[Any, Any]) -> pb.ServerMetadataResponse:
        return pb.ServerMetadataResponse(name="featuredsl", version="2")

    async def ModelReady(self, request: pb.ModelReadyRequest, context: _Context[Any, Any]) -> pb.ModelReadyResponse:
        try:
            await self._models.get(request.name, request.version or None)
        except RequestError:
            return pb.ModelReadyResponse(ready=False)
        return pb.ModelReadyResponse(ready=True)

    async def ModelMetadata(
        self, request: pb.ModelMetadataRequest, context: _Context[Any, Any]
    ) -> pb.ModelMetadataResponse:
        try:
            model = await self._models.get(request.name, request.version or None)
        except RequestError as error:
            await abort(context, error)
        return pb.ModelMetadataResponse(
            name=model.name,
            versions=[model.version],
            platform=PLATFORM,
            inputs=[_metadata(spec) for spec in model.inputs],
            outputs=[_metadata(spec) for spec in model.outputs],
        )

    async def ModelInfer(self, request: pb.ModelInferRequest, context: _Context[Any, Any]) -> pb.ModelInferResponse:
        try:
            model = await self._models.get(request.model_name, request.model_version or None)
            return await self._infer(model, request)
        except RequestError as error:
            await abort(context, error)

    async def _infer(self, model: OnnxModel, request: pb.ModelInferRequest) -> pb.ModelInferResponse:
        wanted = [output.name for output in request.outputs] or [spec.name for spec in model.outputs]
        arrays = await self._models.infer(model, _feed(request), wanted)
        raw = bool(request.raw_input_contents) and all(array.dtype.kind in "biuf" for array in arrays)
        response = pb.ModelInferResponse(model_name=model.name, model_version=model.version, id=request.id)
        for name, array in zip(wanted, arrays, strict=True):
            tensor = response.outputs.add(name=name, datatype=datatype_of(array), shape=array.shape)
            if raw or tensor.datatype == "FP16":
                response.raw_output_contents.append(np.ascontiguousarray(array).tobytes())
            else:
                _fill(tensor, array)
        return response


def _feed(request: pb.ModelInferRequest) -> dict[str, Array]:
    raw = list(request.raw_input_contents)
    if raw and len(raw) != len(request.inputs):
        refuse("wrong_data", f"raw_input_contents: {len(raw)} buffers for {len(request.inputs)} inputs")
    return {tensor.name: _array(tensor, raw[place] if raw else None) for place, tensor in enumerate(request.inputs)}


def _array(tensor: pb.ModelInferRequest.InferInputTensor, raw: bytes | None) -> Array:
    where = f"input {tensor.name!r}"
    dtype = numpy_dtype(tensor.datatype, where)
    try:
        if raw is not None and tensor.datatype != "BYTES":
            return np.frombuffer(raw, dtype=dtype.newbyteorder("<")).astype(dtype).reshape(_shape(tensor, where))
        if tensor.datatype not in _FIELDS or raw is not None:
            refuse("wrong_data", f"{where}: {tensor.datatype} is not accepted in this form")
        values = list(getattr(tensor.contents, _FIELDS[tensor.datatype]))
        if tensor.datatype == "BYTES":
            values = [value.decode("utf-8") for value in values]
        return np.array(values, dtype=dtype).reshape(_shape(tensor, where))
    except (ValueError, OverflowError) as error:
        refuse("wrong_data", f"{where}: {error}")


def _shape(tensor: pb.ModelInferRequest.InferInputTensor, where: str) -> tuple[int, ...]:
    shape = tuple(tensor.shape)
    if any(size < 0 for size in shape):
        refuse("wrong_shape", f"{where}: the shape {list(shape)} has a negative size")
    return shape


def _fill(tensor: pb.ModelInferResponse.InferOutputTensor, array: Array) -> None:
    values = array.ravel().tolist()
    if tensor.datatype == "BYTES":
        values = [str(value).encode() for value in values]
    getattr(tensor.contents, _FIELDS[tensor.datatype]).extend(values)


def _metadata(spec: TensorSpec) -> pb.ModelMetadataResponse.TensorMetadata:
    return pb.ModelMetadataResponse.TensorMetadata(name=spec.name, datatype=spec.datatype, shape=spec.shape)
