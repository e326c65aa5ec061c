"""Point-in-time training sets: rows a second, linearity and memory, against hand-written DuckDB SQL and Feast.

Sides run in processes of their own, in turn, on the same Parquet files; each figure is the median of the repeats.
CPU seconds count, since other work disturbs wall time. The hand-written lookups obey the rule for ties as ours do;
`loose` ones leave open which of the events of one time they return. Feast has latest-value joins with ttl, and no
windows offline, so it takes part in `lookups` only, up to the scale at which it is killed for its memory or time; it
lives in build/bench-envs/feast.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.history_data import LABELS_PER_EVENT, generate
from benchmarks.limited import DidNotFinish, output_of
from benchmarks.rows import row

PEERS = {"feast": "0.67.0"}
FEAST = f"feast[duckdb]=={PEERS['feast']}"
FEAST_ENV = Path("build/bench-envs/feast")
UV = Path("build/boot/bin/uv")
SCALES = (1, 4, 16)
BASE = {"quick": 5_000, "full": 64_000}
QUERIES = ("sql-ours-lookups", "sql-hand-lookups", "sql-loose-lookups", "sql-ours-windows", "sql-hand-windows")
FILES = ("files-ours-lookups", "files-ours-windows")
REPEATS = 3
MEMORY_GIB, SECONDS = 12.0, 240.0
"""What a side may take, once."""
Spent = dict[str, float]


def run(mode: str) -> list[dict[str, Any]]:
    """Rows of the report. Raises RuntimeError when two sides do not give the same values."""
    feast = _feast_python()
    failed: tuple[int, str] | None = None
    spent: dict[int, dict[str, Spent]] = {}
    versions: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="featuredsl-bench-") as folder:
        for scale in SCALES:
            home = Path(folder) / str(scale)
            home.mkdir()
            generate(home, BASE[mode] * scale)
            sides = {side: [sys.executable, "-m", "benchmarks.history_side", side] for side in (*QUERIES, *FILES)}
            spent[scale] = _measure(sides, home, versions)
            if feast is not None and failed is None:
                try:
                    spent[scale] |= _measure({"feast": [str(feast), "benchmarks/history_feast.py"]}, home, versions)
                except DidNotFinish as error:
                    failed = scale, str(error)
            _check(home, "feast" in spent[scale])
    return [*_against_hand(spent), *_linear(spent, mode), *_against_feast(spent, versions, failed)]


def _feast_python() -> Path | None:
    """The interpreter of Feast's own environment, made when missing; None where that is not possible,
    or where BENCH_PEERS=no."""
    if os.environ.get("BENCH_PEERS") == "no":
        return None
    python = FEAST_ENV / "bin/python"
    marker = FEAST_ENV / "pinned.txt"
    if marker.is_file() and marker.read_text() == FEAST:
        return python
    steps = (
        [UV, "venv", "-q", "--clear", "--python", UV.with_name("python"), FEAST_ENV],
        [UV, "pip", "install", "-q", "--python", python, FEAST],
    )
    for step in steps:
        if subprocess.run([str(part) for part in step], check=False).returncode:
            print("Feast could not be installed; its rows are left out", file=sys.stderr)
            return None
    marker.write_text(FEAST)
    return python


def _measure(sides: Mapping[str, Sequence[str]], home: Path, versions: dict[str, str]) -> dict[str, Spent]:
    """The sides in turn, `REPEATS` times; medians. Raises DidNotFinish at the first that is killed."""
    found: dict[str, list[Spent]] = {side: [] for side in sides}
    for _ in range(REPEATS):
        for side, command in sides.items():
            kind = ["duckdb"] if side == "feast" else []
            whole = [*command, str(home), *kind, str(home / f"{side}.parquet")]
            printed = output_of(whole, memory_gib=MEMORY_GIB, seconds=SECONDS)
            one = json.loads(printed.splitlines()[-1])
            versions["feast" if side == "feast" else "duckdb"] = one.pop("version")
            found[side].append(one)
    return {side: {key: statistics.median(s[key] for s in many) for key in many[0]} for side, many in found.items()}


def _check(home: Path, with_feast: bool) -> None:
    """Every side gave the same values for every label."""
    lookups = ["u__price", "u__n", "i__stock"]
    windows = [f"u__{name}_{size}" for name in ("count", "spent") for size in ("1h", "1d", "7d")]
    windows += ["u__most_1d", "u__most_7d", "u__price"]
    for work, names in (("lookups", lookups), ("windows", windows)):
        first = _values(home / f"sql-ours-{work}.parquet", names)
        for side in (*QUERIES, *FILES):
            if side.endswith(work):
                _same(first, _values(home / f"{side}.parquet", names), side)
        if with_feast and work == "lookups":
            _same(first, _values(home / "feast.parquet", ["price", "n", "stock"]), "feast")


def _values(file: Path, names: Sequence[str]) -> list[tuple[Any, ...]]:
    con = duckdb.connect()
    found = con.execute(f"SELECT * FROM '{file}' LIMIT 0").description or ()
    order = "label_id" if found[0][0] == "label_id" else "number"
    given = ", ".join(f'CASE WHEN isnan("{name}"::DOUBLE) THEN NULL ELSE "{name}"::DOUBLE END' for name in names)
    return con.execute(f"SELECT {given} FROM '{file}' ORDER BY {order}").fetchall()


def _same(mine: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]], side: str) -> None:
    for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        for x, y in zip(a, b, strict=True):
            if x != y and (x is None or y is None or abs(x - y) > 1e-9 * max(abs(x), abs(y))):
                raise RuntimeError(f"{side} differs at label {i}: {a} and {b}")


def _labels(mode: str, scale: int) -> int:
    return BASE[mode] * scale // LABELS_PER_EVENT


def _against_hand(spent: Mapping[int, Mapping[str, Spent]]) -> list[dict[str, Any]]:
    rows = []
    for work, side, what in (
        ("lookups", "hand", "ASOF joins of the first row of each time"),
        ("lookups", "loose", "ASOF joins without a rule for ties"),
        ("windows", "hand", "range frames, ASOF join without a rule for ties"),
    ):
        for scale, sides in spent.items():
            ours, theirs = sides[f"sql-ours-{work}"]["cpu"], sides[f"sql-{side}-{work}"]["cpu"]
            ratio = theirs / ours
            target = ("speed >= 0.8", ratio >= 0.8) if scale == max(spent) and side != "loose" else None
            rows.append(row(f"{work} query, {scale}x", "s of CPU", ours, (what, theirs), target, ratio=ratio))
    return rows


def _linear(spent: Mapping[int, Mapping[str, Spent]], mode: str) -> list[dict[str, Any]]:
    rows = []
    for side in ("sql-ours-lookups", "sql-ours-windows", *FILES):
        per_row = {scale: sides[side]["cpu"] / _labels(mode, scale) * 1e6 for scale, sides in spent.items()}
        growth = per_row[16] / per_row[4]
        target = ("16x / 4x <= 1.5", growth <= 1.5)
        metric = f"{side}: CPU per label at 16x"
        rows.append(row(metric, "us", per_row[16], ("at 4x", per_row[4]), target))
        rows.append(row(f"{side}: CPU per label at 4x", "us", per_row[4], ("at 1x", per_row[1])))
    for side in FILES:
        sides = spent[16][side]
        rows.append(row(f"{side}: labels a second of CPU, 16x", "1/s", _labels(mode, 16) / sides["cpu"]))
        rows.append(row(f"{side}: peak memory, 16x", "MB", sides["peak_mb"]))
    return rows


def _against_feast(
    spent: Mapping[int, Mapping[str, Spent]], versions: Mapping[str, str], failed: tuple[int, str] | None
) -> list[dict[str, Any]]:
    """At the largest scale that Feast finished; where it did not, ours alone."""
    metric = "lookups, Parquet to Parquet, {}x"
    rows = []
    for scale in [scale for scale, sides in spent.items() if "feast" in sides][-1:]:
        ours, theirs = spent[scale]["files-ours-lookups"], spent[scale]["feast"]
        name = f"Feast {versions['feast']}, duckdb offline store"
        for key, unit, least in (("cpu", "s of CPU", None), ("wall", "s", 5.0), ("peak_mb", "MB", None)):
            ratio = theirs[key] / ours[key]
            target = None if least is None else (f"speed >= {least:g}", ratio >= least)
            rows.append(row(metric.format(scale), unit, ours[key], (name, theirs[key]), target, ratio=ratio))
    if failed is not None:
        scale, why = failed
        ours = spent[scale]["files-ours-lookups"]
        rows.append(row(metric.format(scale), "s", ours["wall"], (f"Feast {PEERS['feast']}: {why}", None)))
    return rows
