"""REST and gRPC servers of one service in one process and one event loop, from start to drained stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import grpc
import orjson
import uvicorn

from featuredsl.errors import InputError
from serving import grpc_server, rest
from serving.service import Service

HOST = "127.0.0.1"
_BACKLOG = 2_048


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a running service answers."""

    name: str
    model: str
    pid: int
    rest: str
    grpc: str

    def write(self, folder: Path) -> Path:
        """Write `serve-<name>.json` atomically."""
        folder.mkdir(parents=True, exist_ok=True)
        path = endpoint_file(folder, self.name)
        part = path.with_suffix(f".{self.pid}.part")
        part.write_bytes(orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2) + b"\n")
        os.replace(part, path)
        return path


def endpoint_file(folder: Path, name: str) -> Path:
    """The file in which the service `name` says where it is."""
    return folder / f"serve-{name}.json"


class _Uvicorn(uvicorn.Server):
    """Uvicorn without its signal handling: the process has one place for signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Server:
    """Runs until SIGTERM or SIGINT, or until `stop` is called."""

    def __init__(self, service: Service, ports: tuple[int, int], home: Path) -> None:
        self._service = service
        self._ports = ports
        self._home = home
        self._stopping = asyncio.Event()
        self.stopped_by: str | None = None

    def stop(self) -> None:
        """Begin the drained stop."""
        self._stopping.set()

    async def run(self, on_ready: Callable[[Endpoints], None]) -> None:
        """Serve; `on_ready` is called once requests are answered. Returns after the log has been flushed."""
        service = self._service
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled, number)
        probes = (service.readiness, service.metrics)
        application = rest.create_app(service.engine, service.models, service.config, probes)
        listener = _listen(self._ports[0])
        grpc_side, checks = grpc_server.create_server(service.engine, service.models, service.config, probes)
        grpc_port = _bind(grpc_side, self._ports[1])
        web = _Uvicorn(_uvicorn_config(application, service.config.drain_s))
        try:
            await service.start()
            await grpc_side.start()
            await grpc_server.announce(checks, True)
            serving = asyncio.create_task(web.serve(sockets=[listener]))
            await self._until_stopped(serving, on_ready, (listener.getsockname()[1], grpc_port), web)
            await self._drain(serving, web, grpc_side, checks)
        finally:
            listener.close()
            await service.stop()

    async def _until_stopped(
        self,
        serving: asyncio.Task[None],
        on_ready: Callable[[Endpoints], None],
        ports: tuple[int, int],
        web: _Uvicorn,
    ) -> None:
        while not web.started and not serving.done():
            await asyncio.sleep(0.005)
        config = self._service.config
        endpoints = Endpoints(
            config.service_name, config.model, os.getpid(), f"http://{HOST}:{ports[0]}", f"{HOST}:{ports[1]}"
        )
        path = endpoints.write(self._home)
        try:
            on_ready(endpoints)
            stop = asyncio.create_task(self._stopping.wait())
            await asyncio.wait({stop, serving}, return_when=asyncio.FIRST_COMPLETED)
            stop.cancel()
        finally:
            path.unlink(missing_ok=True)

    async def _drain(
        self,
        serving: asyncio.Task[None],
        web: _Uvicorn,
        grpc_side: grpc.aio.Server,
        checks: grpc_server.HealthChecks,
    ) -> None:
        self._service.drain()
        await grpc_server.announce(checks, False)
        web.should_exit = True
        await asyncio.gather(serving, grpc_side.stop(self._service.config.drain_s))

    def _signalled(self, number: int) -> None:
        self.stopped_by = signal.Signals(number).name
        self._stopping.set()


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        msg = f"REST port {port} on {HOST} cannot be used ({error.strerror}); --port 0 picks a free one"
        raise InputError(msg) from error
    listener.listen(_BACKLOG)
    return listener


def _bind(server: grpc.aio.Server, port: int) -> int:
    try:
        return int(server.add_insecure_port(f"{HOST}:{port}"))
    except RuntimeError as error:
        msg = f"gRPC port {port} on {HOST} cannot be used; --grpc-port 0 picks a free one"
        raise InputError(msg) from error


def _uvicorn_config(application: object, drain_s: float) -> uvicorn.Config:
    return uvicorn.Config(
        application,  # type: ignore[arg-type]
        http="httptools",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=int(max(1, drain_s)),
        backlog=_BACKLOG,
    )
