"""What a group says of itself: repr, HTML, tags, docs, `explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from featuredsl import EventSource, feature, feature_group, on_demand, ratio
from featuredsl.cli.explaining import explain
from featuredsl.costs import backfills, cost, rows_to_read
from featuredsl.errors import DefinitionError
from featuredsl.lineage import columns_read
from featuredsl.plan import GroupPlan
from featuredsl.times import DAY, HOUR, MINUTE

clicks = EventSource(
    "clicks",
    event_time="ts",
    schema={"user": str, "email": str, "item": str, "price": float, "n": int},
    pii=("email",),
    tags={"price": ["money"], "item": "catalog"},
)
views = EventSource("views", event_time="ts", schema={"user": str, "email": str}, pii="email")


@feature_group(name="g", entity="user", owner="ranking", tags=["team"])
class Group:
    """What <users> do."""

    @feature(freshness="realtime", window="1h", tags=["hot"])
    def n(e: clicks) -> int:
        """How many & why.

        More.
        """
        return e.count()

    @feature(freshness="realtime", window="1h")
    def known(e: clicks) -> int:
        return e.filter(e.email != "").count()

    @feature(freshness="realtime", window=["1h", "2d"])
    def spend(e: clicks) -> float:
        return (e.price * e.n).sum()

    @feature(freshness="realtime", window="1h")
    def rate(c: clicks, v: views) -> float:
        return ratio(c.count(), v.email.count())

    @feature(freshness="1d", ttl="7d")
    def last(e: clicks) -> str:
        return e.filter(e.email != "").latest().item

    @on_demand(inputs=["known", "spend_1h"], request={"p": float}, tags=["own"])
    def score(known: int, spend_1h: float, p: float) -> float:
        return known * spend_1h * p


PLAN: GroupPlan = Group.plan  # type: ignore[attr-defined]


def test_tags_are_inherited_through_filters_expressions_and_inputs() -> None:
    tags = {item.name: item.tags for item in (*PLAN.features, *PLAN.on_demand)}
    assert tags == {
        "n": ("hot", "team"),
        "known": ("pii", "team"),
        "spend_1h": ("money", "team"),
        "spend_2d": ("money", "team"),
        "rate": ("pii", "team"),
        "last": ("catalog", "pii", "team"),
        "score": ("money", "own", "pii", "team"),
    }


def test_lineage_names_every_column() -> None:
    read = {item.name: columns_read(PLAN, item) for item in (*PLAN.features, *PLAN.on_demand)}
    assert read["n"] == ()
    assert read["known"] == (("clicks", "email"),)
    assert read["spend_2d"] == (("clicks", "n"), ("clicks", "price"))
    assert read["rate"] == (("views", "email"),)
    assert read["last"] == (("clicks", "email"), ("clicks", "item"))
    assert read["score"] == (("clicks", "email"), ("clicks", "n"), ("clicks", "price"))


def test_tags_do_not_change_sources_or_versions() -> None:
    plain = EventSource("views", event_time="ts", schema={"user": str, "email": str})
    assert plain == views
    with pytest.raises(DefinitionError, match=r"tagged column 'mail' is not in 's'.*Did you mean 'email'"):
        EventSource("s", event_time="ts", schema={"email": str}, tags={"mail": ["pii"]})


def test_repr_is_a_table() -> None:
    lines = repr(PLAN).splitlines()
    assert lines[0] == f"g@{PLAN.version} by (user: str), owner ranking"
    assert lines[1].split() == ["feature", "type", "tier", "from", "window", "hop", "tags", "doc"]
    assert lines[2].split() == [
        "n",
        "int",
        "realtime",
        "clicks",
        "1h",
        "5m",
        "hot,",
        "team",
        "How",
        "many",
        "&",
        "why.",
    ]
    assert lines[7].split()[:7] == ["last", "str", "1d", "clicks", "latest,", "ttl", "7d"]
    assert "known, spend_1h, request.p" in lines[8]
    assert len(lines) == 9


def test_html_is_escaped() -> None:
    text = PLAN._repr_html_()
    assert "<p>What &lt;users&gt; do.</p>" in text
    assert "<td>How many &amp; why.</td>" in text
    assert text.count("<tr>") == 8


def test_backfill_ranges_and_rows_by_hand() -> None:
    """2 d and a hop of 1 h; 7 d, and the age of the daily tier: a day and an hour."""
    found = backfills(PLAN)
    assert [b.span_us for b in found] == [7 * DAY + DAY + HOUR, HOUR + 5 * MINUTE]
    assert [b.text() for b in found] == ["clicks: [t - 193h, t)", "views: [t - 65m, t)"]
    assert found[1].text(2 * HOUR) == "views: [1970-01-01T00:55:00.000000Z, 1970-01-01T02:00:00.000000Z)"
    assert rows_to_read(PLAN, 2400) == 19_300 + 109  # 108.33 of views, rounded up
    assert cost(PLAN).online_bytes > cost(PLAN).ring_bytes > 0


def test_the_cost_of_states_by_hand() -> None:
    """14 slots of 47 bytes: a head of 25, tag and length of 5, and format, time and sum of 17; 26 rows of state."""

    @feature_group(name="g", entity="user")
    class Fading:
        @feature(freshness="realtime", window="1h")
        def recent(e: clicks) -> float:
            return e.price.decayed_sum("1h")

    found = cost(Fading.plan)  # type: ignore[attr-defined]
    assert (found.ring_bytes, found.hash_fields, found.hash_bytes) == (0, 14, 14 * (48 + 47))
    assert found.online_bytes == 14 * (48 + 47) + 96
    assert found.state_bytes == 26 * (64 + 47)


SOURCE = '''
from featuredsl import EventSource, feature, feature_group
clicks = EventSource("clicks", event_time="ts", schema={"u": str, "email": str}, pii=("email",))

@feature_group(name="g", entity="u", owner="me")
class G:
    """Docs."""

    @feature(freshness="realtime", window="1h", default=0)
    def n(e: clicks) -> int:
        """How many."""
        return e.email.count()

    @feature(freshness="1h", ttl="1d")
    def last(e: clicks) -> str:
        return e.latest().email
'''


def explained(tmp_path: Path, *options: str) -> str:
    file = tmp_path / "definitions.py"
    file.write_text(SOURCE, encoding="utf-8")
    done = CliRunner().invoke(explain, [str(file), *options], catch_exceptions=False)
    assert done.exit_code == 0
    return str(done.output)


def test_explain_says_how_long_keys_of_duplicates_are_remembered(tmp_path: Path) -> None:
    file = tmp_path / "definitions.py"
    declared = 'pii=("email",), unique=("u", "ts"), within="10m")'
    file.write_text(SOURCE.replace('pii=("email",))', declared), encoding="utf-8")
    done = CliRunner().invoke(explain, [str(file)], catch_exceptions=False)
    assert "duplicates of clicks: u, ts remembered for 76m, about 112 bytes an event" in done.output
    done = CliRunner().invoke(explain, [str(file), "--json"], catch_exceptions=False)
    (group,) = json.loads(done.output)["groups"]
    assert group["duplicates"] == [
        {"source": "clicks", "key": ["u", "ts"], "remembered": "76m", "bytes_per_event": 112}
    ]


TABLE = """
from featuredsl import EventSource, TableSource, feature, feature_group

clicks = EventSource("clicks", event_time="ts", schema={"u": str, "x": int})
items = TableSource("items", key="x", valid_from="since", schema={"x": int, "price": float, "kind": str})


@feature_group(name="g", entity="u")
class G:
    @feature(freshness="5m", window="1h")
    def spend(e: clicks) -> float:
        return e.join(items).price.sum()
"""


def test_explain_says_what_a_stream_keeps_of_a_table(tmp_path: Path) -> None:
    file = tmp_path / "definitions.py"
    file.write_text(TABLE, encoding="utf-8")
    done = CliRunner().invoke(explain, [str(file)], catch_exceptions=False)
    assert "table items for clicks+items: the newest row of each x, about 128 bytes each" in done.output
    done = CliRunner().invoke(explain, [str(file), "--json"], catch_exceptions=False)
    (group,) = json.loads(done.output)["groups"]
    assert group["tables"] == [
        {"table": "items", "key": ["x"], "source": "clicks+items", "bytes_per_row": 64 + 2 * (8 + 24)}
    ]


def test_explain_as_json(tmp_path: Path) -> None:
    (group,) = json.loads(explained(tmp_path, "--json", "--at", "2026-01-02T00:00:00Z"))["groups"]
    assert (group["group"], group["owner"], group["doc"], group["sql"]) == ("g", "me", "Docs.", None)
    assert group["entity"] == [{"name": "u", "type": "str"}]
    assert group["backfill"] == ["clicks: [2025-12-31T22:50:00.000000Z, 2026-01-02T00:00:00.000000Z)"]
    n, last = group["features"]
    assert n.pop("where").endswith("definitions.py:9")
    assert n == {
        "feature": "n", "type": "int", "tags": ["pii"], "doc": "How many.", "columns": ["clicks.email"],
        "sources": ["clicks"], "inputs": [], "default": 0, "tier": "realtime", "engine": "flink", "worst_age": "0s",
        "window": "1h", "hop": "5m", "tiles": 13,
    }  # fmt: skip
    assert (last["tier"], last["engine"], last["worst_age"]) == ("1h", "spark", "70m")
    assert (last["window"], last["hop"], last["tiles"]) == ("latest, ttl 1d", None, None)
    assert group["online"]["hash_fields"] == 1
    assert group["state_bytes"] > 0


def test_explain_as_text_and_sql(tmp_path: Path) -> None:
    text = explained(tmp_path)
    for part in (
        "n: How many.",
        "bytes per entity",
        "stream state: about",
        "backfill of clicks: [t - 1510m, t)",
        "pii",
    ):
        assert part in text
    assert "SELECT" not in text
    assert "SELECT" in explained(tmp_path, "--sql")
    (group,) = json.loads(explained(tmp_path, "--json", "--sql"))["groups"]
    assert sorted(group["sql"]) == ["duckdb", "flink", "spark"]
