"""Refusals of the service as gRPC statuses."""

from __future__ import annotations

from typing import Any, NoReturn

import grpc

from serving.wire import RequestError

_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    404: grpc.StatusCode.NOT_FOUND,
    413: grpc.StatusCode.INVALID_ARGUMENT,
    503: grpc.StatusCode.UNAVAILABLE,
}


async def abort(context: grpc.aio.ServicerContext[Any, Any], error: RequestError) -> NoReturn:
    """End the call with the status that corresponds to the error."""
    await context.abort(_CODES.get(error.status, grpc.StatusCode.INTERNAL), f"{error.code}: {error.message}")
    raise AssertionError("abort does not return")
