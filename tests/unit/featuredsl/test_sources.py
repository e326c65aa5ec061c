"""Source declarations: what they are told when they are wrong, their fingerprint, and what Flink refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from featuredsl import EventSource, TableSource, feature, feature_group, union
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.errors import DefinitionError, UnsupportedError
from featuredsl.plan import GroupPlan, inputs_of
from featuredsl.tiles import store_layout
from featuredsl.times import MINUTE
from jobs.flink.heartbeats import beaten

SCHEMA = {"u": str, "x": int, "f": float}
clicks = EventSource("clicks", event_time="ts", schema=SCHEMA)
views = EventSource("views", event_time="ts", schema={"u": str, "x": int, "page": str})
items = TableSource("items", key="x", valid_from="since", schema={"x": int, "price": float, "f": float})


def group(source: EventSource, build: Callable[[Any], Any], kind: type = int, freshness: str = "1h") -> GroupPlan:
    """A group of one feature."""

    def n(e):  # type: ignore[no-untyped-def]
        return build(e)

    n.__annotations__ = {"e": source, "return": kind}
    made = feature(freshness=freshness, window="6h")(n)
    plan: GroupPlan = feature_group(name="g", entity="u")(type("G", (), {"n": made})).plan
    return plan


def events(**options: Any) -> EventSource:
    return EventSource("clicks", event_time="ts", **{"schema": SCHEMA} | options)


@pytest.mark.parametrize(
    ("declare", "parts"),
    [
        (lambda: events(unique="uu"), ("'uu'", "'u'", "clicks")),
        (lambda: events(unique=("u", "f")), ("'f'", "float", "int or str or bool")),
        (lambda: events(unique=("u", "u")), ("unique", "different")),
        (lambda: events(within="1d"), ("within=", "unique=")),
        (lambda: events(unique="u", within="1 year"), ("within", "duration")),
        (lambda: events(unique="u", within=0), ("within", "positive")),
        (lambda: events(unique="u", within=-5), ("within", "positive")),
        (lambda: events(arrival_time="ts"), ("arrival_time", "event time")),
        (lambda: events(sequence="f"), ("sequence", "float", "int")),
        (lambda: events(schema={"u": str, "ts_us": int}), ("'ts_us'", "reserved")),
        (lambda: events(schema={"u": str, "arrival_us": int}), ("'arrival_us'", "reserved")),
        (lambda: events(time_unit="m"), ("'m'", "s, ms, us")),
        (lambda: union("all", clicks), ("'all'", "two or more")),
        (lambda: union("all", clicks, clicks), ("'all'", "different")),
        (lambda: union("clicks", clicks, views), ("'clicks'", "name of one")),
        (lambda: union("all", clicks, EventSource("o", event_time="t", schema={"q": str})), ("no column in common",)),
        (lambda: union("all", clicks, EventSource("o", event_time="t", schema={"x": str})), ("'x'", "several types")),
        (lambda: union("all", union("two", clicks, views), events()), ("'two'", "union itself")),
        (lambda: TableSource("t", key="k", valid_from="s", schema={"u": str}), ("'k'", "it has", "u")),
        (lambda: TableSource("t", key="u", valid_from="s", schema={"u": str}), ("no column beside", "u")),
        (lambda: TableSource("t", key="f", valid_from="s", schema=SCHEMA), ("'f'", "float")),
        (lambda: group(clicks, lambda e: e.join(items).count()), ("'f'", "prefix='items_'")),
        (lambda: group(clicks, lambda e: e.join(items, on="u", prefix="i_").count()), ("'u'", "str", "int")),
        (
            lambda: group(clicks, lambda e: e.join(items, on="xx", prefix="i_").count()),
            ("'xx'", "Did you mean 'x'", "on="),
        ),
        (lambda: group(clicks, lambda e: e.join(items, on=("x", "u")).count()), ("2 columns", "key is x")),
        (lambda: group(clicks, lambda e: e.join(views).count()), ("TableSource",)),
        (lambda: group(views, lambda e: e.join(items).pric.sum(), float), ("'pric'", "'price'", "views+items")),
        (lambda: group(items, lambda e: e.count()), ("'e'", "e.join(table)")),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_declaration_is_told_what_is_wrong(declare: Callable[[], object], parts: tuple[str, ...]) -> None:
    with pytest.raises(DefinitionError) as caught:
        declare()
    for part in parts:
        assert part in str(caught.value)


def test_a_condition_of_another_stream_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"filter\(\) of 'views' .* not those of 'views\+items'"):
        group(views, lambda e: e.filter(e.join(items).price > 0).count())


def test_what_a_source_is_made_of() -> None:
    once = events(unique="u", arrival_time="at", within="1d")
    everything = union("all", once, views)
    assert everything.columns == (("u", "str"), ("x", "int"))
    assert everything.view_columns == ("u", "x", "ts_us", "arrival_us")
    plan = group(everything, lambda e: e.join(items).price.sum(), float)
    assert [source.name for source in plan.sources] == ["all+items"]
    assert plan.streams == (once, views)
    assert plan.tables == (items,)
    assert inputs_of([plan]) == {"clicks": once, "views": views, "items": items.records}


def test_the_entity_may_be_a_column_of_a_table() -> None:
    def n(e):  # type: ignore[no-untyped-def]
        return e.join(kinds).count()

    kinds = TableSource("kinds", key="page", valid_from="since", schema={"page": str, "kind": str})
    n.__annotations__ = {"e": views, "return": int}
    made = feature(freshness="1h", window="6h")(n)
    plan: GroupPlan = feature_group(name="g", entity="kind")(type("G", (), {"n": made})).plan
    assert plan.entity == (("kind", "str"),)


def test_one_name_is_one_source_in_a_group() -> None:
    def n(e, f):  # type: ignore[no-untyped-def]
        return e.count() / f.count()

    n.__annotations__ = {"e": clicks, "f": events(unique="u"), "return": float}
    made = feature(freshness="1h", window="6h")(n)
    with pytest.raises(DefinitionError, match="two sources of the group are called 'clicks'"):
        feature_group(name="g", entity="u")(type("G", (), {"n": made}))


def test_one_name_is_one_source() -> None:
    plans = [group(clicks, lambda e: e.count()), group(events(unique="u"), lambda e: e.count())]
    with pytest.raises(DefinitionError, match="'clicks' is also defined differently"):
        inputs_of(plans)


def count_of(source: EventSource) -> str:
    return group(source, lambda e: e.count()).version


def test_the_fingerprint_is_the_meaning() -> None:
    changed = [
        events(),
        events(unique="u"),
        events(unique=("u", "x")),
        events(unique="u", within="1d"),
        events(unique="u", within="2d"),
        events(arrival_time="at"),
        events(arrival_time="seen"),
        union("all", events(), views),
        union("all", events(unique="u"), views),
    ]
    assert len({count_of(source) for source in changed}) == len(changed)
    assert count_of(events(unique=["u"], within="24h")) == count_of(events(unique="u", within="1d"))
    assert count_of(union("all", views, events())) == count_of(union("all", events(), views))


def test_the_fingerprint_of_a_join() -> None:
    def version(table: TableSource, **options: Any) -> str:
        return group(views, lambda e: e.join(table, **options).price.sum(), float).version

    schema = {"x": int, "price": float}
    tables = [
        items,
        TableSource("items", key="x", valid_from="from", schema=items_schema()),
        TableSource("items", key="x", valid_from="since", schema=schema),
        TableSource("items", key="x", valid_from="since", schema=items_schema(), time_unit="s"),
    ]
    assert len({version(table) for table in tables}) == len(tables)
    assert version(items) == version(TableSource("items", key=("x",), valid_from="since", schema=items_schema()))


def items_schema() -> dict[str, type]:
    return {"x": int, "price": float, "f": float}


CONFIG = StreamConfig("kafka:1", "redis://redis:1/0", "", "group")


def flink(plan: GroupPlan) -> str:
    return ";\n".join(statements([GroupTarget(plan, store_layout(plan))], CONFIG))


@pytest.mark.parametrize(
    ("source", "build", "problem"),
    [
        (events(unique=("u", "x")), lambda e: e.count(), "source 'clicks' is unique by u, x without within="),
        (
            union("all", views, events(unique="u")),
            lambda e: e.count(),
            "source 'clicks' is unique by u without within=",
        ),
        (
            views,
            lambda e: e.join(items).count(),
            "an event cannot wait for table 'items' in tier realtime; use freshness 5m, or",
        ),
    ],
)
def test_flink_refuses_what_it_cannot_stream(source: EventSource, build: Callable[[Any], Any], problem: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        flink(group(source, build, freshness="realtime"))
    text = str(caught.value)
    assert text.startswith("flink: g.n (")
    assert problem in text
    assert "1h or 1d" in text
    assert "INSERT" not in flink(group(source, build)), "a batch feature needs nothing of a stream"


def plan_by_x(source: EventSource) -> GroupPlan:
    def n(e):  # type: ignore[no-untyped-def]
        return e.count()

    n.__annotations__ = {"e": source, "return": int}
    made = feature(freshness="5m", window="6h")(n)
    plan: GroupPlan = feature_group(name="h", entity="x")(type("H", (), {"n": made})).plan
    return plan


def test_one_name_is_not_a_source_and_a_table_of_one_job() -> None:
    twin = EventSource("items", event_time="since", schema=items_schema())
    plans = [
        group(views, lambda e: e.join(items, prefix="i_").count(), freshness="5m"),
        plan_by_x(twin),
    ]
    with pytest.raises(UnsupportedError, match="'items' is a source and a table of one job"):
        statements([GroupTarget(plan, store_layout(plan)) for plan in plans], CONFIG)


def test_heartbeats_go_to_tables_and_if_wanted_to_the_sources_that_need_event_time() -> None:
    joined = group(views, lambda e: e.join(items, prefix="i_").count(), freshness="5m")
    live = group(events(), lambda e: e.count(), freshness="realtime")
    assert beaten([joined, live], sources=False) == ["items"]
    assert beaten([joined, live], sources=True) == ["items", "views"]


def test_flink_joins_a_table_in_closed_minutes_only() -> None:
    program = flink(group(views, lambda e: e.join(items).count(), freshness="5m"))
    assert "fdsl_as_of(" in program
    assert "'topic' = 'items'" in program
    kept = events(unique=("u", "x"))
    with pytest.raises(UnsupportedError, match="is unique by u, x without within="):
        flink(group(kept, lambda e: e.join(items, prefix="item_").count(), freshness="5m"))


@pytest.mark.parametrize(
    ("source", "within_us"),
    [
        (events(unique=("u", "x"), within="10m"), 600_000_000),
        (events(unique=("x", "ts")), 0),
        (events(unique=("u", "ts"), within="1s"), 1_000_000),
        (events(unique=("u", "ts"), arrival_time="at"), 0),
    ],
)
def test_flink_drops_duplicates_where_their_keys_need_not_be_kept_for_ever(source: EventSource, within_us: int) -> None:
    text = flink(group(source, lambda e: e.count(), freshness="realtime"))
    keep_us = within_us + (6 * 60 + 5 + 1) * MINUTE
    assert f"withinUs => CAST({within_us} AS BIGINT), keepUs => CAST({keep_us} AS BIGINT)" in text
    assert "CREATE TABLE `clicks__records`" in text
    assert "FROM `clicks`\nWHERE" in text
    assert "fdsl_first_in_time" not in text


def test_flink_remembers_keys_a_day_longer_for_a_lookup_without_end() -> None:
    def last(e):  # type: ignore[no-untyped-def]
        return e.latest().x

    last.__annotations__ = {"e": events(unique="x", within="1h"), "return": int}
    made = feature(freshness="realtime")(last)
    plan: GroupPlan = feature_group(name="g", entity="u")(type("G", (), {"last": made})).plan
    assert f"keepUs => CAST({(25 * 60 + 1) * MINUTE} AS BIGINT)" in flink(plan)


def test_flink_measures_within_in_arrival_time() -> None:
    made = events(unique="u", within="10m", arrival_time="at", time_unit="s")
    assert "(`at` * 1000000) AS `_at`, `_ts` AS `_tie`" in flink(group(made, lambda e: e.count(), freshness="realtime"))


def test_flink_drops_the_duplicates_of_each_part_of_a_union() -> None:
    both = union("all", views, events(unique="u", within="1h"))
    text = flink(group(both, lambda e: e.count(), freshness="5m"))
    assert text.count("fdsl_first_in_time(") == 1
    assert "uid => 'unique-clicks-in-time'" in text
    assert "views__keyed" not in text


def test_flink_reads_an_arrival_as_a_time_that_must_be_there() -> None:
    text = flink(group(events(arrival_time="at", time_unit="s"), lambda e: e.count(), freshness="realtime"))
    assert "`at` BIGINT" in text
    assert "'featuredsl-json.time-columns' = 'at'" in text
    assert "'featuredsl-json.required' = 'at'" in text
