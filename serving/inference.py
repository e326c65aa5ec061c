"""ONNX models of the champion folder for the Open Inference Protocol v2, free of transports."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from featuredsl.ccb.channel import POINTER, Current, read_current
from featuredsl.ccb.runtime import onnxruntime
from featuredsl.errors import FeatureError
from serving.wire import RequestError, refuse

GRAPH = "model.onnx"
PLATFORM = "onnx_onnxruntime"
_DATATYPES = {
    "BOOL": np.dtype(np.bool_),
    "UINT8": np.dtype(np.uint8),
    "UINT16": np.dtype(np.uint16),
    "UINT32": np.dtype(np.uint32),
    "UINT64": np.dtype(np.uint64),
    "INT8": np.dtype(np.int8),
    "INT16": np.dtype(np.int16),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "FP16": np.dtype(np.float16),
    "FP32": np.dtype(np.float32),
    "FP64": np.dtype(np.float64),
    "BYTES": np.dtype(object),
}
_NAMES = {dtype: name for name, dtype in _DATATYPES.items()}
_ONNX = {
    "tensor(bool)": "BOOL",
    "tensor(uint8)": "UINT8",
    "tensor(uint16)": "UINT16",
    "tensor(uint32)": "UINT32",
    "tensor(uint64)": "UINT64",
    "tensor(int8)": "INT8",
    "tensor(int16)": "INT16",
    "tensor(int32)": "INT32",
    "tensor(int64)": "INT64",
    "tensor(float16)": "FP16",
    "tensor(float)": "FP32",
    "tensor(double)": "FP64",
    "tensor(string)": "BYTES",
}
Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Name, protocol datatype and shape of a tensor; -1 is a dimension of any size."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A loaded graph with its signature."""

    name: str
    version: str
    sha256: str
    session: Any
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


def numpy_dtype(datatype: str, where: str) -> np.dtype[Any]:
    """The array type of a protocol datatype. Raises RequestError (400) for others."""
    try:
        return _DATATYPES[datatype]
    except KeyError:
        refuse(
            "bad_datatype",
            f"{where}: datatype {datatype!r} is not supported; use one of {', '.join(_DATATYPES)}",
        )


def datatype_of(array: Array) -> str:
    """The protocol datatype of an array; anything that is not numeric is BYTES."""
    return _NAMES.get(array.dtype, "BYTES")


class OnnxModels:
    """Every model of the champion folder that has a graph, loaded at first use and again when it changes."""

    def __init__(self, root: Path, providers: Sequence[str]) -> None:
        self._root = root
        self._providers = list(providers)
        self._loaded: dict[str, OnnxModel] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def names(self) -> list[str]:
        """Models that have a current version."""
        return sorted(path.parent.name for path in self._root.glob(f"*/{POINTER}"))

    async def get(self, name: str, version: str | None) -> OnnxModel:
        """The model in its current version. Raises RequestError: 404 unknown, 503 not loadable."""
        current = self._current(name, version)
        async with self._locks.setdefault(name, asyncio.Lock()):
            found = self._loaded.get(name)
            if found is None or (found.version, found.sha256) != (current.version, current.sha256):
                found = await asyncio.to_thread(self._load, current)
                self._loaded[name] = found
        return found

    async def infer(self, model: OnnxModel, feed: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
        """Run the graph in a thread. Raises RequestError (400) when the inputs do not fit it."""
        known = [spec.name for spec in model.outputs]
        wanted = list(outputs) or known
        if unknown := [name for name in wanted if name not in known]:
            refuse("unknown_output", f"outputs: {unknown[0]!r} is not one of {', '.join(known)}")
        _check_inputs(model, feed)
        try:
            return list(await asyncio.to_thread(model.session.run, wanted, dict(feed)))
        except Exception as error:  # ONNX Runtime raises types of its own for shapes that do not fit
            refuse("inference_failed", f"model {model.name!r}: {error}")

    def _current(self, name: str, version: str | None) -> Current:
        try:
            current = read_current(self._root, name) if name in self.names() else None
        except FeatureError as error:
            raise RequestError(503, "model_unavailable", str(error)) from error
        if current is None or not (current.path / GRAPH).is_file():
            refuse(
                "unknown_model",
                f"model {name!r} is not served; models: {', '.join(self.names()) or 'none'}",
                404,
            )
        if version and version != current.version:
            refuse(
                "unknown_version",
                f"model {name!r} is served in version {current.version}, not {version!r}",
                404,
            )
        return current

    def _load(self, current: Current) -> OnnxModel:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        try:
            graph = (current.path / GRAPH).read_bytes()
            session = onnxruntime.InferenceSession(graph, options, providers=self._providers)
        except Exception as error:  # ONNX Runtime raises types of its own for graphs that it cannot load
            raise RequestError(503, "model_unavailable", f"model {current.model!r}: {error}") from error
        return OnnxModel(
            name=current.model,
            version=current.version,
            sha256=current.sha256,
            session=session,
            inputs=tuple(_spec(node) for node in session.get_inputs()),
            outputs=tuple(_spec(node) for node in session.get_outputs()),
        )


def _spec(node: Any) -> TensorSpec:
    shape = tuple(size if isinstance(size, int) else -1 for size in node.shape)
    return TensorSpec(node.name, _ONNX.get(node.type, node.type), shape)


def _check_inputs(model: OnnxModel, feed: Mapping[str, Array]) -> None:
    expected = {spec.name: spec for spec in model.inputs}
    if set(feed) != set(expected):
        refuse(
            "wrong_inputs",
            f"inputs: expected {', '.join(sorted(expected))}; found {', '.join(sorted(feed)) or 'none'}",
        )
    for name, array in feed.items():
        spec = expected[name]
        if datatype_of(array) != spec.datatype:
            refuse("wrong_datatype", f"input {name!r}: expected {spec.datatype}, found {datatype_of(array)}")
        fits = len(array.shape) == len(spec.shape) and all(
            want in (-1, have) for want, have in zip(spec.shape, array.shape, strict=False)
        )
        if not fits:
            refuse("wrong_shape", f"input {name!r}: expected shape {list(spec.shape)}, found {list(array.shape)}")
