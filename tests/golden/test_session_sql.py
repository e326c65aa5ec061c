"""What sessions add to a Flink program, as text. A change here is a change of running jobs: read it.

Regenerate with `python -m tests.golden.test_session_sql`.
"""

from __future__ import annotations

from pathlib import Path

from featuredsl import EventSource, feature, feature_group, ratio, session, union
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout

FILE = Path(__file__).with_name("compilers") / "sessions.flink.sql"
CONFIG = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")
SCHEMA = {"user": str, "item": str, "price": float, "n": int}
web = EventSource("web", event_time="ts", schema=SCHEMA, sequence="n")
app = EventSource("app", event_time="ts", schema=SCHEMA)
both = union("both", web, app)


@feature_group(name="sessions", entity=("user", "n"))
class Sessions:
    """Both tiers; numbers, a text and states; what shares a session and what has its own; a ratio; a union."""

    @feature(freshness="5m", window=session("30m"))
    def clicks(w: web) -> int:
        return w.count()

    @feature(freshness="5m", window=session("30m"))
    def spent(w: web) -> float | None:
        return w.price.mean()

    @feature(freshness="5m", window=session("30m"))
    def dear(w: web) -> int:
        return w.filter(w.price > 9.0).count()

    @feature(freshness="5m", window=session("30m"))
    def share(w: web) -> float | None:
        return ratio(w.filter(w.price > 9.0).count(), w.filter(w.item == "a").count())

    @feature(freshness="realtime", window=session("1m"))
    def items(w: web) -> list[str]:
        return w.item.last_k(3)

    @feature(freshness="realtime", window=session("1m"))
    def least(w: web) -> str | None:
        return w.item.min()

    @feature(freshness="realtime", window=session("3h 20m"))
    def any_clicks(b: both) -> int:
        return b.count()


def program() -> str:
    """What the sessions add to a job."""
    plan: GroupPlan = Sessions.plan  # type: ignore[attr-defined]
    parts = statements([GroupTarget(plan, store_layout(plan, "v1"))], CONFIG)
    wanted = ("fdsl_sessions", "__in_time", "__session_", "__late")
    return ";\n\n".join(part for part in parts if any(word in part for word in wanted)) + ";\n"


def test_program_is_the_golden_one() -> None:
    assert program() == FILE.read_text(encoding="utf-8")


if __name__ == "__main__":
    FILE.write_text(program(), encoding="utf-8")
