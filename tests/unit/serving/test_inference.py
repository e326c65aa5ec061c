from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from serving.config import Caps, ServeConfig
from serving.grpc_server import announce, create_server
from serving.proto.inference import open_inference_pb2 as pb
from serving.proto.inference import open_inference_pb2_grpc
from tests.support.serving import MODEL, Bench, linear_graph, publish_artefact

WEIGHTS = [[1.0, -1.0], [0.5, 2.0], [0.0, 3.0]]
X = [[1.0, 2.0, 3.0], [-1.5, 0.25, 8.0]]
EXPECTED = (np.array(X, dtype=np.float32) @ np.array(WEIGHTS, dtype=np.float32)).tolist()


def bench(tmp_path: Path) -> Bench:
    one = Bench(ServeConfig(MODEL, caps=Caps(body_bytes=1 << 20)), tmp_path / "champions")
    publish_artefact(one.root, "5", "linear", linear_graph(WEIGHTS))
    publish_artefact(one.root, "1", "broken", b"not a graph")
    publish_artefact(one.root, "1", "other")
    return one


async def call(one: Bench, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    async with one.client() as client:
        response = await client.request(method, path, content=None if body is None else json.dumps(body))
        return response.status_code, response.json()


def tensor(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {"name": "x", "shape": [2, 3], "datatype": "FP32", "data": X}
    return {"inputs": [{**base, **changes}]}


def test_metadata_and_health(tmp_path: Path) -> None:
    one = bench(tmp_path)
    linear = {
        "name": "linear",
        "versions": ["5"],
        "platform": "onnx_onnxruntime",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}],
        "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 2]}],
    }
    table = {
        "/v2": (200, {"name": "featuredsl", "version": "2", "extensions": []}),
        "/v2/health/live": (200, {"live": True}),
        "/v2/health/ready": (200, {"ready": True}),
        "/v2/models/linear": (200, linear),
        "/v2/models/linear/versions/5": (200, linear),
        "/v2/models/linear/ready": (200, {"name": "linear", "ready": True}),
    }
    for path, expected in table.items():
        assert asyncio.run(call(one, "GET", path)) == expected
    for path, status in {"/v2/models/none": 404, "/v2/models/other/ready": 404, "/v2/models/broken/ready": 503}.items():
        assert asyncio.run(call(one, "GET", path))[0] == status
    status, body = asyncio.run(call(one, "GET", "/v2/models/linear/versions/6"))
    assert (status, body) == (404, {"error": "model 'linear' is served in version 5, not '6'"})


@pytest.mark.parametrize("data", [X, [value for row in X for value in row]])
def test_infer_takes_nested_and_flat_data(tmp_path: Path, data: Any) -> None:
    body = {"id": "q", **tensor(data=data), "outputs": [{"name": "y"}]}
    status, answer = asyncio.run(call(bench(tmp_path), "POST", "/v2/models/linear/infer", body))
    assert status == 200
    assert (answer["model_name"], answer["model_version"], answer["id"]) == ("linear", "5", "q")
    (output,) = answer["outputs"]
    assert (output["name"], output["datatype"], output["shape"]) == ("y", "FP32", [2, 2])
    assert output["data"] == pytest.approx([value for row in EXPECTED for value in row], rel=1e-6)


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (tensor(shape=[2, 2]), "6 values do not fill the shape [2, 2]"),
        (tensor(shape=[6, 1]), "expected shape [-1, 3], found [6, 1]"),
        (tensor(shape=[-2, -3]), "do not fill"),
        (tensor(datatype="FP64"), "expected FP32, found FP64"),
        (tensor(datatype="FLOAT"), "datatype 'FLOAT' is not supported"),
        (tensor(data=["a"] * 6), "data is not FP32"),
        (tensor(data=[[1], [2, 3]]), "data is not FP32"),
        (tensor(name="z"), "expected x; found z"),
        ({**tensor(), "outputs": [{"name": "z"}]}, "'z' is not one of y"),
        ({}, "missing required field `inputs`"),
        (tensor(data=[3e38] * 6), "output 'y' holds NaN or an infinity"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(tmp_path: Path, body: Any, part: str) -> None:
    status, answer = asyncio.run(call(bench(tmp_path), "POST", "/v2/models/linear/infer", body))
    assert status in (400, 500)
    assert part in answer["error"]


def test_a_new_version_is_loaded_when_it_is_published(tmp_path: Path) -> None:
    one = bench(tmp_path)
    asyncio.run(call(one, "POST", "/v2/models/linear/infer", tensor()))
    publish_artefact(one.root, "6", "linear", linear_graph([[0.0]] * 3))
    _, answer = asyncio.run(call(one, "POST", "/v2/models/linear/infer", tensor()))
    assert (answer["model_version"], answer["outputs"][0]["data"]) == ("6", [0.0, 0.0])


def test_grpc_answers_in_both_forms_and_refuses(tmp_path: Path) -> None:
    async def scenario() -> None:
        one = bench(tmp_path)
        server, checks = create_server(one.engine, one.models, one.config, (lambda: (True, {}), one.metrics))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        await announce(checks, True)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            await exercise(open_inference_pb2_grpc.GRPCInferenceServiceStub(channel))
        await server.stop(None)

    async def exercise(stub: Any) -> None:
        assert (await stub.ServerLive(pb.ServerLiveRequest())).live
        assert (await stub.ServerReady(pb.ServerReadyRequest())).ready
        assert (await stub.ServerMetadata(pb.ServerMetadataRequest())).name == "featuredsl"
        assert (await stub.ModelReady(pb.ModelReadyRequest(name="linear"))).ready
        assert not (await stub.ModelReady(pb.ModelReadyRequest(name="none"))).ready
        metadata = await stub.ModelMetadata(pb.ModelMetadataRequest(name="linear"))
        assert [(spec.name, spec.datatype, list(spec.shape)) for spec in metadata.inputs] == [("x", "FP32", [-1, 3])]
        request = pb.ModelInferRequest(model_name="linear", id="q")
        entry = request.inputs.add(name="x", datatype="FP32", shape=[2, 3])
        entry.contents.fp32_contents.extend(np.array(X).ravel())
        answer = await stub.ModelInfer(request)
        assert list(answer.outputs[0].contents.fp32_contents) == pytest.approx(np.array(EXPECTED).ravel(), rel=1e-6)
        entry.ClearField("contents")
        request.raw_input_contents.append(np.array(X, dtype="<f4").tobytes())
        raw = await stub.ModelInfer(request)
        values = np.frombuffer(raw.raw_output_contents[0], dtype="<f4").reshape(list(raw.outputs[0].shape))
        np.testing.assert_allclose(values, EXPECTED, rtol=1e-6)
        request.raw_input_contents[0] = b"123"
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.ModelInfer(request)
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT

    asyncio.run(scenario())
