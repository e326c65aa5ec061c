"""Scale: CPU time to trace, fingerprint, compile and load 1, 10 and 100 groups of 20 features each.

Each measurement runs in a process of its own, so that no cache is warm. A group has two sources, sliding
windows with filters, variances, ratios, deferred tiers, lookups and an on-demand function.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.rows import row

SIZES = (1, 10, 100)
FEATURES = 20
LIMIT_S = 2.0

_HEAD = """from featuredsl import EventSource, feature, feature_group, on_demand, ratio, window

SCHEMA = {"user": str, "item": str, "price": float, "country": str, "n": int}
clicks = EventSource("clicks", event_time="ts", schema=SCHEMA)
views = EventSource("views", event_time="ts", schema=SCHEMA)
"""
_GROUP = """

@feature_group(name="gNUM", entity="user")
class GroupNUM:
    @feature(freshness="realtime", window=["1h", "6h", "1d"])
    def n(e: clicks) -> int:
        return e.filter(e.n > NUM).count()

    @feature(freshness="realtime", window=["1h", "1d"])
    def spend(e: clicks) -> float:
        return e.filter(e.country == "cNUM").price.sum()

    @feature(freshness="realtime", window=["1h", "1d"])
    def mean(e: views) -> float:
        return (e.price * 2.5 + NUM.5).mean()

    @feature(freshness="realtime", window=["1h", "1d"])
    def spread(e: views) -> float:
        return e.price.std()

    @feature(freshness="1h", window=["1d", window("7d", hop="1h")], default=0)
    def most(e: views) -> int:
        return (e.n + NUM).max()

    @feature(freshness="1d", window="28d")
    def least(e: views) -> float:
        return e.filter((e.country == "JP") & (e.n > 3)).price.min()

    @feature(freshness="realtime", window=["1h", "6h", "1d"])
    def rate(c: clicks, v: views) -> float:
        return ratio(c.count(), v.count())

    @feature(freshness="realtime", ttl="1d")
    def item(e: clicks) -> str:
        return e.latest().item

    @feature(freshness="realtime")
    def country(e: views) -> str:
        return e.country.latest()

    @feature(freshness="1h", ttl="7d", default="none")
    def bought(e: clicks) -> str:
        return e.filter(e.price > NUM).item.latest()

    @feature(freshness="realtime", window=["12h", "1d"])
    def total(e: clicks) -> int:
        return e.n.sum()

    @on_demand(inputs=["spend_1h", "spend_1d"], request={"price": float})
    def habit(spend_1h: float, spend_1d: float, price: float) -> float | None:
        return price * NUM / (spend_1h + spend_1d + 1.0)
"""
_MEASURE = """
import json, sys, time
from pathlib import Path
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB, SPARK
from featuredsl.fingerprint import fingerprint
from featuredsl.loader import load_definitions
from featuredsl.registry import Registry, apply
from featuredsl.tiles import store_layout

file, folder = Path(sys.argv[1]), Path(sys.argv[2])
spent, plans = {}, []

def timed(name, call):
    begin = time.process_time()
    made = call()
    spent[name] = time.process_time() - begin
    return made

config = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")
plans = list(timed("trace", lambda: load_definitions(file)).values())
timed("fingerprint", lambda: [fingerprint(plan) for plan in plans])
timed("duckdb", lambda: [point_in_time(plan, DUCKDB) for plan in plans])
timed("spark", lambda: [point_in_time(plan, SPARK) for plan in plans])
timed("flink", lambda: [statements([GroupTarget(plan, store_layout(plan))], config) for plan in plans])
apply(folder, file)
timed("registry", lambda: Registry.load(folder))
print(json.dumps({"groups": len(plans), "features": len(plans[0].features), "spent": spent}))
"""


def definitions(groups: int) -> str:
    """A definition file of that many groups."""
    return _HEAD + "".join(_GROUP.replace("NUM", str(number)) for number in range(groups))


def run(mode: str) -> list[dict[str, Any]]:
    """Rows of the report."""
    repeats = 3 if mode == "quick" else 9
    spent = {size: _measure(size, repeats) for size in SIZES}
    rows = []
    for size, steps in spent.items():
        compiled = {target: steps["trace"] + steps[target] for target in ("duckdb", "spark", "flink")}
        for target, seconds in compiled.items():
            limit = (f"< {LIMIT_S}", seconds < LIMIT_S) if size == max(SIZES) else None
            rows.append(row(f"trace and compile {size} x {FEATURES} for {target}", "s of CPU", seconds, target=limit))
        everything = sum(steps[name] for name in ("trace", "duckdb", "spark", "flink"))
        limit = (f"< {LIMIT_S}", everything < LIMIT_S) if size == max(SIZES) else None
        rows.append(row(f"trace and compile {size} x {FEATURES} for all three", "s of CPU", everything, target=limit))
        rows += [row(f"{name} of {size} x {FEATURES}", "s of CPU", steps[name]) for name in ("trace", "fingerprint")]
        rows.append(row(f"registry load of {size} x {FEATURES}", "s of CPU", steps["registry"]))
    per_group = {size: sum(steps.values()) / size for size, steps in spent.items()}
    growth = per_group[100] / per_group[10]
    against = ("at 10 groups", per_group[10] * 1e3)
    linear = ("ratio <= 1.3", growth <= 1.3)
    return [*rows, row("all steps, a group, at 100 groups", "ms of CPU", per_group[100] * 1e3, against, linear)]


def _measure(groups: int, repeats: int) -> dict[str, float]:
    """Median CPU seconds by step."""
    with tempfile.TemporaryDirectory(prefix="featuredsl-bench-") as folder:
        file = Path(folder) / "definitions.py"
        file.write_text(definitions(groups), encoding="utf-8")
        found = []
        for number in range(repeats):
            command = [sys.executable, "-c", _MEASURE, str(file), str(Path(folder) / f"registry{number}")]
            done = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            if (done["groups"], done["features"]) != (groups, FEATURES):
                raise RuntimeError(f"the definitions have {done['features']} features in {done['groups']} groups")
            found.append(done["spent"])
    return {step: statistics.median(times[step] for times in found) for step in found[0]}
