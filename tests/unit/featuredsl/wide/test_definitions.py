"""Wide aggregates in definitions: types, refusals, fingerprints, what is printed, what an import costs."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from featuredsl import EventSource, feature, feature_group, tumbling
from featuredsl.cli.program import program
from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB, SPARK
from featuredsl.errors import DefinitionError, UnsupportedError
from featuredsl.evaluate import evaluate
from featuredsl.finalize import Finalizer
from featuredsl.online.request import EntityState
from featuredsl.online.wide_codec import WideTile
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout
from featuredsl.wide.table import KINDS

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


def test_a_stream_refuses_a_lifetime_and_names_what_works() -> None:
    plan = plan_of(lambda e: e.x.approx_quantile(0.5), float, window="lifetime")
    for target in (lambda: store_layout(plan), lambda: program([plan], "flink"), lambda: Finalizer(plan)):
        with pytest.raises(UnsupportedError) as caught:
            target()
        for part in (
            "g.value (",
            "test_definitions.py:",
            "window lifetime",
            "freshness 1h or 1d",
            "sliding or tumbling",
        ):
            assert part in str(caught.value)


def test_a_stream_refuses_ties_that_arrays_decide() -> None:
    source = EventSource("vecs", event_time="ts", schema={"u": str, "x": int, "v": list[float]})

    @feature_group(name="g", entity="u")
    class G:
        @feature(freshness="realtime", window="1h")
        def row(e: source) -> int:
            return e.first().x

    with pytest.raises(UnsupportedError, match=r"online store: g\.row \(.*float\[\] columns; take .* e\.x\.first\(\)"):
        store_layout(G.plan)  # type: ignore[attr-defined]


def test_states_stand_beside_the_ring_and_are_shared() -> None:
    @feature_group(name="g", entity="u")
    class G:
        @feature(freshness="realtime", window=["1h", "2h"])
        def share(e: clicks) -> float:
            return e.s.approx_distinct() / e.count()

        @feature(freshness="realtime", window="1h")
        def median(e: clicks) -> float:
            return e.x.approx_quantile(0.5)

        @feature(freshness="realtime", window="1h")
        def high(e: clicks) -> float:
            return e.x.approx_quantile(0.99)

        @feature(freshness="realtime", window="1h")
        def top(e: clicks) -> list[str]:
            return e.s.top_k(3)

        @feature(freshness="realtime", window="1h")
        def counts(e: clicks) -> list[int]:
            return e.s.top_k_counts(2)

        @feature(freshness="realtime", window="1h")
        def best(e: clicks) -> str:
            return e.s.most_frequent()

        @feature(freshness="realtime", window="1h")
        def last(e: clicks) -> list[int]:
            return e.x.last_k(2)

        @feature(freshness="realtime", window="1h")
        def more(e: clicks) -> list[int]:
            return e.x.last_k(3)

        @feature(freshness="realtime", window=tumbling("1h"))
        def least(e: clicks) -> str:
            return e.s.min()

    layout = store_layout(G.plan)  # type: ignore[attr-defined]
    assert [(t.name, t.slots, len(t.columns)) for t in layout.ring] == [("clicks/5m", 26, 1)]
    assert [(t.name, t.slots, t.states) for t in layout.wide] == [("clicks/5m", 26, 5), ("clicks/1h", 3, 1)]


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


def test_a_state_that_was_too_large_makes_the_value_degraded() -> None:
    plan = plan_of(lambda e: e.x.approx_distinct(), int)
    (tier,) = store_layout(plan).wide
    monoid = KINDS["approx_distinct"].make()
    stored = monoid.to_bytes(monoid.lift(0, (5,)))
    minute = 60_000_000
    tiles = (WideTile(0, 1, 7, (None,), (0,)), WideTile(1, 1, 5 * minute, (stored,)))
    state = EntityState(True, {}, {}, {}, {tier.name: tiles})
    found = Finalizer(plan).values(state, 10 * minute, {})["value"]
    assert (found.value, found.status, found.event_time_us) == (1, "DEGRADED", 5 * minute)
    later = Finalizer(plan).values(state, 65 * minute, {})["value"]
    assert (later.value, later.status) == (1, "OK")
