"""`python -m benchmarks NAME [quick|full]`: run one benchmark, print its table, write build/bench/NAME.json."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

COLUMNS = ("metric", "unit", "ours", "against", "against_value", "ratio", "target", "met")
PACKAGES = ("numpy", "onnxruntime", "grpcio", "uvicorn", "redis", "confluent-kafka", "duckdb")


def main(name: str, mode: str = "quick") -> int:
    """Run and report; the exit code is 1 when a target was missed."""
    module = importlib.import_module(f"benchmarks.{name}")
    rows: list[dict[str, Any]] = module.run(mode)
    report = {
        "name": name,
        "mode": mode,
        "machine": f"{platform.machine()} {platform.system()}, {os.cpu_count()} CPUs",
        "versions": {package: metadata.version(package) for package in PACKAGES} | getattr(module, "PEERS", {}),
        "rows": rows,
    }
    target = Path("build/bench") / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    for row in rows:
        print("  ".join(f"{column}={row[column]}" for column in COLUMNS if row[column] is not None))
    return int(any(row["met"] is False for row in rows))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
