"""Sides of a benchmark under a limit: what they print, and what kills them."""

from __future__ import annotations

import sys
import time

import pytest

from benchmarks.limited import DidNotFinish, output_of


def run(code: str, *, memory_gib: float = 4.0, seconds: float = 60.0) -> str:
    return output_of([sys.executable, "-c", code], memory_gib=memory_gib, seconds=seconds)


def test_what_it_prints() -> None:
    assert run("print(6 * 7)") == "42\n"


def test_a_side_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)ended with 1: .*ValueError: no such column"):
        run("raise ValueError('no such column')")


def test_too_much_memory() -> None:
    code = "import time; held = bytearray(300 << 20); held[::4096] = b'x' * len(held[::4096]); time.sleep(60)"
    with pytest.raises(DidNotFinish, match=r"did not finish in 0[.]2 GiB"):
        run(code, memory_gib=0.2)


def test_too_long() -> None:
    begin = time.monotonic()
    with pytest.raises(DidNotFinish, match=r"did not finish in 0[.]5 s"):
        run("import time; time.sleep(60)", seconds=0.5)
    assert time.monotonic() - begin < 30
