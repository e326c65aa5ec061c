"""Connections to Redis, blocking: one exchange is sent to all its nodes first, then the replies are read.

A connection on which anything went wrong (deadline, cancellation, protocol) is closed, never reused: the next call
would otherwise read the replies of this one. So is one that holds unread bytes when it is taken again.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from featuredsl.online.address import Address, Node
from featuredsl.online.exchange import (
    PENDING,
    TROUBLE,
    Answer,
    ConnectionLost,
    Leg,
    Pause,
    ReplyError,
    Steps,
    check_greeting,
    packed,
    reply_parser,
)

T = TypeVar("T")
_LATE: Final = "no answer within the deadline"
_CHUNK: Final = 1 << 18
_NOT_YET: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Connection:
    """One connection, for one exchange at a time. `deadline` is a time of `time.monotonic`."""

    def __init__(self, address: Address, node: Node, context: ssl.SSLContext | None, deadline: float) -> None:
        self._socket = _connected(node, deadline)
        try:
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=node[0])
            self._parser = reply_parser()
            self._buffer = bytearray(_CHUNK)
            self._socket.setblocking(False)
            self._is_plain = context is None
            self._poll = select.poll()
            self._poll.register(self._socket, select.POLLIN)
            if address.greeting:
                self.send(packed(address.greeting), deadline)
                check_greeting(self.receive(len(address.greeting), deadline))
        except BaseException:
            self._socket.close()
            raise

    def send(self, data: bytes, deadline: float) -> None:
        """Send everything. Raises TimeoutError, OSError."""
        sent = 0
        while sent < len(data):
            try:
                sent += self._socket.send(memoryview(data)[sent:] if sent else data)
            except _NOT_YET as error:
                self._wait(deadline, not isinstance(error, ssl.SSLWantReadError))

    def receive(self, count: int, deadline: float) -> list[Any]:
        """So many replies. Raises TimeoutError, OSError."""
        replies: list[Any] = []
        while True:
            reply = self._parser.gets()
            if reply is PENDING:
                got = self._received(deadline)
                if not got:
                    raise ConnectionLost("the server closed the connection")
                self._parser.feed(self._buffer, 0, got)  # type: ignore[arg-type]
                continue
            replies.append(reply)
            if len(replies) == count:
                return replies

    def _received(self, deadline: float) -> int:
        """Bytes put into the buffer. What TLS has decrypted already is no news to poll, so there it is asked later."""
        if self._is_plain:
            self._wait(deadline)
        while True:
            try:
                return self._socket.recv_into(self._buffer)
            except _NOT_YET as error:
                self._wait(deadline, isinstance(error, ssl.SSLWantWriteError))

    def _wait(self, deadline: float, to_send: bool = False) -> None:
        """Until bytes can be read, or sent. Raises TimeoutError at the deadline."""
        poll = self._poll
        if to_send:
            poll = select.poll()
            poll.register(self._socket, select.POLLOUT)
        if not poll.poll(_left(deadline) * 1e3):
            raise TimeoutError(_LATE)

    @property
    def clean(self) -> bool:
        """True when nothing waits to be read: neither the end nor a reply of someone else's request."""
        return not self._poll.poll(0) and not self._parser.has_data()

    def close(self) -> None:
        """Close it."""
        with contextlib.suppress(OSError):
            self._socket.close()


class Wire:
    """Runs steps over pooled connections; safe to share between threads, and after a fork."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._context = address.tls_context()
        self._idle: dict[Node, deque[Connection]] = {}
        self._process = os.getpid()

    def run(self, steps: Steps[T], deadline_s: float) -> T:
        """The result of the steps; all exchanges together may take `deadline_s`."""
        deadline = time.monotonic() + deadline_s
        try:
            asked = next(steps)
            while True:
                if isinstance(asked, Pause):
                    time.sleep(max(0.0, min(asked.seconds, deadline - time.monotonic())))
                    asked = steps.send(())
                else:
                    asked = steps.send(self._exchange(asked, deadline))
        except StopIteration as done:
            result: T = done.value
            return result

    def _exchange(self, legs: Sequence[Leg], deadline: float) -> list[Answer]:
        open_legs: dict[int, Connection] = {}
        answers: list[Answer] = [ConnectionLost("not asked")] * len(legs)
        try:
            for number, leg in enumerate(legs):
                try:
                    connection = open_legs[number] = self._taken(leg.node, deadline)
                    connection.send(packed(leg.commands), deadline)
                except (*TROUBLE, ReplyError) as error:
                    answers[number] = error
                    if number in open_legs:
                        open_legs.pop(number).close()
            for number in list(open_legs):
                try:
                    answers[number] = open_legs[number].receive(len(legs[number].commands), deadline)
                except TROUBLE as error:
                    answers[number] = error
                    open_legs.pop(number).close()
                else:
                    self._give_back(legs[number].node, open_legs.pop(number))
        finally:
            for connection in open_legs.values():
                connection.close()
        return answers

    def _taken(self, node: Node, deadline: float) -> Connection:
        if self._process != os.getpid():  # sockets of the parent are not ours
            self._idle, self._process = {}, os.getpid()
        idle = self._idle.get(node)
        while idle:
            try:
                connection = idle.pop()
            except IndexError:  # another thread was faster
                break
            if connection.clean:
                return connection
            connection.close()
        return Connection(self._address, node, self._context, deadline)

    def _give_back(self, node: Node, connection: Connection) -> None:
        self._idle.setdefault(node, deque()).append(connection)

    def close(self) -> None:
        """Close all idle connections."""
        for idle in self._idle.values():
            while idle:
                idle.pop().close()


def _connected(node: Node, deadline: float) -> socket.socket:
    host, port = node
    if port == 0:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.settimeout(_left(deadline))
            made.connect(host)
        except BaseException:
            made.close()
            raise
        return made
    made = socket.create_connection(node, timeout=_left(deadline))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return made


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError(_LATE)
    return left
