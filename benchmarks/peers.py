"""Environments of peers: each has its own under build/bench-envs, never ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

UV = Path("build/boot/bin/uv")
ENVIRONMENTS = Path("build/bench-envs")


def peer_python(name: str, requirement: str) -> Path | None:
    """The interpreter of an environment with the requirement, made when missing; None where that is not possible, or
    where BENCH_PEERS=no."""
    if os.environ.get("BENCH_PEERS") == "no":
        return None
    home = ENVIRONMENTS / name
    python, marker = home / "bin/python", home / "pinned.txt"
    if marker.is_file() and marker.read_text() == requirement:
        return python
    steps = (
        [UV, "venv", "-q", "--clear", "--python", UV.with_name("python"), home],
        [UV, "pip", "install", "-q", "--python", python, requirement],
    )
    for step in steps:
        if subprocess.run([str(part) for part in step], check=False).returncode:
            print(f"{requirement} could not be installed; its rows are left out", file=sys.stderr)
            return None
    marker.write_text(requirement)
    return python
