"""The Flink program of the tier of closed minutes, as text. A change here is a change of running jobs: read it.

Regenerate with `python -m tests.golden.test_closed_sql`.
"""

from __future__ import annotations

from pathlib import Path

from featuredsl import EventSource, feature, feature_group, union, window
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout

FILE = Path(__file__).with_name("compilers") / "closed.flink.sql"
CONFIG = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")
SCHEMA = {"user": str, "item": str, "price": float, "n": int}
web = EventSource("web", event_time="ts", schema=SCHEMA, arrival_time="seen")
app = EventSource("app", event_time="ts", schema=SCHEMA, sequence="n")
tv = EventSource("tv", event_time="ts", schema=SCHEMA)
both = union("both", web, app)


@feature_group(name="closed", entity="user")
class Closed:
    """Tiles within a minute, of one, of many; states; latest values; a union; a source that needs no event time."""

    @feature(freshness="5m", window=["10m", "1h", window("20m", hop="1m"), window("8d", hop="2d")])
    def spent(b: both) -> float | None:
        return b.price.sum()

    @feature(freshness="5m", window="1h")
    def recent(b: both) -> list[int]:
        return b.n.last_k(5)

    @feature(freshness="5m", ttl="1h")
    def item(a: app) -> str | None:
        return a.filter(a.price > 0.0).latest().item

    @feature(freshness="realtime", window="1h")
    def watched(t: tv) -> int:
        return t.count()


def program() -> str:
    """The whole job."""
    plan: GroupPlan = Closed.plan  # type: ignore[attr-defined]
    return ";\n\n".join(statements([GroupTarget(plan, store_layout(plan, "v1"))], CONFIG)) + ";\n"


def test_program_is_the_golden_one() -> None:
    assert program() == FILE.read_text(encoding="utf-8")


if __name__ == "__main__":
    FILE.write_text(program(), encoding="utf-8")
