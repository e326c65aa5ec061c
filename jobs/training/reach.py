"""Is the model registry there? Asked before MLflow's client, which retries for minutes."""

from __future__ import annotations

import os
import socket
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from featuredsl.errors import DependencyError, InputError

CONNECT_S = 3.0
_LIMITS = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}
_SQLITE = "sqlite:///"


def check_reachable(uri: str) -> None:
    """Raise DependencyError when nothing listens at an http(s) `uri`; bound MLflow's retries where nobody has."""
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https"):
        return
    for name, value in _LIMITS.items():
        os.environ.setdefault(name, value)
    try:
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        msg = f"the address of the model registry {uri} cannot be read: {error}; set FEATUREDSL_MLFLOW"
        raise InputError(msg) from error
    if parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(host):
        return
    try:
        socket.create_connection((host, port), CONNECT_S).close()
    except OSError as error:
        msg = f"the model registry {uri} does not answer ({error}); start it or set FEATUREDSL_MLFLOW"
        raise DependencyError(msg) from error


def is_missing(uri: str) -> bool:
    """True for an SQLite registry whose file does not exist; opening it would make it."""
    return uri.startswith(_SQLITE) and not Path(uri.removeprefix(_SQLITE)).exists()
