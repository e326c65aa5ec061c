"""Waiting for a condition in tests, instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
POLL_S = 0.05


def until(predicate: Callable[[], Value], timeout_s: float = 30.0, what: str = "") -> Value:
    """Call `predicate` until it returns something true, and return that; fail after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not (value := predicate()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not true after {timeout_s} s: {what or predicate}; last value {value!r}")
        time.sleep(POLL_S)
    return value
