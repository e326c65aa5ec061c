"""What a job takes from the landed history: how far back, and how its program tells those records apart."""

from __future__ import annotations

import itertools

import pytest

from featuredsl import EventSource, TableSource, feature, feature_group, lifetime, session, union, window
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.plan import GroupPlan
from featuredsl.tiles import MAX_AHEAD_S, store_layout
from featuredsl.times import DAY, HOUR, MINUTE, SECOND
from jobs.flink.refilling import needed_us

SCHEMA = {"u": str, "x": int}
plain = EventSource("plain", event_time="ts", schema=SCHEMA)
once = EventSource("once", event_time="ts", schema=SCHEMA, unique="x", within="1d")
other = EventSource("other", event_time="ts", schema=SCHEMA)
NUMBERS = itertools.count()
both = union("both", plain, other)


def group(*features: object) -> GroupPlan:
    members = {f"f{number}": one for number, one in enumerate(features)}
    made = feature_group(name="g", entity="u", retention="2d")(type("G", (), members))
    plan: GroupPlan = made.plan  # type: ignore[attr-defined]
    return plan


def count(source: EventSource, tier: str = "realtime", **options: object) -> object:
    def n(e: object) -> int:
        return e.count()  # type: ignore[attr-defined, no-any-return]

    n.__name__ = f"n_{next(NUMBERS)}"
    n.__annotations__["e"] = source
    return feature(freshness=tier, **options)(n)  # type: ignore[arg-type]


def last(source: EventSource, **options: object) -> object:
    def x(e: object) -> int:
        return e.latest().x  # type: ignore[attr-defined, no-any-return]

    x.__annotations__["e"] = source
    return feature(freshness="realtime", **options)(x)  # type: ignore[arg-type]


def test_of_a_table_everything_is_needed() -> None:
    items = TableSource("items", key="x", valid_from="since", schema={"x": int, "price": int})

    def spend(e: object) -> int:
        return e.join(items).price.sum()  # type: ignore[attr-defined, no-any-return]

    spend.__annotations__["e"] = plain
    plan = group(feature(freshness="5m", window="1h")(spend))
    assert needed_us(items.records, [plan]) is None
    assert needed_us(plain, [plan]) is not None
    program = statements(
        [GroupTarget(plan, store_layout(plan))],
        StreamConfig("k:1", "redis://r:1", "", "g", {"items": "items.refill-1"}),
    )
    (table,) = (text for text in program if text.startswith("CREATE TABLE `items` "))
    assert "'topic' = 'items;items.refill-1'" in table
    (letters,) = (text for text in program if text.startswith("INSERT INTO `items__dlq`"))
    assert letters.endswith("AND `_topic` = 'items'")


HOUR_BACK = HOUR + 5 * MINUTE + 2 * DAY
"""A window of an hour with its hop, and the retention."""


@pytest.mark.parametrize(
    ("features", "reach_us"),
    [
        ([count(plain, window="1h")], HOUR_BACK + HOUR + 5 * MINUTE + MAX_AHEAD_S * SECOND),
        ([count(both, window="1h"), last(plain, ttl="30d")], 62 * DAY + MAX_AHEAD_S * SECOND),
        ([count(other, window="30d"), count(plain, "1d", window=lifetime), last(plain, ttl="1h")],
         2 * HOUR + 2 * DAY + MAX_AHEAD_S * SECOND),
        ([count(plain, window="1h"), last(plain)], None),
        ([count(plain, window=session("30m"))], None),
    ],
)  # fmt: skip
def test_how_far_back_a_stream_looks(features: list[object], reach_us: int | None) -> None:
    assert needed_us(plain, [group(*features)]) == reach_us


@pytest.mark.parametrize("source", [plain, once])
@pytest.mark.parametrize("tier", ["realtime", "5m"])
def test_landed_records_are_no_dead_letters_again(source: EventSource, tier: str) -> None:
    plan = group(count(source, tier, window=window("1h")))
    target = GroupTarget(plan, store_layout(plan, "v1"))
    topic = f"p.{source.name}"
    config = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")
    refilled = StreamConfig(*(config.kafka, config.redis, config.prefix, config.group_id), {topic: f"{topic}.refill-1"})
    before, after = (statements([target], one) for one in (config, refilled))
    own = f" AND `_topic` = '{topic}'"
    letters = [text for text in after if ".dlq'" not in text and own in text]
    assert len(letters) == (2 if tier == "5m" else 1)
    assert [text.replace(own, "") for text in after if text.startswith("INSERT")] == [
        text for text in before if text.startswith("INSERT")
    ]
    (table,) = [text for text in after if f"'topic' = '{topic};{topic}.refill-1'" in text]
    assert "`_topic` STRING METADATA FROM 'topic' VIRTUAL" in table
    assert not any("_topic`" in text for text in before)
