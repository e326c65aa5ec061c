"""On-demand features of arrays and of other on-demand features: definitions, values, statuses, files."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from featuredsl import EventSource, feature, feature_group, on_demand
from featuredsl.cli.reading import as_data, request_values
from featuredsl.compilers.flink import GroupTarget, StreamConfig, statements
from featuredsl.errors import DefinitionError, InputError, UnsupportedError
from featuredsl.finalize import DEFAULT, EXPIRED, NOT_FOUND, NULL, OK, Finalizer
from featuredsl.history import HistoryRequest, build
from featuredsl.labels import read_labels
from featuredsl.loader import load_definitions
from featuredsl.ondemand import compute, compute_all
from featuredsl.online.codec import Rank
from featuredsl.online.request import EntityState
from featuredsl.plan import GroupPlan
from featuredsl.tiles import store_layout

items = EventSource(
    "items", event_time="ts", schema={"item": str, "vec": list[float], "tags": list[str], "ids": list[int], "n": int}
)
T0 = 1_767_225_600_000


@feature_group(name="g", entity="item", retention="3650d")
class G:
    """Derived features are declared before what they need."""

    @on_demand(inputs=["similarity", "weight"])
    def scaled(similarity: float | None, weight: float) -> float:
        return (0.0 if similarity is None else similarity) * weight

    @on_demand(inputs=["vec"], request={"query": list[float]})
    def similarity(vec: list[float], query: list[float]) -> float | None:
        norm = math.sqrt(sum(x * x for x in vec) * sum(x * x for x in query))
        return sum(x * y for x, y in zip(vec, query, strict=True)) / norm

    @on_demand(inputs=["vec"])
    def halved(vec: list[float]) -> list[float]:
        return [x / 2 for x in vec]

    @on_demand(inputs=["halved", "tags"])
    def weight(halved: list[float], tags: list[str]) -> float:
        halved.append(1.0)
        return sum(halved) + len(tags)

    @feature(freshness="realtime", ttl="1d")
    def vec(e: items) -> list[float]:
        return e.vec.latest()

    @feature(freshness="realtime", default=["new"])
    def tags(e: items) -> list[str]:
        return e.tags.latest()


PLAN: GroupPlan = G.plan  # type: ignore[attr-defined]


def test_an_input_stands_before_what_is_derived_from_it() -> None:
    assert [f.name for f in PLAN.on_demand] == ["similarity", "halved", "weight", "scaled"]
    assert PLAN.feature_names == ("vec", "tags", "similarity", "halved", "weight", "scaled")
    assert PLAN.request_inputs == {"query": "float[]"}


def state(**ranks: tuple[int, Any]) -> EntityState:
    lookups = {name: Rank(at, (value,)) for name, (at, value) in ranks.items()}
    return EntityState(bool(ranks), {}, lookups, {})


def test_online_values_and_statuses_follow_the_inputs() -> None:
    at = T0 * 1000
    stored = state(vec=(at - 1, [3.0, 4.0]), tags=(at - 2, ["a", "b"]))
    found = Finalizer(PLAN).values(stored, at, {}, {"query": [3, 4]})
    assert {name: (value.value, value.status) for name, value in found.items()} == {
        "vec": ([3.0, 4.0], OK),
        "tags": (["a", "b"], OK),
        "similarity": (1.0, OK),
        "halved": ([1.5, 2.0], OK),
        "weight": (6.5, OK),
        "scaled": (6.5, OK),
    }
    assert found["scaled"].event_time_us == at - 1


def test_a_derived_feature_without_request_inputs_needs_no_request() -> None:
    at = T0 * 1000
    found = Finalizer(PLAN).values(state(vec=(at - 1, [2.0])), at, {})
    assert (found["tags"].value, found["tags"].status) == (["new"], DEFAULT)
    assert (found["weight"].value, found["weight"].status) == (3.0, OK)
    assert (found["similarity"].value, found["similarity"].status) == (None, NULL)
    assert found["scaled"].value == 0.0


def test_the_worst_status_of_an_input_reaches_what_is_derived() -> None:
    at = T0 * 1000
    old = Finalizer(PLAN).values(state(vec=(at - 86_400_000_001, [2.0])), at, {}, {"query": [1.0]})
    assert [old[name].status for name in ("vec", "similarity", "halved", "weight", "scaled")] == [EXPIRED] * 5
    nobody = Finalizer(PLAN).values(state(), at, {}, {"query": [1.0]})
    assert {value.status for value in nobody.values()} == {NOT_FOUND}


@pytest.mark.parametrize("query", ["[1]", [None], ["1"], [True], 1.5, {"0": 1}, [math.nan], [math.inf], [2**2000]])
def test_a_request_input_of_another_type_is_refused(query: Any) -> None:
    with pytest.raises(InputError, match=r"request input 'query' is list\[float\]"):
        Finalizer(PLAN).values(state(), 0, {}, {"query": query})


def test_names_that_the_group_does_not_ask_for_never_replace_a_feature() -> None:
    at = T0 * 1000
    found = Finalizer(PLAN).values(state(vec=(at - 1, [2.0])), at, {}, {"vec": [8.0], "weight": 9.0, "other": object()})
    assert found["weight"].value == 3.0


def of(function: Any, **values: Any) -> Any:
    """The value of one on-demand function of request inputs."""
    plan = group(function)
    return compute(plan.on_demand[0], values)


def group(*members: Any) -> GroupPlan:
    @feature(freshness="realtime")
    def ids(e: items) -> list[int]:
        return e.ids.latest()

    body = {getattr(m, "function", m).__name__: m for m in (ids, *members)}
    made = feature_group(name="made", entity="item")(type("Made", (), body | {"__module__": __name__}))
    plan: GroupPlan = made.plan  # type: ignore[attr-defined]
    return plan


def returning(annotation: Any, value: Any) -> Any:
    """What a function gives that is declared `annotation` and returns `value`."""

    @on_demand(request={"x": int})
    def made(x: int) -> int:
        return x

    made.function.__annotations__["return"] = annotation
    return compute(replace(group(made).on_demand[0], function=lambda x: value), {"x": 0})


@pytest.mark.parametrize(
    ("annotation", "result", "value"),
    [
        (list[float], [1, 2.5], [1.0, 2.5]),
        (list[float], (1.0,), [1.0]),
        (list[float], [], []),
        (list[float], [1.0, math.nan], None),
        (list[float], [math.inf], None),
        (list[int], [1, -(2**63)], [1, -(2**63)]),
        (list[int], [2**63], None),
        (list[str], ["a", ""], ["a", ""]),
        (list[str], None, None),
        (float, 3, 3.0),
        (float, math.nan, None),
        (float, -math.inf, None),
        (float, 10**400, None),
        (int, 2**63, None),
        (int, 2**63 - 1, 2**63 - 1),
        (bool, True, True),
        (str, "a", "a"),
    ],
)
def test_results(annotation: Any, result: Any, value: Any) -> None:
    found = returning(annotation, result)
    assert found == value
    assert type(found) is type(value)
    if isinstance(value, list):
        assert [type(item) for item in found] == [type(item) for item in value]


@pytest.mark.parametrize(
    ("annotation", "result", "message"),
    [
        (list[float], 1.0, r"made \(.*:\d+\) returned float 1.0; it is declared list\[float\]"),
        (list[float], ["a"], r"returned str 'a'; it is declared list\[float\]"),
        (list[float], [True], "returned bool True"),
        (list[float], [1.0, None], "an array with a null"),
        (list[int], [1.0], r"returned float 1.0; it is declared list\[int\]"),
        (list[str], "ab", r"returned str 'ab'; it is declared list\[str\]"),
        (list[str], [b"a"], "returned bytes"),
        (float, [1.0], r"returned an array \[1.0\]; it is declared float"),
        (int, True, "returned bool True; it is declared int"),
        (int, 1.0, "returned float 1.0; it is declared int"),
        (bool, 1, "returned int 1; it is declared bool"),
        (str, 1, "returned int 1; it is declared str"),
    ],
)
def test_wrong_results_name_the_feature(annotation: Any, result: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        returning(annotation, result)


def test_an_index_outside_gives_null() -> None:
    @on_demand(request={"x": list[int]})
    def third(x: list[int]) -> int:
        return x[2]

    assert of(third, x=[1, 2, 3]) == 3
    assert of(third, x=[]) is None
    assert of(third, x=None) is None


def ring() -> None:
    @on_demand(inputs=["b"])
    def a(b: int) -> int:
        return b

    @on_demand(inputs=["c"])
    def b(c: int) -> int:
        return c

    @on_demand(inputs=["b", "ids"])
    def c(b: int, ids: list[int]) -> int:
        return b

    group(a, b, c)


def itself() -> None:
    @on_demand(inputs=["a"])
    def a(a: int) -> int:
        return a

    group(a)


def other_group() -> None:
    @on_demand(inputs=["items.price"])
    def a(x: float) -> float:
        return x

    group(a)


def unknown_input() -> None:
    @on_demand(inputs=["idz"])
    def a(idz: list[int]) -> int:
        return len(idz)

    group(a)


def wrong_parameter() -> None:
    @on_demand(inputs=["ids"])
    def a(ids: list[str]) -> int:
        return len(ids)

    group(a)


def scalar_parameter() -> None:
    @on_demand(inputs=["ids"])
    def a(ids: int) -> int:
        return ids

    group(a)


def input_and_request() -> None:
    @on_demand(inputs=["ids"], request={"ids": list[int]})
    def a(ids: list[int]) -> int:
        return len(ids)

    group(a)


def two_types_of_a_request() -> None:
    @on_demand(request={"x": list[int]})
    def a(x: list[int]) -> int:
        return len(x)

    @on_demand(request={"x": float})
    def b(x: float) -> float:
        return x

    group(a, b)


def array_of_booleans() -> None:
    @on_demand(request={"x": list[bool]})
    def a(x: list[bool]) -> int:
        return len(x)

    group(a)


def array_key() -> None:
    @feature(freshness="realtime")
    def f(e: items) -> int:
        return e.latest().n

    feature_group(name="g", entity="ids")(type("G", (), {"f": f, "__module__": __name__}))


def wrong_default() -> None:
    @feature(freshness="realtime", default=[0.5])
    def f(e: items) -> list[int]:
        return e.ids.latest()

    group(f)


def default_that_is_not_finite() -> None:
    @feature(freshness="realtime", default=[math.nan])
    def f(e: items) -> list[float]:
        return e.vec.latest()

    group(f)


def sum_of_arrays() -> None:
    @feature(freshness="realtime", window="1h")
    def f(e: items) -> float:
        return e.vec.sum()

    group(f)


def greatest_array() -> None:
    @feature(freshness="realtime", window="1h")
    def f(e: items) -> list[float]:
        return e.vec.max()

    group(f)


def equal_arrays() -> None:
    @feature(freshness="realtime", window="1h")
    def f(e: items) -> int:
        return e.filter(e.ids == [1, 2]).count()

    group(f)


def element_of_another_type() -> None:
    @feature(freshness="realtime", window="1h")
    def f(e: items) -> int:
        return e.filter(e.ids.contains("a")).count()

    group(f)


def negative_index() -> None:
    @feature(freshness="realtime", window="1h")
    def f(e: items) -> int:
        return e.ids.at(-1).sum()

    group(f)


def wrong_array_type() -> None:
    @feature(freshness="realtime")
    def f(e: items) -> list[float]:
        return e.ids.latest()

    group(f)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            ring,
            r"^made \(.*: on-demand features need each other: b \(.*test_derived.py:\d+\) -> c \(.*_derived.py:\d+\)"
            r" -> b; an arrow points to an input",
        ),
        (itself, r"need each other: a \(.*:\d+\) -> a;"),
        (other_group, r"^a \(.*:\d+\): input 'items.price' names a feature of the group 'items'; inputs are features"),
        (unknown_input, r"input 'idz' is not in 'the group'; it has: ids, a. Did you mean 'ids'\?"),
        (wrong_parameter, r"^a \(.*:\d+\): parameter 'ids' is annotated list\[str\] but gets list\[int\]"),
        (scalar_parameter, r"parameter 'ids' is annotated int but gets list\[int\]"),
        (input_and_request, r"^a \(.*:\d+\): 'ids' is given twice in inputs and request; rename the request input"),
        (two_types_of_a_request, r"request input 'x' is list\[int\] for a \(.*\), but float for b \(.*\)"),
        (array_of_booleans, r"request input 'x' has type list\[bool\]; use int, float, str, bool or a list"),
        (array_key, r"entity column 'ids' is int\[\]; keys are int, str or bool"),
        (wrong_default, r"default \[0.5\] is not of type list\[int\]"),
        (default_that_is_not_finite, "nan is no finite number"),
        (sum_of_arrays, r"sum\(\) takes a number, not float\[\]; take at\(i\), length\(\)"),
        (greatest_array, r"max\(\) takes a number or a string, not float\[\]"),
        (equal_arrays, r"'==' takes no array, here int\[\]: arrays are not compared; compare length\(\)"),
        (element_of_another_type, "takes an array and a value of its element type, not int\\[\\] and str"),
        (negative_index, r"at\(\) counts from 0, so at\(-1\) would always be null"),
        (wrong_array_type, r"is declared list\[float\] but gives list\[int\]"),
    ],
)
def test_wrong_definitions(body: Callable[[], None], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        body()


def test_a_changed_input_is_another_version() -> None:
    def made(halves: int) -> str:
        factor = 1 / 2**halves

        @on_demand(inputs=["ids"])
        def a(ids: list[int]) -> float:
            return ids[0] * factor

        @on_demand(inputs=["a"])
        def b(a: float) -> float:
            return a + 1

        return group(b, a).version

    assert made(1) == made(1)
    assert made(1) != made(2)


def write_inputs(folder: Path, suffix: str) -> tuple[Path, Path]:
    """Two events and three labels; the labels as JSON Lines, CSV or Parquet."""
    events = folder / "items.jsonl"
    rows = [
        {"ts": T0, "item": "a", "vec": [3.0, 4.0], "tags": ["x"], "ids": [], "n": 1},
        {"ts": T0 + 1000, "item": "b", "vec": [1, 0], "ids": [2**53 + 1]},
    ]
    events.write_text("".join(json.dumps(row) + "\n" for row in rows))
    labels = folder / f"labels{suffix}"
    asked: list[dict[str, Any]] = [
        {"item": "a", "ts": T0 + 1, "query": [4.0, 3.0]},
        {"item": "b", "ts": T0 + 1001, "query": None},
        {"item": "c", "ts": T0 + 1001, "query": [1, 1.5]},
    ]
    if suffix == ".jsonl":
        labels.write_text("".join(json.dumps(row) + "\n" for row in asked))
    elif suffix == ".csv":
        cells = ['a,{0},"[4.0, 3.0]"', "b,{1},", 'c,{1},"[1, 1.5]"']
        labels.write_text("item,ts,query\n" + "".join(c.format(T0 + 1, T0 + 1001) + "\n" for c in cells))
    else:
        con = duckdb.connect()
        con.execute("CREATE TABLE l (item VARCHAR, ts BIGINT, query DOUBLE[])")
        con.executemany("INSERT INTO l VALUES (?, ?, ?)", [list(row.values()) for row in asked])
        con.execute(f"COPY l TO '{labels}' (FORMAT parquet)")
    return events, labels


EXPECTED = {
    "g__vec": [[3.0, 4.0], [1.0, 0.0], None],
    "g__tags": [["x"], ["new"], ["new"]],
    "g__similarity": [0.96, None, None],
    "g__halved": [[1.5, 2.0], [0.5, 0.0], None],
    "g__weight": [5.5, 2.5, None],
    "g__scaled": [0.96 * 5.5, 0.0, None],
}


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_history_from_and_to_every_format(tmp_path: Path, suffix: str) -> None:
    events, labels = write_inputs(tmp_path, suffix)
    result = build(HistoryRequest({"g": PLAN}, {"items": events}, read_labels(labels, "ms")))
    for name, values in EXPECTED.items():
        assert [row[name] for row in result.rows] == values, name
    result.write(tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["g__halved"] for line in lines] == EXPECTED["g__halved"]
    result.write(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        cells = [row["g__tags"] for row in csv.DictReader(file)]
    assert cells == ['["x"]', '["new"]', '["new"]']
    result.write(tmp_path / "out.parquet")
    table = duckdb.connect().execute(f"SELECT g__vec, g__tags FROM read_parquet('{tmp_path}/out.parquet')").fetchall()
    assert table == list(zip(EXPECTED["g__vec"], EXPECTED["g__tags"], strict=True))


@pytest.mark.parametrize("query", ['"[1"', "[null]", '["1"]', "[NaN]", "[1e999]", "{}", "1"])
def test_bad_arrays_in_labels_name_the_row(tmp_path: Path, query: str) -> None:
    events, labels = write_inputs(tmp_path, ".jsonl")
    labels.write_text(f'{{"item": "a", "ts": {T0 + 1}, "query": {query}}}\n')
    with pytest.raises(InputError, match=r"labels.jsonl, (row 1: query must be list\[float\]|line 1 is not JSON)"):
        build(HistoryRequest({"g": PLAN}, {"items": events}, read_labels(labels, "ms")))


def test_label_arrays_are_kept_in_parquet(tmp_path: Path) -> None:
    rows = [
        {"a": [1, 2], "b": [1, 2.5], "c": ["x"], "d": [1, "x"], "e": None},
        {"a": [], "b": [3], "c": None, "d": [], "e": []},
    ]
    events, labels = write_inputs(tmp_path, ".jsonl")
    asked = {"item": "a", "ts": T0 + 1, "query": [1.0]}
    labels.write_text("".join(json.dumps(row | asked) + "\n" for row in rows))
    result = build(HistoryRequest({"g": PLAN}, {"items": events}, read_labels(labels, "ms")))
    result.write(tmp_path / "out.parquet")
    found = duckdb.connect().execute(f"SELECT a, b, c, d, e FROM read_parquet('{tmp_path}/out.parquet')")
    assert [str(column[1]) for column in found.description][:4] == ["BIGINT[]", "DOUBLE[]", "VARCHAR[]", "VARCHAR"]
    assert found.fetchall() == [
        ([1, 2], [1.0, 2.5], ["x"], '[1,"x"]', None),
        ([], [3.0], None, "[]", "[]"),
    ]


def test_request_options() -> None:
    assert request_values(PLAN, ("query=[1, 2.5]",)) == {"query": [1.0, 2.5]}
    for text in ("1", "[1", "[NaN]", '["a"]', "[null]", "[1e999]"):
        with pytest.raises(InputError, match=r"--request query=.* is not of type list\[float\]"):
            request_values(PLAN, (f"query={text}",))


def test_get_prints_arrays_as_json() -> None:
    at = T0 * 1000
    row = Finalizer(PLAN).values(state(vec=(at - 1, [0.5, 2.0])), at, {})
    data = json.loads(json.dumps(as_data("g", "v", [("a",)], [row]), allow_nan=False))
    assert data["rows"][0]["features"]["vec"]["value"] == [0.5, 2.0]
    assert data["rows"][0]["features"]["halved"] == {
        "value": [0.25, 1.0],
        "status": "OK",
        "as_of": "2026-01-01T00:00:00.000000Z",
        "event_time": "2025-12-31T23:59:59.999999Z",
    }


def test_compute_all_hands_over_copies() -> None:
    stored = {"vec": [2.0, 4.0], "tags": []}
    made = compute_all(PLAN, stored, {"query": [1.0, 0.0]})
    assert stored == {"vec": [2.0, 4.0], "tags": []}
    assert made["halved"] == [1.0, 2.0]
    assert made["weight"] == 4.0


def test_the_page_about_arrays_defines_what_it_shows(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "arrays.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    prelude = "import math\nfrom featuredsl import EventSource, feature, feature_group, on_demand\n"
    (tmp_path / "definitions.py").write_text(prelude + code, encoding="utf-8")
    plan = load_definitions(tmp_path / "definitions.py")["item"]
    assert plan.feature_names == ("vec", "tags", "tag_count", "cosine")
    assert compute(plan.on_demand[0], {"vec": [1.0, 0.0], "query": [0.0, 2.0]}) == 0.0
    assert compute(plan.on_demand[0], {"vec": [0.0], "query": [1.0]}) is None


def test_flink_refuses_an_empty_array_constant() -> None:
    @feature(freshness="realtime", window="1h")
    def filled(e: items) -> int:
        return e.ids.fill_null([]).length().sum()

    plan = group(filled)
    config = StreamConfig("kafka:1", "redis://redis:1/0", "p.", "group")
    with pytest.raises(UnsupportedError, match=r"flink: made.filled \(.*:\d+\): an empty array constant cannot be"):
        statements([GroupTarget(plan, store_layout(plan, "v1"))], config)
