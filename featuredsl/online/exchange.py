"""What goes over the wire, without the wire: legs to nodes, their answers, and steps that ask for them.

A step is a generator that yields an `Exchange` and is sent one answer for each of its legs, or a `Pause`. Blocking and
asynchronous clients run the same steps and differ only in how bytes travel.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import hiredis

from featuredsl.online.address import Node

T = TypeVar("T")
Command = tuple[str | bytes | int, ...]


class ReplyError(Exception):
    """An error that Redis answered, for example `WRONGTYPE …`; the connection stays usable."""

    @property
    def code(self) -> str:
        """The first word."""
        return str(self).partition(" ")[0]


class ConnectionLost(OSError):
    """The other side closed the connection, or sent something that no one asked for."""


@dataclass(frozen=True, slots=True)
class Leg:
    """Commands that go to one node together."""

    node: Node
    commands: Sequence[Command]


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before the next exchange."""

    seconds: float


Answer = list[Any] | Exception
"""The replies to a leg, in order, or why there are none (nothing is known about what the server did)."""
Steps = Generator[Sequence[Leg] | Pause, Sequence[Answer], T]
TROUBLE: Final = (OSError, hiredis.HiredisError)
PENDING: Final = object()


def packed(commands: Sequence[Command]) -> bytes:
    """Commands as bytes of the protocol."""
    return b"".join([hiredis.pack_command(command) for command in commands])  # type: ignore[arg-type]


def reply_parser() -> hiredis.Reader:
    """A parser of replies that gives `PENDING` until a reply is complete, errors as ReplyError."""
    return hiredis.Reader(protocolError=ConnectionLost, replyError=ReplyError, notEnoughData=PENDING)


def check_greeting(replies: Sequence[Any]) -> None:
    """Raises ReplyError when a server refused to open a connection."""
    for reply in replies:
        if isinstance(reply, ReplyError):
            raise reply


class OneNode:
    """The steps of requests to a single server. A connection that was closed is replaced once."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def request(self, commands: Sequence[Command]) -> Steps[list[Any]]:
        """The replies to the commands, in one round trip. Raises what went wrong on the way."""
        (answer,) = yield (Leg(self._node, commands),)
        if isinstance(answer, OSError) and not isinstance(answer, TimeoutError):
            (answer,) = yield (Leg(self._node, commands),)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def everywhere(self, command: Command) -> Steps[list[Any]]:
        """The reply of the only node, as the only one."""
        return (yield from self.request([command]))
