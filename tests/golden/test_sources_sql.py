"""The programs of every kind of source, as text: arrival, duplicates, a union, a table. Read a change of it.

Regenerate with `python -m tests.golden.test_sources_sql`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB, SPARK
from featuredsl.tiles import store_layout
from tests.conformance.cases import plan_of
from tests.conformance.cases_sources import Arrived, Bought, Everywhere, Numbers, Resend, Unique
from tests.support.table_groups import Bought as BoughtInStreams
from tests.support.table_groups import ByKind
from tests.support.unique_groups import Copied, SentAgain, Visited

FOLDER = Path(__file__).with_name("compilers")
CONFIG = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")


def program(target: str) -> str:
    """The text of one target."""
    if target == "flink":
        plans = [plan_of(group) for group in (Arrived, Everywhere, Numbers)]
        parts = statements([GroupTarget(plan, store_layout(plan, "v1")) for plan in plans], CONFIG)
    else:
        plans = [plan_of(group) for group in (Arrived, Unique, Resend, Everywhere, Bought)]
        parts = [point_in_time(plan, SPARK if target == "spark" else DUCKDB) for plan in plans]
    return ";\n\n".join(parts) + ";\n"


def unique_program() -> str:
    """Duplicates in streams: realtime and closed minutes, with an arrival time and without, sessions."""
    plans = [plan_of(group) for group in (Copied, SentAgain, Visited)]
    return ";\n\n".join(statements([GroupTarget(plan, store_layout(plan, "v1")) for plan in plans], CONFIG)) + ";\n"


def tables_program() -> str:
    """Slowly changing tables in closed minutes: what is read, as far as the views, and one feature of an entity of a
    table."""
    plans = [plan_of(group) for group in (BoughtInStreams, ByKind)]
    parts = statements([GroupTarget(plan, store_layout(plan, "v1")) for plan in plans], CONFIG)
    shown = [part for part in parts if "AsOf" in part or "CREATE TABLE `items` " in part or "+items" in part]
    return ";\n\n".join([*shown, *(part for part in parts if part.startswith("INSERT INTO `items__"))]) + ";\n"


def test_program_of_tables_is_the_golden_one() -> None:
    assert tables_program() == (FOLDER / "tables.flink.sql").read_text(encoding="utf-8")


def test_program_of_duplicates_is_the_golden_one() -> None:
    assert unique_program() == (FOLDER / "unique.flink.sql").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["flink", "spark", "duckdb"])
def test_program_is_the_golden_one(target: str) -> None:
    golden = (FOLDER / f"sources.{target}.sql").read_text(encoding="utf-8")
    assert program(target) == golden


if __name__ == "__main__":
    (FOLDER / "unique.flink.sql").write_text(unique_program(), encoding="utf-8")
    (FOLDER / "tables.flink.sql").write_text(tables_program(), encoding="utf-8")
    for name in ("flink", "spark", "duckdb"):
        (FOLDER / f"sources.{name}.sql").write_text(program(name), encoding="utf-8")
