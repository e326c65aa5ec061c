"""Random arrays: the latest one on DuckDB and in the rank of the online store is that of a sort written here;
element operations of the evaluator are those of DuckDB."""

from __future__ import annotations

from typing import Any

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import DUCKDB, render
from featuredsl.evaluate import evaluate
from featuredsl.finalize import Finalizer
from featuredsl.nodes import Column, Node, call
from tests.conformance.cases import Case, us
from tests.conformance.cases_arrays import COLUMNS, GROUP_CASES
from tests.conformance.test_online import state_before
from tests.support.duckdb_tables import create

LATEST = GROUP_CASES[0].group
INTS = st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1, 2**53]) | st.integers(-2, 2)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 0.5])
TEXTS = st.text(st.sampled_from("aA\x01é\uffff😀"), max_size=2)
ARRAYS = {"i": st.lists(INTS, max_size=3), "d": st.lists(FLOATS, max_size=3), "w": st.lists(TEXTS, max_size=3)}
EVENTS = st.lists(
    st.tuples(st.integers(0, 2), st.fixed_dictionaries({n: st.none() | values for n, values in ARRAYS.items()})),
    min_size=1,
    max_size=6,
)
PLACES = st.sampled_from([-1, 0, 1, 2, 3, 2**32, -(2**63), 2**63 - 1])


def place(value: list[Any] | None) -> Any:
    """Where an array stands in the order: null lowest, then element by element, text by its bytes."""
    return (value is not None, [item.encode() if isinstance(item, str) else item for item in value or ()])


def latest(events: list[tuple[int, dict[str, Any]]], name: str) -> Any:
    present = [(at, row) for at, row in events if row[name] is not None]
    return max(present, key=lambda e: (e[0], place(e[1][name])))[1][name] if present else None


def latest_row(events: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    return max(events, key=lambda e: (e[0], [place(e[1][name]) for name in "idw"]))[1]


@given(EVENTS)
def test_the_latest_array(events: list[tuple[int, dict[str, Any]]]) -> None:
    expected = {name: latest(events, name) for name in "idw"} | {"row_d": latest_row(events)["d"]}
    rows = [(float(at), {"u": "k"} | row) for at, row in events]
    case = Case("random", LATEST, {"bare": rows}, [])
    online = Finalizer(LATEST).values(state_before(case, ("k",), us(5)), us(5), {})
    assert {name: online[name].value for name in expected} == expected
    with duckdb.connect() as con:
        source = LATEST.sources[0]
        cells = [[*(row.get(name) for name in source.column_names), us(at)] for at, row in rows]
        create(con, "bare", [*source.columns, ("ts_us", "int")], cells)
        create(con, "labels", [("label_id", "int"), ("u", "str"), ("ts_us", "int")], [[0, "k", us(5)]])
        wanted = [f"latest_arrays__{name}" for name in expected]
        found = con.execute(f"SELECT {', '.join(wanted)} FROM ({point_in_time(LATEST, DUCKDB)})").fetchone()
    assert dict(zip(expected, found or (), strict=True)) == expected


@given(st.lists(st.tuples(*ARRAYS.values(), PLACES, FLOATS, TEXTS), min_size=1, max_size=5))
def test_element_operations(rows: list[tuple[Any, ...]]) -> None:
    nodes: list[Node] = []
    for name in "idw":
        array = Column(name, COLUMNS[name])
        nodes += [call("length", array), call("at", array, Column("a", "int"))]
        if name != "w":
            nodes += [call("min_element", array), call("max_element", array)]
    for name, item in (("i", "a"), ("d", "f"), ("d", "a"), ("w", "s")):
        nodes.append(call("contains", Column(name, COLUMNS[name]), Column(item, COLUMNS[item])))
    with duckdb.connect() as con:
        create(con, "t", [("n", "int"), *COLUMNS.items()], [[n, *row] for n, row in enumerate(rows)])
        sql = ", ".join(render(node, DUCKDB) for node in nodes)
        found = con.execute(f"SELECT {sql} FROM t ORDER BY n").fetchall()
    for row, values in zip(rows, found, strict=True):
        assert list(values) == [evaluate(node, dict(zip(COLUMNS, row, strict=True))) for node in nodes]
