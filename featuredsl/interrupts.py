"""Ctrl-C while a library works: the interpreter runs no handler before the library returns, so a thread tells it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_END = b"\0"


@contextmanager
def on_interrupt(stop: Callable[[], object]) -> Iterator[None]:
    """Calls `stop` from a thread of its own when SIGINT arrives; Python's own handling goes on as ever.

    Only the main thread can listen; in another one nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def listen() -> None:
        while (byte := os.read(reading, 1)) != _END:
            if byte == bytes([signal.SIGINT]):
                stop()

    listener = threading.Thread(target=listen, daemon=True)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.write(writing, _END)
        listener.join()
        os.close(reading)
        os.close(writing)
