"""The Flink program of states of variable width, as text. A change here is a change of running jobs: read it.

Regenerate with `python -m tests.golden.test_wide_sql`.
"""

from __future__ import annotations

from pathlib import Path

from featuredsl import EventSource, feature, feature_group, tumbling, union
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout

FILE = Path(__file__).with_name("compilers") / "wide.flink.sql"
CONFIG = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")
SCHEMA = {"user": str, "item": str, "price": float, "n": int}
web = EventSource("web", event_time="ts", schema=SCHEMA, arrival_time="seen", sequence="n")
app = EventSource("app", event_time="ts", schema=SCHEMA, arrival_time="seen")
both = union("both", web, app)


@feature_group(name="wide", entity="user")
class Wide:
    """Every kind; ratios with a number; a union; a string; a filter; what shares a state."""

    @feature(freshness="realtime", window=["1h", tumbling("1h")])
    def items(w: web) -> list[str]:
        return w.filter(w.price > 0.0).item.top_k(3)

    @feature(freshness="realtime", window="1h")
    def counts(w: web) -> list[int]:
        return w.filter(w.price > 0.0).item.top_k_counts(2)

    @feature(freshness="realtime", window="1h")
    def share(w: web) -> float:
        return w.item.approx_distinct() / w.count()

    @feature(freshness="realtime", window="1h")
    def median(w: web) -> float:
        return w.price.approx_quantile(0.5)

    @feature(freshness="realtime", window="1h")
    def high(w: web) -> float:
        return w.price.approx_quantile(0.99)

    @feature(freshness="realtime", window="1h")
    def recent(w: web) -> float:
        return w.n.decayed_sum("30m")

    @feature(freshness="realtime", window="1h")
    def activity(w: web) -> float:
        return w.decayed_count("30m")

    @feature(freshness="realtime", window="1h")
    def last(b: both) -> list[int]:
        return b.n.last_k(5)

    @feature(freshness="realtime", window="1h")
    def row(a: app) -> str:
        return a.first().item

    @feature(freshness="realtime", window="1h")
    def least(w: web) -> str:
        return w.filter(w.n > 1).item.min()


def program() -> str:
    """What the wide tiers add to a job."""
    plan: GroupPlan = Wide.plan  # type: ignore[attr-defined]
    parts = statements([GroupTarget(plan, store_layout(plan, "v1"))], CONFIG)
    return ";\n\n".join(part for part in parts if "fdsl_wide" in part or "__wide" in part) + ";\n"


def test_program_is_the_golden_one() -> None:
    assert program() == FILE.read_text(encoding="utf-8")


if __name__ == "__main__":
    FILE.write_text(program(), encoding="utf-8")
