"""Comparison of logged reads with offline values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from featuredsl import EventSource, feature, feature_group, on_demand
from featuredsl.errors import InputError
from featuredsl.parity import ReadValue, check_reads, compare, equal, parse_reads
from featuredsl.plan import GroupPlan
from featuredsl.times import HOUR

clicks = EventSource("clicks", event_time="ts", schema={"u": str, "price": float})


@feature_group(name="g", entity="u")
class Group:
    """One feature of each kind."""

    @feature(freshness="realtime", window="1h")
    def n(e: clicks) -> int:
        return e.count()

    @feature(freshness="1h", window="6h")
    def spend(e: clicks) -> float:
        return e.price.sum()

    @on_demand(inputs=["spend"], request={"budget": float})
    def left(spend: float, budget: float) -> float:
        """What is left of a budget."""
        return budget - spend


PLAN: GroupPlan = Group.plan  # type: ignore[attr-defined]
PLANS = {"g": PLAN}
AT = 500_000 * HOUR + 30 * 60_000_000
ON_TIME = 500_000 * HOUR
TRUTH = {"n": 3, "spend": 0.3, "left": 0.7}


def line(at: object = AT, **changes: dict[str, Any]) -> str:
    """A logged read that is right, with changes per feature."""
    features = {
        "n": {"value": 3, "status": "OK", "as_of": AT, "event_time": AT - 1},
        "spend": {"value": 0.1 + 0.2, "status": "OK", "as_of": ON_TIME, "event_time": None},
        "left": {"value": 0.7, "status": "OK", "as_of": AT, "event_time": None},
    }
    for name, change in changes.items():
        features[name] = features[name] | change
    return json.dumps({"at": at, "group": "g", "key": ["a"], "request": {"budget": 1.0}, "features": features})


def counts(feature: str, text: str) -> dict[str, int]:
    report = compare(PLANS, parse_reads([text]), [TRUTH])
    found = next(f for f in report.features if f.feature == feature)
    return {str(outcome): count for outcome, count in found.counts.items() if count}


def test_equal_reads_match_within_float_tolerance() -> None:
    report = compare(PLANS, parse_reads([line(), ""]), [TRUTH])
    assert [feature.counts["match"] for feature in report.features] == [1, 1, 1]
    assert report.broken == ()
    assert report.totals["non_trivial"] == 3
    assert report.as_json()["status"] == "ok"


@pytest.mark.parametrize(
    ("feature", "change", "outcome"),
    [
        ("n", {"value": 4}, "mismatch"),
        ("n", {"value": 3.0}, "mismatch"),
        ("n", {"value": None}, "missing"),
        ("n", {"value": 4, "as_of": AT + 1}, "ahead"),
        ("n", {"value": 4, "event_time": AT}, "ahead"),
        ("n", {"value": 4, "as_of": AT - 1}, "mismatch"),
        ("spend", {"value": 0.3 * (1 + 2e-9)}, "mismatch"),
        ("spend", {"value": 0.3 * (1 + 5e-10)}, "match"),
        ("spend", {"value": 9.0, "as_of": ON_TIME - HOUR}, "lagging"),
        ("spend", {"value": 9.0, "status": "STALE"}, "lagging"),
        ("spend", {"value": 9.0}, "mismatch"),
        ("spend", {"value": 0.3, "as_of": ON_TIME - HOUR}, "match"),
        ("left", {"value": 5.0}, "mismatch"),
    ],
)
def test_outcome(feature: str, change: dict[str, Any], outcome: str) -> None:
    assert counts(feature, line(**{feature: change})) == {outcome: 1}


def test_on_demand_lags_with_its_inputs() -> None:
    text = line(spend={"value": 9.0, "as_of": ON_TIME - HOUR}, left={"value": -8.0})
    assert counts("left", text) == {"lagging": 1}


def test_feature_that_was_not_read_is_missing_and_one_without_a_truth_is_extra() -> None:
    record = json.loads(line())
    del record["features"]["n"]
    report = compare(PLANS, parse_reads([json.dumps(record)]), [TRUTH | {"spend": None}])
    by_name = {feature.feature: feature for feature in report.features}
    assert by_name["n"].counts["missing"] == 1
    assert by_name["spend"].counts["extra"] == 1


def test_threshold_and_first_divergence() -> None:
    reads = [line(at=AT + i) for i in range(998)] + [line(at=AT + 7, n={"value": 5}), line(at=AT + 3, n={"value": 0})]
    one_wrong = compare(PLANS, parse_reads([*reads[:999], line()]), [TRUTH] * 1000)
    two_wrong = compare(PLANS, parse_reads(reads), [TRUTH] * 1000)
    assert one_wrong.broken == ()
    assert [feature.feature for feature in two_wrong.broken] == ["n"]
    first = two_wrong.broken[0].first_divergence
    assert first is not None
    assert (first.at_us, first.online, first.offline) == (AT + 3, 0, 3)
    assert two_wrong.as_json()["features"][1]["first_divergence"]["key"] == ["a"]


@pytest.mark.parametrize("value", [0, None, 0.0, False])
def test_zero_and_null_are_trivial(value: Any) -> None:
    report = compare(PLANS, parse_reads([line()]), [TRUTH | {"n": value}])
    assert report.totals["non_trivial"] == 2


def test_equality_of_types() -> None:
    assert equal(None, None, "int")
    assert not equal(None, 0, "int")
    assert not equal(True, 1, "int")
    assert not equal(2**53 + 1, 2**53, "int")
    assert equal(1, 1.0, "float")
    assert not equal("a", "b", "str")
    assert equal([1.0, 0.3], [1, 0.1 + 0.2], "float[]")
    assert equal([], [], "float[]")
    assert not equal([1.0], [1.0, 0.0], "float[]")
    assert not equal([1.0, 2.0], [2.0, 1.0], "float[]")
    assert not equal([], None, "float[]")
    assert not equal([1.0], 1.0, "float[]")
    assert equal([2**53 + 1], [2**53 + 1], "int[]")
    assert not equal([2**53 + 1], [2**53], "int[]")
    assert not equal([1], [1.0], "int[]")
    assert equal(["a"], ["a"], "str[]")


def test_times_are_microseconds_or_iso() -> None:
    read = parse_reads([line(at="2026-01-01T00:00:00.000001Z")])[0]
    assert read.at_us == 1_767_225_600_000_001
    assert read.features["spend"] == ReadValue(0.1 + 0.2, "OK", ON_TIME, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "empty"), ("{}", "no field"), ("[1]", "line 1"), ('{"at": "x"', "line 1"), (line(at="soon"), "ISO 8601")],
)
def test_bad_file(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_reads([text])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group": "h"}, "groups are g"),
        ({"features": {"m": None}}, "features are n, spend, left"),
        ({"key": []}, "entity"),
    ],
)
def test_reads_of_other_definitions(change: dict[str, Any], message: str) -> None:
    record = json.loads(line())
    if "features" in change:
        change = {"features": {"m": record["features"]["n"]}}
    with pytest.raises(InputError, match=message):
        check_reads(PLANS, parse_reads([json.dumps(record | change)]))
