"""What a Spark worker does with the rows of one entity, without Spark."""

from __future__ import annotations

import pickle

import pyarrow as pa

from featuredsl.evaluate import evaluate
from featuredsl.plan import GroupPlan
from featuredsl.wide.program import WideProgram, wide_program
from jobs.spark.wide import entity_filler
from tests.conformance.cases import Case, H, us
from tests.conformance.cases_wide import WIDE_CASES
from tests.conformance.cases_wide_sessions import WIDE_SESSION_CASES
from tests.support.wide_cases import same

LISTS = next(case for case in WIDE_CASES if case.group.name == "lists")
VISITS = WIDE_SESSION_CASES[0]


def program_of(plan: GroupPlan) -> WideProgram:
    """The program, as it is shipped."""
    program: WideProgram = pickle.loads(pickle.dumps(wide_program(plan)))
    return program


def events_of(program: WideProgram, case: Case = LISTS) -> pa.Table:
    """What the feeding query gives for user a, in no order."""
    rows = []
    for seconds, columns in reversed(case.events["events"]):
        values = [evaluate(node, columns) for nodes in program.columns for node in nodes]
        names = {f"fdsl_c{i}": value for i, value in enumerate(values)}
        rows.append({"u": "a", "fdsl_source": 0, "ts_us": us(seconds), "fdsl_arrival": None} | names)
    return pa.Table.from_pylist(rows)


def test_asked_rows_keep_their_order_and_get_values() -> None:
    program = program_of(LISTS.group)
    reads = [(seconds, expected) for key, seconds, expected in LISTS.reads if key == ("a",)]
    asked = pa.table({"label_id": range(len(reads)), "ts_us": [us(seconds) for seconds, _ in reads]})
    found = entity_filler("lists", program, None)(asked, events_of(program))
    assert found.column_names == ["label_id", "ts_us", *(f"lists__{f.name}" for f in program.features)]
    assert found.column("label_id").to_pylist() == list(range(len(reads)))
    for row, (seconds, expected) in zip(found.to_pylist(), reads, strict=True):
        assert {name: row[f"lists__{name}"] for name in expected} == expected, seconds


def test_all_rows_may_be_asked_at_one_time_and_an_entity_may_be_silent() -> None:
    program = program_of(LISTS.group)
    fill = entity_filler("lists", program, us(3 * H))
    asked = pa.table({"u": ["a"]})
    assert fill(asked, events_of(program)).column("lists__last_three_1h").to_pylist() == [["é"]]
    silent = fill(asked, events_of(program).slice(0, 0))
    assert silent.column("lists__last_three_1h").to_pylist() == [None]
    assert silent.schema.field("lists__large").type == pa.list_(pa.int64())


def test_sessions() -> None:
    program = program_of(VISITS.group)
    made = {feature.name for feature in program.features}
    reads = [(seconds, expected) for key, seconds, expected in VISITS.reads if key == ("a",)]
    asked = pa.table({"label_id": range(len(reads)), "ts_us": [us(seconds) for seconds, _ in reads]})
    found = entity_filler("visits_wide", program, None)(asked, events_of(program, VISITS)).to_pylist()
    for row, (seconds, expected) in zip(found, reads, strict=True):
        for name in made & expected.keys():
            assert same(row[f"visits_wide__{name}"], expected[name]), (seconds, name)
