"""Environments of peers: each has its own under build/bench-envs, never ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

UV = Path("build/boot/bin/uv")
ENVIRONMENTS = Path("build/bench-envs")


def peer_python(name: str, *requirements: str) -> Path | None:
    """The interpreter of an environment with the requirements, made when missing; None where that is not possible, or
    where BENCH_PEERS=no."""
    if os.environ.get("BENCH_PEERS") == "no":
        return None
    home = ENVIRONMENTS / name
    python, marker = home / "bin/python", home / "pinned.txt"
    if marker.is_file() and marker.read_text() == "\n".join(requirements):
        return python
    steps = (
        [UV, "venv", "-q", "--clear", "--python", UV.with_name("python"), home],
        [UV, "pip", "install", "-q", "--python", python, *requirements],
    )
    for step in steps:
        if subprocess.run([str(part) for part in step], check=False).returncode:
            print(f"{requirements[0]} could not be installed; its rows are left out", file=sys.stderr)
            return None
    marker.write_text("\n".join(requirements))
    return python
