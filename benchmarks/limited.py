"""A side of a benchmark in a process of its own, killed when it takes too much memory or too long (Linux)."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

POLL_S = 0.02


class DidNotFinish(Exception):
    """The process was killed; the message says at what limit."""


def output_of(command: Sequence[str], *, memory_gib: float, seconds: float) -> str:
    """What a command prints. Raises DidNotFinish beyond a limit, RuntimeError when it fails."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        begin = time.monotonic()
        try:
            while process.poll() is None:
                if _resident_bytes(process.pid) > memory_gib * 2**30:
                    raise DidNotFinish(f"did not finish in {memory_gib:g} GiB")
                if time.monotonic() - begin > seconds:
                    raise DidNotFinish(f"did not finish in {seconds:g} s")
                time.sleep(POLL_S)
        finally:
            process.kill()
            process.wait()
        out.seek(0)
        err.seek(0)
        if process.returncode:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}: {err.read()[-2000:]}")
        return out.read()


def _resident_bytes(pid: int) -> int:
    """Resident memory of a process; 0 when it has just ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
