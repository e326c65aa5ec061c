"""Windows: bounds of each kind, names, what is refused where, what is kept online."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from featuredsl import EventSource, feature, feature_group, lifetime, ratio, session, tumbling, window
from featuredsl.cli.explaining import explain
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.errors import DefinitionError
from featuredsl.finalize import Finalizer
from featuredsl.fingerprint import canonical
from featuredsl.online.layout import StoreLayout
from featuredsl.plan import GroupPlan, WindowFeature
from featuredsl.tiles import longest_reach_us, store_layout, tile_tiers
from featuredsl.times import DAY, HOUR, MINUTE, SECOND
from featuredsl.windows import BEGINNING, Sliding, Window

clicks = EventSource("clicks", event_time="ts", schema={"user": str, "n": int})
views = EventSource("views", event_time="ts", schema={"user": str, "n": int})
CONFIG = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")


def count(spec: Any, freshness: str = "realtime", name: str = "n") -> Any:
    """A declared count over windows."""

    def body(c: Any) -> Any:
        return c.count()

    body.__name__ = name
    body.__annotations__ = {"c": clicks, "return": int}
    return feature(freshness=freshness, window=spec)(body)  # type: ignore[arg-type]


def group(*features: Any) -> GroupPlan:
    body = {item.function.__name__: item for item in features}
    made = feature_group(name="g", entity="user")(type("G", (), body | {"__module__": __name__}))
    plan: GroupPlan = made.plan  # type: ignore[attr-defined]
    return plan


@pytest.mark.parametrize(
    ("made", "t", "low", "high"),
    [
        (window("1h"), 2 * HOUR + 7 * MINUTE, HOUR + 5 * MINUTE, 2 * HOUR + 7 * MINUTE),
        (window("1h"), -7 * MINUTE, -HOUR - 10 * MINUTE, -7 * MINUTE),
        (window("1h", hop="1h"), 90 * MINUTE, 0, 90 * MINUTE),
        (window("1d", offset="1d"), 3 * DAY + 90 * MINUTE, DAY + HOUR, 2 * DAY + HOUR),
        (tumbling("1h"), 2 * HOUR - 1, 0, HOUR),
        (tumbling("1h"), 2 * HOUR, HOUR, 2 * HOUR),
        (tumbling("1h"), -1, -2 * HOUR, -HOUR),
        (tumbling("1s"), 0, -SECOND, 0),
        (lifetime, 5, BEGINNING, 5),
    ],
)
def test_bounds(made: Window, t: int, low: int, high: int) -> None:
    assert made.bounds(t) == (low, high)


def test_a_session_has_no_bounds() -> None:
    with pytest.raises(DefinitionError, match="events say where a session begins"):
        session("30m").bounds(0)


def test_several_windows_are_told_apart_by_suffixes() -> None:
    specs = ["1h", "60s", "3h 20m", tumbling("24h"), session("30m"), lifetime, window("1d", offset="1d")]
    plan = group(count([*specs, window(90 * MINUTE), tumbling(HOUR), session(SECOND)]))
    assert plan.feature_names == (
        "n_1h",
        "n_60s",
        "n_3h20m",
        "n_tumbling_24h",
        "n_session_30m",
        "n_lifetime",
        "n_1d_offset_1d",
        "n_90m",
        "n_tumbling_1h",
        "n_session_1s",
    )


@pytest.mark.parametrize("spec", ["1h", ["1h"], (tumbling("1h"),), session("30m"), lifetime, "lifetime"])
def test_a_single_window_adds_no_suffix(spec: Any) -> None:
    assert group(count(spec)).feature_names == ("n",)


def test_spelling_is_no_difference() -> None:
    assert window("24h") == window("1d")
    assert tumbling("60m") == tumbling("1h")
    assert session("60m") == session(HOUR)
    assert group(count("24h")).version == group(count("1d")).version


def test_the_kind_is_a_part_of_the_meaning() -> None:
    kinds = ["1h", tumbling("1h"), session("1h"), lifetime, window("1h", offset="1h"), window("1h", hop="1m")]
    assert len({group(count(kind)).version for kind in kinds}) == len(kinds)


def test_a_sliding_window_keeps_its_canonical_form() -> None:
    found = canonical(group(count(window("1d", offset="1h"))))["features"]["n"]["window"]
    assert found == [DAY, HOUR, HOUR]


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: window("1h", hop=0), ["test_windows.py:", "hop 0 is not a positive duration"]),
        (lambda: window("1h", hop=-5), ["hop -5 is not a positive duration"]),
        (lambda: window("1h", hop=True), ["hop True is no duration"]),
        (lambda: window("1h", hop="0m"), ["hop '0m' is not a positive duration"]),
        (lambda: window("1h", hop="7m"), ["hop 7m does not divide the window 1h", "5m"]),
        (lambda: window("1h", hop="2h"), ["hop 2h does not divide the window 1h"]),
        (lambda: window("1h", offset="7m"), ["offset 7m is not a multiple of the hop 5m", "use a multiple"]),
        (lambda: window("1h", offset=-HOUR), ["offset -3600000000 is not a positive duration"]),
        (lambda: window("1h", offset=False), ["offset False is no duration"]),
        (lambda: window("5s"), ["window 5s must be at least 12s"]),
        (lambda: window("5s", hop="1s"), ["window 5s must be at least 12s"]),
        (lambda: window("12500ms", hop="500ms"), ["window 12500ms", "whole seconds"]),
        (lambda: window(3.5), ["window 3.5 is no duration"]),
        (lambda: window("an hour"), ["'an hour' is not a duration", "tumbling('1h')"]),
        (lambda: tumbling("500ms"), ["test_windows.py:", "whole seconds"]),
        (lambda: tumbling(0), ["tumbling window 0 is not a positive duration"]),
        (lambda: session(0), ["test_windows.py:", "session gap 0 is not a positive duration"]),
        (lambda: session(True), ["session gap True is no duration"]),
    ],
)
def test_a_wrong_window_names_its_line_and_what_to_do(make: Callable[[], object], parts: list[str]) -> None:
    with pytest.raises(DefinitionError) as caught:
        make()
    assert [part for part in parts if part not in str(caught.value)] == []


def visit_rate(spec: Any) -> Any:
    @feature(freshness="realtime", window=spec)
    def rate(c: clicks, v: views) -> float:
        return ratio(c.count(), v.count())

    return rate


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: count(3600), ["window=3600 is a number without a unit", "'1h'"]),
        (lambda: count(tumbling), ["window tumbling is no window"]),
        (lambda: count(["1h", None]), ["window None is no window"]),
        (lambda: count("tumbling"), ["'tumbling' is not a duration", "tumbling('1h')"]),
        (lambda: count(["1h", "60m"]), ["windows 1h and 60m are the same"]),
        (lambda: count([lifetime, "lifetime"]), ["windows lifetime and lifetime are the same"]),
        (lambda: count("30m", "1h"), ["window 30m is shorter than the period 1h of freshness '1h'"]),
        (lambda: count(tumbling("1h"), "1d"), ["window tumbling 1h is shorter than the period 1d", "fresher tier"]),
        (lambda: count("30s", "5m"), ["window 30s is shorter than the period 1m of freshness '5m'"]),
        (lambda: visit_rate(session("30m")), ["a session is made of the events of one source", "clicks, views"]),
        (lambda: visit_rate(["1h", session("30m")]), ["a session is made of the events of one source"]),
    ],
)
def test_a_wrong_feature_names_its_line_and_what_to_do(make: Callable[[], Any], parts: list[str]) -> None:
    with pytest.raises(DefinitionError) as caught:
        group(make())
    text = str(caught.value)
    assert [part for part in [*parts, "test_windows.py:"] if part not in text] == []


def test_a_suffix_must_not_be_the_name_of_another_feature() -> None:
    with pytest.raises(DefinitionError, match=r"'n_1h' is defined twice: .*:\d+ and .*:\d+; .* several windows"):
        group(count(["1h", "7d"]), count("1h", name="n_1h"))
    with pytest.raises(DefinitionError, match="'n_tumbling_1h' is defined twice"):
        group(count("1h", name="n_tumbling_1h"), count(["1h", tumbling("1h")]))
    assert group(count("1h"), count("7d", name="n_7d")).feature_names == ("n", "n_7d")


def batch_columns(layout: StoreLayout) -> list[str]:
    return [column.name for tier in layout.batch for column in tier.columns]


def test_batch_tiers_keep_every_kind_as_values() -> None:
    plan = group(count([session("30m"), lifetime, tumbling("2h"), "6h"], "1h"))
    layout = store_layout(plan)
    assert layout.ring == ()
    assert batch_columns(layout) == ["n_session_30m", "n_lifetime", "n_tumbling_2h", "n_6h"]
    assert longest_reach_us(plan) == 6 * HOUR + 5 * MINUTE
    Finalizer(plan)


def test_a_tumbling_window_is_a_tile_of_its_own_size() -> None:
    (tier,) = tile_tiers(group(count(tumbling("1h"))))
    assert (tier.name, tier.hop_us, tier.slots) == ("clicks/1h", HOUR, 3)


def test_a_tumbling_window_shares_the_tiles_of_a_sliding_one_with_that_hop() -> None:
    (tier,) = tile_tiers(group(count(["12h", tumbling("1h")])))
    assert (tier.hop_us, tier.slots, len(tier.partials)) == (HOUR, 14, 1)


def test_flink_folds_a_tumbling_window_into_its_tiles() -> None:
    plan = group(count(tumbling("1h")))
    made = statements([GroupTarget(plan, store_layout(plan))], CONFIG)
    table, insert = made[[one.startswith("INSERT") for one in made].index(True) - 1], made[-1]
    assert "'slots' = '3'" in table
    assert "'hop' = '3600000000'" in table
    assert "(`_ts` - (((`_ts` % 3600000000) + 3600000000) % 3600000000)) / 3600000000) AS `tile`" in insert


DEFINITIONS = """
from featuredsl import EventSource, feature, feature_group, lifetime, session, tumbling, window
clicks = EventSource("clicks", event_time="ts", schema={"user": str})

@feature_group(name="g", entity="user")
class G:
    @feature(freshness="realtime", window=["1h", tumbling("1h"), session("30m"), lifetime])
    def n(c: clicks) -> int:
        return c.count()
"""
UNBOUNDED = """
    @feature(freshness="realtime", window=lifetime)
    def users(c: clicks) -> int:
        return c.user.approx_distinct()
"""


def test_explain_shows_each_kind_and_what_is_not_online(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "definitions.py"
    kinds, refused = ["tumbling 1h", "session 30m", "lifetime"], ["not online: online store: g.users", "-- no program:"]
    for more, wanted in (("", kinds), (UNBOUNDED, kinds + refused)):
        path.write_text(DEFINITIONS + more)
        done = CliRunner().invoke(explain, [str(path), "--sql"])
        assert done.exit_code == 0, done.output
        assert [part for part in kinds + refused if part in done.output] == wanted


def test_every_kind_describes_itself() -> None:
    kinds = [window("1h"), tumbling("1h"), lifetime, session("30m")]
    assert [kind.describe(HOUR) for kind in kinds] == [
        "events in [1970-01-01T00:00:00.000000Z, 1970-01-01T01:00:00.000000Z)",
        "events in [1970-01-01T00:00:00.000000Z, 1970-01-01T01:00:00.000000Z)",
        "events in [the beginning, 1970-01-01T01:00:00.000000Z)",
        "events of the last session whose last event is at or before 1970-01-01T00:30:00.000000Z",
    ]


def test_window_is_a_sliding_one() -> None:
    (made,) = (f.window for f in group(count("1h")).features if isinstance(f, WindowFeature))
    assert made == Sliding(HOUR, 5 * MINUTE)
