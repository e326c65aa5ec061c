"""Wide aggregates in definitions: types, refusals, fingerprints, what is printed, what an import costs."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from featuredsl import EventSource, feature, feature_group
from featuredsl.cli.program import program
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB, SPARK
from featuredsl.errors import DefinitionError, UnsupportedError
from featuredsl.evaluate import evaluate
from featuredsl.finalize import Finalizer
from featuredsl.online.request import EntityState
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout

clicks = EventSource("clicks", event_time="ts", schema={"u": str, "x": int, "f": float, "s": str, "b": bool})


def plan_of(method: Any, returns: object, freshness: str = "realtime", window: Any = "1h") -> GroupPlan:
    """A group with one feature `value`."""

    def value(e: clicks) -> None:
        return method(e)

    value.__annotations__ = {"e": clicks, "return": returns}
    made = feature(freshness=freshness, window=window)(value)
    group = type("Group", (), {"value": made})
    plan: GroupPlan = feature_group(name="g", entity="u")(group).plan  # type: ignore[attr-defined]
    return plan


@pytest.mark.parametrize(
    ("method", "returns"),
    [
        (lambda e: e.x.first(), int),
        (lambda e: e.first().b, bool),
        (lambda e: e.b.most_frequent(), bool),
        (lambda e: e.x.last_k(2), list[int]),
        (lambda e: e.f.last_k(2), list[float]),
        (lambda e: e.s.top_k(2), list[str]),
        (lambda e: e.s.top_k_counts(2), list[int]),
        (lambda e: e.s.approx_distinct(), int),
        (lambda e: e.x.approx_quantile(0.5), float),
        (lambda e: e.x.decayed_sum("1h"), float),
        (lambda e: e.decayed_count("1h"), float),
        (lambda e: e.b.decayed_count("1h"), float),
        (lambda e: e.x.histogram([1]), list[int]),
        (lambda e: e.s.approx_distinct() / e.x.sum(), float),
    ],
)
def test_types(method: Any, returns: object) -> None:
    assert plan_of(method, returns).features[0].name == "value"
    with pytest.raises(DefinitionError, match="is declared"):
        plan_of(method, str if returns is not str else int)


@pytest.mark.parametrize(
    ("method", "text"),
    [
        (lambda e: e.s.approx_quantile(0.5), "approx_quantile() takes a number, not str"),
        (lambda e: e.b.last_k(2), "last_k() takes a number or a string, not bool"),
        (lambda e: e.s.histogram([1]), "histogram() takes a number, not str"),
        (lambda e: e.x.last_k(0), "last_k() takes an integer k from 1 to 1000, not 0"),
        (lambda e: e.x.top_k(2.0), "top_k() takes an integer k from 1 to 100, not 2.0"),
        (lambda e: e.x.approx_quantile(95), "approx_quantile() takes a share q from 0 to 1, not 95"),
        (lambda e: e.x.decayed_sum("soon"), "'soon' is not a duration"),
        (lambda e: e.x.decayed_sum(-1), "-1 is not a positive duration"),
        (lambda e: e.x.histogram([]), "histogram() takes a list of 1 to 1000 edges, not []"),
        (lambda e: e.x.histogram([1, 1]), "ascending edges; 1 stands before 1"),
        (lambda e: e.x.histogram([float("nan")]), "finite numbers as edges, not nan"),
        (lambda e: e.x.histogram("12"), "a list of 1 to 1000 edges, not '12'"),
        (lambda e: e.x.last_k(2) / e.count(), "a ratio is of two numbers; one side is int[]"),
        (lambda e: e.first().y, "column 'y' is not in 'clicks'"),
        (lambda e: e.f.sqrt().approx_distinct(), "whose last digits of sqrt() do"),
    ],
)
def test_wrong_definitions_say_what_and_where(method: Any, text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        plan_of(method, int)
    assert text in str(caught.value)
    assert "test_definitions.py:" in str(caught.value)


def test_streams_refuse_what_tiles_cannot_hold() -> None:
    plan = plan_of(lambda e: e.x.approx_quantile(0.5), float)
    for target in (lambda: store_layout(plan), lambda: program([plan], "flink")):
        with pytest.raises(UnsupportedError) as caught:
            target()
        assert "g.value" in str(caught.value)
        assert "the state of approx_quantile(q=0.5); use freshness 1h or 1d" in str(caught.value)


def test_values_of_batch_tiers_are_stored() -> None:
    assert store_layout(plan_of(lambda e: e.s.top_k(2), list[str], "1h", "1d")).batch[0].columns[0].dtype == "str[]"
    assert store_layout(plan_of(lambda e: e.x.first(), int, "1h", "1d")).batch[0].columns[0].dtype == "int"


@pytest.mark.parametrize(
    ("method", "returns", "value"),
    [
        (lambda e: e.s.approx_distinct(), int, 0),
        (lambda e: e.decayed_count("1h"), float, 0.0),
        (lambda e: e.x.first(), int, None),
        (lambda e: e.s.approx_distinct() / e.count(), float, None),
    ],
)
def test_a_reader_knows_the_value_of_nothing(method: Any, returns: object, value: Any) -> None:
    plan = plan_of(method, returns, "1h", "1d")
    found = Finalizer(plan).values(EntityState(True, {}, {}, {}), 10**15, {"1h": ()})["value"]
    assert (found.value, type(found.value)) == (value, type(value))


def test_the_fingerprint_is_the_meaning() -> None:
    versions = [
        plan_of(method, float).version
        for method in (
            lambda e: e.x.decayed_sum("1h"),
            lambda e: e.x.decayed_sum("2h"),
            lambda e: e.f.decayed_sum("1h"),
            lambda e: e.filter(e.x > 1).x.decayed_sum("1h"),
            lambda e: e.x.approx_quantile(0.5),
            lambda e: e.x.approx_quantile(0.25),
            lambda e: e.decayed_count("1h"),
        )
    ]
    assert len(set(versions)) == len(versions)
    assert plan_of(lambda e: e.x.decayed_sum("60m"), float).version == versions[0]


def test_compile_prints_the_rows_that_feed_wide_features() -> None:
    plan = plan_of(lambda e: e.filter(e.x > 3).s.approx_distinct(), int)
    for target, dialect in (("duckdb", DUCKDB), ("spark", SPARK)):
        text = program([plan], target)
        assert f"-- g@{plan.version}: rows of which featuredsl computes value = approx_distinct()" in text
        assert f"FROM {dialect.ident('clicks')}" in text
        assert point_in_time(plan, dialect) in text
        assert "value" not in point_in_time(plan, dialect)


def test_histograms_are_ordinary_sums_on_every_target() -> None:
    plan = plan_of(lambda e: e.f.histogram([0.0, 1.5]), list[int])
    assert [(c.dtype) for c in store_layout(plan).ring[0].columns] == ["int", "int", "int"]
    for target, text in (("duckdb", "[COALESCE("), ("spark", "array(COALESCE("), ("flink", "SUM(")):
        assert text in program([plan], target)
    (value,) = plan.features
    row = {"p0": None, "p1": 2, "p2": 1}
    assert evaluate(value.aggregate.finalize, row) == [0, 2, 1]  # type: ignore[union-attr]


def test_import_needs_no_engine_and_no_sketch_library() -> None:
    heavy = ("duckdb", "pyarrow", "pandas", "numpy", "pyspark", "datasketches")
    code = f"import sys, featuredsl; print([name for name in {heavy!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
