"""Expressions: building them, what is refused and when; windows and durations."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from featuredsl import EventSource, coalesce, if_else, max_of, min_of, when
from featuredsl.compilers.scalar import DUCKDB, render
from featuredsl.errors import DefinitionError, InputError
from featuredsl.evaluate import evaluate
from featuredsl.fluent import Fluent
from featuredsl.nodes import Column, Literal, Value, call, literal
from featuredsl.times import DAY, HOUR, MINUTE, SECOND, floor, format_time, parse_duration, parse_time
from featuredsl.trace import Expr, Stream
from featuredsl.windows import TIERS, default_hop, window

A, B, F, S = Column("a", "int"), Column("b", "int"), Column("f", "float"), Column("s", "str")


class Price:
    """Columns of the source of the fluent tests."""

    price: float
    qty: int
    country: str
    seen_us: int
    gift: bool


orders = EventSource("orders", event_time="ts", schema=Price)
other = EventSource("other", event_time="ts", schema=Price)
e = Stream(orders)


def lit(value: Any) -> Literal:
    return literal(value)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: call("+", S, A), r"'\+' takes numbers, not str and int"),
        (lambda: call("and", A, B), "booleans"),
        (lambda: call("roudn", F), "operation 'roudn' is not in 'expressions'.*Did you mean 'round'"),
        (lambda: e.price.is_in(), "at least one value"),
        (lambda: e.price.is_in("a"), "two values of one type"),
        (lambda: e.country + 1, "numbers"),
        (lambda: e.country.between(1, 2), "one type"),
        (lambda: e.gift < True, "numbers or strings"),
        (lambda: e.price // 2, "integers"),
        (lambda: e.qty.is_nan(), "a float"),
        (lambda: e.price.hour_of_day(), "integers"),
        (lambda: e.price.to_str(), "engines print floats differently"),
        (lambda: e.country.contains(""), "not empty"),
        (lambda: call("contains", S, S), "constants after its first"),
        (lambda: e.country.substring(-1, 2), "counts from 0"),
        (lambda: e.country.substring(0, 0), "at least one character"),
        (lambda: e.price.clip(2, 1), "not in order"),
        (lambda: e.price.round(10), "1 to 9 digits"),
        (lambda: e.seen_us.floor_time("0s"), "not a positive duration"),
        (lambda: e.price == math.nan, r"use is_nan\(\)"),
        (lambda: e.qty == 2**63, "does not fit in 64 bits"),
        (lambda: e.price == None, r"use is_null\(\)"),  # noqa: E711
        (lambda: e.price == {1}, "no number, string, boolean or array"),
        (lambda: e.price == [1], "'==' takes no array"),
        (lambda: e.qty.is_in([1, 2]), r"give is_in\(\) the values one by one"),
        (lambda: e.price == [], "no array of numbers or of strings"),
        (lambda: e.price.fill_null([1, None]), "no array of numbers or of strings"),
        (lambda: e.price.fill_null([2**63]), "does not fit in 64 bits"),
        (lambda: e.price.fill_null([math.nan]), "no finite number"),
        (lambda: e.price + Stream(other).price, "mixes sources 'orders' and 'other'"),
        (lambda: e.price.ln() > 1, r"'>' of ln\(\) may differ between engines"),
        (lambda: (e.price.exp() * 2).round(), r"'round' of exp\(\)"),
        (lambda: e.country.like("a%"), r"there is no like\(\): .* use contains\(\)"),
        (lambda: e.country.uper(), "Did you mean .upper"),
        (lambda: if_else(True, 1, 2), r"when\(\) takes a condition on columns"),  # type: ignore[arg-type]
        (lambda: if_else(e.qty, 1, 2), "a boolean first"),
        (lambda: if_else(e.gift, 1, "a"), "values of one type"),
        (lambda: min_of(e.qty), "two or more"),
        (lambda: bool(e.gift), "no truth value"),
    ],
)
def test_wrong_expressions_are_errors(build: Callable[[], Any], text: str) -> None:
    with pytest.raises((DefinitionError, InputError), match=text):
        build()


ROW: dict[str, Value] = {"price": 2.6, "qty": 3, "country": "jp ", "seen_us": 90 * MINUTE, "gift": None}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (10 - e.qty, 7),
        (6 / e.qty, 2.0),
        (7 // e.qty, 2),
        (7 % e.qty, 1),
        (abs(-e.qty), 3),
        (e.qty**2, 9.0),
        (True & e.gift, None),
        (False | e.qty.is_not_null(), True),
        (e.price.round(), 3),
        (e.price.round(1), 2.6),
        (e.seen_us.floor_time("1h"), HOUR),
        (e.seen_us.hour_of_day(), 1),
        (e.country.trim().upper().concat("!"), "JP!"),
        (when(e.qty > 5).then("many").when(e.qty > 2).then("some").otherwise("few"), "some"),
        (when(e.qty > 5).then(1).otherwise(), None),
        (when(e.qty > 5).then(1).otherwise(e.price), 2.6),
        (if_else(e.gift, 1, 0), 0),
        (coalesce(e.gift, False), False),
        (max_of(e.price, e.qty, 1), 3.0),
        (min_of(e.price, e.qty, 1), 1.0),
        (e.price.clip(0, 1), 1.0),
        (e.gift.fill_null(True), True),
    ],
)
def test_fluent_values(expression: Expr, value: Any) -> None:
    found = evaluate(expression.node, ROW)
    assert found == value
    assert type(found) is type(value)


def test_the_page_names_every_operation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "expressions.md").read_text(encoding="utf-8")
    methods = [f".{name}(" for name in vars(Fluent) if not name.startswith("_")]
    functions = ["coalesce(", "if_else(", "when(", "min_of(", "max_of("]
    assert [name for name in [*methods, *functions] if name not in page] == []


def test_long_sums_of_unbounded_integers_stay_readable() -> None:
    total = e.qty + 1
    for _ in range(4):
        total = total + e.qty
    assert len(render(total.node, DUCKDB)) < 20_000
    assert render((e.seen_us.hour_of_day() + 1).node, DUCKDB).count("CASE") == 0


@pytest.mark.parametrize(
    ("size", "hop"),
    [
        ("12s", SECOND),
        ("1m", 5 * SECOND),
        ("6m", 30 * SECOND),
        ("10m", 30 * SECOND),
        ("1h", 5 * MINUTE),
        ("6h", 5 * MINUTE),
        ("12h", HOUR),
        ("24h", HOUR),
        ("7d", HOUR),
        ("12d", DAY),
        ("90m", 5 * MINUTE),
    ],
)
def test_default_hop(size: str, hop: int) -> None:
    assert default_hop(parse_duration(size)) == hop


def test_window_bounds() -> None:
    assert window("1h").bounds(2 * HOUR + 7 * MINUTE) == (HOUR + 5 * MINUTE, 2 * HOUR + 7 * MINUTE)
    assert window("1d", offset="1d").bounds(3 * DAY + 90 * MINUTE) == (DAY + HOUR, 2 * DAY + HOUR)
    assert floor(-1, HOUR) == -HOUR


def test_tiers_defer_the_query() -> None:
    assert TIERS["realtime"].query_time(123) == 123
    assert TIERS["1h"].query_time(5 * HOUR + 9 * MINUTE) == 4 * HOUR
    assert TIERS["1h"].query_time(5 * HOUR + 10 * MINUTE) == 5 * HOUR
    assert TIERS["1d"].query_time(2 * DAY + HOUR - 1) == DAY


@pytest.mark.parametrize("text", ["", "1", "1x", "h1", "-5m", "0s"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(InputError, match="duration"):
        parse_duration(text)


def test_times() -> None:
    assert parse_duration("3h 20m") == 200 * MINUTE
    assert parse_time("2026-01-01T01:00:00+01:00") == parse_time(1_767_225_600_000, "ms")
    assert format_time(parse_time("2026-01-01T00:00:00.000001Z")) == "2026-01-01T00:00:00.000001Z"
    with pytest.raises(InputError, match="no zone"):
        parse_time("2026-01-01T00:00:00")


def test_import_is_light() -> None:
    code = (
        "import sys, featuredsl; heavy = {'numpy', 'pandas', 'pyarrow', 'pyspark', 'pyflink', 'duckdb', 'redis'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
