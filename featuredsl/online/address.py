"""Addresses of Redis as settings give them: one server, TLS, users, a cluster.

    redis://[user:password@]host[:port][/db]            rediss://… the same over TLS
    redis+cluster://[user:password@]h1:p1,h2:p2,…       rediss+cluster://…
    unix:///path/of/the.socket

For TLS `?ssl_ca_certs=FILE` names the authorities (default: the system's), `ssl_certfile=FILE` and `ssl_keyfile=FILE`
the client's certificate and key, all PEM. The server's name is always checked. `%` escapes stand for special
characters in user and password.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from featuredsl.errors import InputError, unknown

Node = tuple[str, int]
DEFAULT_PORT: Final = 6379
_FILES: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_SCHEMES: Final = ("redis", "rediss", "redis+cluster", "rediss+cluster", "unix")


@dataclass(frozen=True, slots=True)
class Address:
    """Where Redis is and who asks. `nodes` are starting points of a cluster, else one; `text` shows no password.

    A node is (host, port), or (path, 0) for a socket of the file system.
    """

    text: str
    nodes: tuple[Node, ...]
    cluster: bool = False
    user: str = ""
    password: str = field(default="", repr=False)
    db: int = 0
    tls: bool = False
    files: tuple[tuple[str, str], ...] = ()

    @property
    def greeting(self) -> list[tuple[str, ...]]:
        """The commands that open a connection."""
        commands: list[tuple[str, ...]] = []
        if self.password:
            commands.append(("AUTH", self.user, self.password) if self.user else ("AUTH", self.password))
        if self.db:
            commands.append(("SELECT", str(self.db)))
        return commands

    def tls_context(self) -> ssl.SSLContext | None:
        """How connections are secured; None for plain ones. Raises InputError for files that cannot be used."""
        if not self.tls:
            return None
        files = dict(self.files)
        try:
            context = ssl.create_default_context(cafile=files.get("ssl_ca_certs"))
            if "ssl_certfile" in files:
                context.load_cert_chain(files["ssl_certfile"], files.get("ssl_keyfile"))
        except OSError as error:  # ssl.SSLError is one
            named = ", ".join(f"{name}={path}" for name, path in self.files)
            raise InputError(f"Redis at {self.text}: the TLS files cannot be used ({error}): {named}") from None
        return context


def parse_address(url: str) -> Address:
    """The address of a URL. Raises InputError, which shows no password, for any other text."""
    safe = _safe(url)
    try:
        return _parsed(url, safe)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{safe!r} is not a Redis address ({error}); write it as redis://host:port, rediss://… for TLS or "
            "redis+cluster://host:port,host:port"
        ) from None


def _parsed(url: str, safe: str) -> Address:
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"it does not begin with {', '.join(f'{scheme}://' for scheme in _SCHEMES[:-1])} or unix://")
    cluster, tls = parts.scheme.endswith("+cluster"), parts.scheme.startswith("rediss")
    login, _, hosts = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    nodes: tuple[Node, ...]
    if parts.scheme == "unix":
        nodes, db = ((parts.path, 0),), _db(options.pop("db", "0"))
    else:
        nodes = tuple(_node(text) for text in hosts.split(","))
        db = _db(options.pop("db", parts.path.strip("/") or "0"))
    if len(nodes) > 1 and not cluster:
        raise ValueError("several hosts need redis+cluster://")
    if cluster and db:
        raise ValueError("a cluster has only database 0")
    return Address(safe, nodes, cluster, unquote(user), unquote(password), db, tls, _files(options, tls))


def _files(options: dict[str, str], tls: bool) -> tuple[tuple[str, str], ...]:
    for name in options:
        if name not in _FILES:
            raise InputError(unknown("option", name, "the Redis address", _FILES))
    if options and not tls:
        raise ValueError(f"{next(iter(options))} needs rediss://")
    if "ssl_keyfile" in options and "ssl_certfile" not in options:
        raise ValueError("ssl_keyfile needs ssl_certfile")
    return tuple(options.items())


def _node(text: str) -> Node:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("a host is missing")
    return parts.hostname, DEFAULT_PORT if parts.port is None else parts.port


def _db(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is no database number")
    return int(text)


def _safe(url: str) -> str:
    scheme, separator, rest = url.rpartition("://")
    return scheme + separator + rest.rpartition("@")[2]
