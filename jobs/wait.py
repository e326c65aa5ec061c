"""Waiting for a condition of another process, with a message that says what was missing."""

from __future__ import annotations

import time
from collections.abc import Callable

from featuredsl.errors import DependencyError

POLL_S = 0.1


def wait_until(missing: Callable[[], str | None], timeout_s: float, what: str, poll_s: float = POLL_S) -> None:
    """Call `missing` until it returns None; its text says what is still missing.

    Raises DependencyError after `timeout_s` seconds, and whatever `missing` raises at once.
    """
    deadline = time.monotonic() + timeout_s
    while (reason := missing()) is not None:
        if time.monotonic() >= deadline:
            msg = f"{what}: not after {timeout_s:.0f} s: {reason}"
            raise DependencyError(msg)
        time.sleep(poll_s)
