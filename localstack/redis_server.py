"""One Redis server: the binary on the PATH, else the one that the set-up unpacked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import redis

from featuredsl.errors import DependencyError
from localstack.process import kept_ports
from localstack.service import HOST, PROBE_TIMEOUT_S, Layout, Part, Service


def redis_server(layout: Layout) -> Part:
    """The server on a port that is kept between starts, as are its data, in an append-only file."""
    (port,) = kept_ports(layout.folder("redis") / "ports", 1)
    url = f"redis://{HOST}:{port}/0"
    binary, env = redis_binary(layout.jars)
    options = {
        "bind": HOST,
        "port": str(port),
        "dir": str(layout.folder("redis")),
        "appendonly": "yes",
        "save": "",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    command = (binary, *(text for name, value in options.items() for text in (f"--{name}", value)))
    server = Service("redis", command, env, lambda: probe_redis(url))
    return Part("redis", lambda: None, (server,), url)


def redis_binary(jars: Path) -> tuple[str, Mapping[str, str]]:
    """The binary and the environment that it needs. Raises DependencyError when there is none."""
    found = shutil.which("redis-server")
    if found:
        return found, {}
    unpacked = jars.parent / "redis"
    if not (unpacked / "redis-server").exists():
        msg = f"no redis-server on the PATH or in {unpacked}: run `./run setup` or install Redis 7"
        raise DependencyError(msg)
    libraries = [str(unpacked / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return str(unpacked / "redis-server"), {"LD_LIBRARY_PATH": ":".join(filter(None, libraries))}


def probe_redis(url: str) -> str | None:
    """None when the server answers and has loaded its data."""
    client = redis.Redis.from_url(url, socket_timeout=PROBE_TIMEOUT_S, socket_connect_timeout=PROBE_TIMEOUT_S)
    try:
        client.ping()
    except redis.RedisError as error:
        return f"the server at {url} does not answer ({error})"
    finally:
        client.close()
    return None
