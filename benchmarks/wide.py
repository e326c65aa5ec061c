"""Wide aggregates: events a second of one core through the sweep, one entity, windows of 1 h asked every minute.

"against" is the same number at a quarter of the events: the work is linear, so the ratio stays near 1.
"""

from __future__ import annotations

import random
import time
from typing import Any

from featuredsl.times import HOUR, MINUTE
from featuredsl.wide.monoid import Monoid
from featuredsl.wide.sweep import Asked, Slide
from featuredsl.wide.table import KINDS
from featuredsl.windows import window

PARAMS: dict[str, dict[str, Any]] = {
    "last_k": {"k": 20},
    "top_k": {"k": 10},
    "top_k_counts": {"k": 10},
    "approx_quantile": {"q": 0.9},
    "decayed_sum": {"half_life_us": HOUR},
    "decayed_count": {"half_life_us": HOUR},
}
HOUR_WINDOW = window("1h")


def run(mode: str) -> list[dict[str, Any]]:
    """Rows of the report."""
    events = 20_000 if mode == "quick" else 400_000
    return [_row(name, events) for name in KINDS]


def _row(name: str, events: int) -> dict[str, Any]:
    monoid = KINDS[name].make(**PARAMS.get(name, {}))
    small, large = (max(_rate(monoid, n) for _ in range(3)) for n in (events // 4, events))
    return {
        "metric": f"{name}, events through the sweep",
        "unit": "1/s of CPU",
        "ours": round(large),
        "against": "a quarter of the events",
        "against_value": round(small),
        "ratio": round(large / small, 3),
        "target": ">= 0.6",
        "met": large / small >= 0.6,
    }


def _rate(monoid: Monoid[Any], events: int) -> float:
    rng = random.Random(1)
    times = sorted(rng.randrange(events * MINUTE // 20) for _ in range(events))
    values = [float(rng.randrange(1, 500)) for _ in times]
    asked = [Asked(*HOUR_WINDOW.bounds(t), t) for t in range(0, events * MINUTE // 20, MINUTE)]
    slide = Slide(monoid, asked)
    started = time.process_time()
    for time_us, value in zip(times, values, strict=True):
        slide.push(time_us, (value, None, value))
    slide.finish()
    return events / (time.process_time() - started)
