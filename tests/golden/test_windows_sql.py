"""The programs of one group with every kind of window, as text.

Regenerate with `python -m tests.golden.test_windows_sql`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl import EventSource, feature, feature_group, lifetime, ratio, session, tumbling, window
from featuredsl.compilers.collapsed import collapsed
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB, SPARK
from featuredsl.compilers.snapshot import snapshot
from featuredsl.horizon import history_columns
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout

FOLDER = Path(__file__).with_name("compilers")
CONFIG = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")
clicks = EventSource("clicks", event_time="ts", schema={"user": str, "price": float})
views = EventSource("views", event_time="ts", schema={"user": str, "seen": int}, arrival_time="at")


@feature_group(name="kinds", entity="user")
class Kinds:
    """Every kind, two of them filtered."""

    @feature(freshness="1h", window=["6h", tumbling("1h"), session("30m"), lifetime, window("1d", offset="1d")])
    def n(c: clicks) -> int:
        return c.count()

    @feature(freshness="1h", window=session("30m"))
    def dear(c: clicks) -> float:
        return c.filter(c.price > 9.0).price.mean()


@feature_group(name="tiles", entity="user")
class Tiles:
    """What a stream keeps."""

    @feature(freshness="realtime", window=["12h", tumbling("1h"), tumbling("10s")])
    def n(c: clicks) -> int:
        return c.count()


@feature_group(name="ever", entity="user")
class Ever:
    """A streamed lifetime of two sources: what a batch run collapses."""

    @feature(freshness="realtime", window=lifetime)
    def rate(c: clicks, v: views) -> float:
        return ratio(c.filter(c.price > 9.0).price.sum(), v.seen.sum())

    @feature(freshness="5m", window=lifetime)
    def n(c: clicks) -> int:
        return c.count()


def plan_of(group: type) -> GroupPlan:
    plan: GroupPlan = group.plan  # type: ignore[attr-defined]
    return plan


def programs() -> dict[str, str]:
    """File name to text."""
    kinds, tiles, ever = plan_of(Kinds), plan_of(Tiles), plan_of(Ever)
    history = history_columns(ever)
    assert history is not None
    horizon, at = 1_767_225_600_000_000, 1_767_226_200_000_000
    flink = ";\n\n".join(statements([GroupTarget(tiles, store_layout(tiles, "v1"))], CONFIG)[-5:])
    return {
        "windows.duckdb.sql": point_in_time(kinds, DUCKDB) + ";\n",
        "windows.spark.sql": point_in_time(kinds, SPARK) + ";\n",
        "windows.snapshot.spark.sql": snapshot(kinds, SPARK, 1_767_225_600_000_000, kinds.features) + ";\n",
        "history.duckdb.sql": collapsed(ever, history, DUCKDB, horizon, at) + ";\n",
        "history.spark.sql": collapsed(ever, history, SPARK, horizon, at) + ";\n",
        "windows.flink.sql": flink + ";\n",
    }


@pytest.mark.parametrize("name", sorted(programs()))
def test_program_is_the_golden_one(name: str) -> None:
    assert programs()[name] == (FOLDER / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    for file, text in programs().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
