"""The states that a Flink job keeps are those of the Python monoids, however the aggregate is planned and stored."""

from __future__ import annotations

import json
import math
import random
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyflink.table import EnvironmentSettings, TableEnvironment

from featuredsl.wide.monoid import Monoid
from featuredsl.wide.plain import Plain
from featuredsl.wide.table import KINDS
from tests.support.stack import JARS

pytestmark = pytest.mark.timeout(600)

Row = dict[str, Any]
TEXTS = ["a", "b", "é", "\ue000", "\uffff", "\U0001f600", None]


def made_rows() -> list[Row]:
    """Two keys with more than 384 distinct numbers, one with a single row, one with a row that has no time."""
    rng = random.Random(5)
    rows = [
        {
            "k": rng.choice(["many", "more"]),
            "ts": 1_700_000_000_000_000 + rng.randrange(50) * 1_000_000,
            "i": rng.choice([rng.randrange(-400, 400), 2**53 + 1, -(2**63)]),
            "f": rng.choice([None, rng.uniform(-5, 5), -0.0]),
            "s": rng.choice(TEXTS),
            "b": rng.choice([True, False, None]),
        }
        for _ in range(2400)
    ]
    rows.append({"k": "one", "ts": 5, "i": 1, "f": 0.5, "s": "x", "b": True})
    rows.append({"k": "none", "ts": None, "i": None, "f": None, "s": None, "b": None})
    return rows


@dataclass(frozen=True, slots=True)
class Call:
    """One aggregate, in SQL and in Python."""

    kind: str
    params: dict[str, Any]
    columns: str
    condition: str
    takes: Callable[[Row], bool | None]
    values: Callable[[Row], tuple[Any, ...]]

    @property
    def sql(self) -> str:
        params = json.dumps(self.params, sort_keys=True, separators=(",", ":"))
        return f"fdsl_wide('{self.kind}', '{params}', {self.condition}, ts, {self.columns})"

    @property
    def monoid(self) -> Monoid[Any]:
        if self.kind in ("min", "max"):
            return Plain("min" if self.kind == "min" else "max")
        return KINDS[self.kind].make(**self.params)

    def state(self, rows: Iterable[Row]) -> bytes | None:
        """The bytes for the rows of one key; None when none is taken."""
        taken = [row for row in rows if self.takes(row) and row["ts"] is not None]
        state = self.monoid.empty()
        for row in taken:
            state = self.monoid.add(state, row["ts"], self.values(row))
        return self.monoid.to_bytes(state) if taken else None


def of_column(kind: str, column: str, **params: Any) -> Call:
    """Over the rows in which the column is not null."""
    condition = f"{column} IS NOT NULL"
    return Call(kind, params, column, condition, lambda row: row[column] is not None, lambda row: (row[column],))


CALLS = (
    Call("first", {}, "s, i, f, s", "TRUE", lambda row: True, lambda row: (row["s"], row["i"], row["f"], row["s"])),
    Call("last_k", {"k": 7}, "s, b, f, s", "b", lambda row: row["b"], lambda row: (row["s"], True, row["f"], row["s"])),
    of_column("last_k", "i", k=300),
    of_column("top_k", "i", k=3),
    of_column("top_k_counts", "s", k=3),
    of_column("most_frequent", "b"),
    of_column("approx_distinct", "i"),
    of_column("approx_distinct", "s"),
    of_column("approx_quantile", "f", q=0.5),
    of_column("decayed_sum", "f", half_life_us=7_000_000),
    Call("decayed_count", {"half_life_us": 60_000_000}, "1", "i < 0", lambda row: (row["i"] or 0) < 0, lambda _: (1,)),
    of_column("min", "s"),
    of_column("max", "s"),
)
QUERY = f"SELECT k, {', '.join(call.sql for call in CALLS)} FROM t GROUP BY k"
BASE = {"parallelism.default": "2", "table.local-time-zone": "UTC", "execution.checkpointing.interval": "20 ms"}
TWO_PHASES = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "50 ms",
    "table.exec.mini-batch.size": "100",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
}
PLANS = {
    "row by row, objects reused": {"pipeline.object-reuse": "true", "state.backend.type": "hashmap"},
    "two phases": TWO_PHASES | {"state.backend.type": "hashmap"},
    "two phases, RocksDB": TWO_PHASES | {"state.backend.type": "rocksdb"},
}


def environment_of(rows: list[Row], options: dict[str, str], folder: Path) -> TableEnvironment:
    """A streaming environment with the function and the rows as table `t`."""
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    jar = (JARS / "flink" / "featuredsl-flink-connector.jar").resolve().as_uri()
    folders = {"io.tmp.dirs": str(folder), "execution.checkpointing.dir": (folder / "checkpoints").as_uri()}
    for name, value in (BASE | {"pipeline.jars": jar} | folders | options).items():
        made.get_config().set(name, value)
    made.execute_sql("CREATE TEMPORARY SYSTEM FUNCTION fdsl_wide AS 'dev.featuredsl.flink.wide.WideFunction'")
    made.execute_sql(
        "CREATE TABLE t (k STRING, ts BIGINT, i BIGINT, f DOUBLE, s STRING, b BOOLEAN) "
        f"WITH ('connector' = 'filesystem', 'path' = '{file.as_uri()}', 'format' = 'json')"
    )
    return made


def final_states(environment: TableEnvironment, rows: list[Row]) -> dict[str, tuple[bytes | None, ...]]:
    """The states of each key once all its rows are in; the many changes before are not fetched."""
    counts = Counter(row["k"] for row in rows)
    complete = " OR ".join(f"k = '{key}' AND COUNT(*) = {count}" for key, count in counts.items())
    found: dict[str, tuple[bytes | None, ...]] = {}
    with environment.execute_sql(f"{QUERY} HAVING {complete}").collect() as results:
        for row in results:
            key, *states = row
            found[key] = tuple(None if state is None else bytes(state) for state in states)
    return found


def alike(kind: str, found: bytes | None, expected: bytes | None) -> bool:
    """The same bytes; for sums of floats the same time and a sum that is close."""
    if not kind.startswith("decayed") or found is None or expected is None:
        return found == expected
    (time1, sum1), (time2, sum2) = (struct.unpack(">xqd", data) for data in (found, expected))
    return bool(time1 == time2 and math.isclose(sum1, sum2, rel_tol=1e-9, abs_tol=1e-9))


@pytest.mark.parametrize("plan", list(PLANS))
def test_states_are_those_of_python(plan: str, tmp_path: Path) -> None:
    rows = made_rows()
    environment = environment_of(rows, PLANS[plan], tmp_path)
    assert ("LocalGroupAggregate" in environment.explain_sql(QUERY)) == plan.startswith("two phases")
    found = final_states(environment, rows)
    assert set(found) == {"many", "more", "one", "none"}
    wrong = []
    for key, states in found.items():
        of_key = [row for row in rows if row["k"] == key]
        for call, state in zip(CALLS, states, strict=True):
            if not alike(call.kind, state, call.state(of_key)):
                wrong.append((key, call.sql, state, call.state(of_key)))
    assert wrong == []
    assert found["none"] == (None,) * len(CALLS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("fdsl_wide('lastk', '{}', TRUE, ts, i)", "there is no kind 'lastk'; there are approx_distinct, "),
        ("fdsl_wide('last_k', '{\"k\":0}', TRUE, ts, i)", "want an integer 'k' from 1 to 1000"),
        ("fdsl_wide('first', '{}', 1, ts, i)", "argument 3 is INT NOT NULL, not a BOOLEAN, the condition"),
        ("fdsl_wide('first', '{}', TRUE, ts, ARRAY[i])", "argument 5 is ARRAY<BIGINT> NOT NULL, not STRING, a whole"),
        ("fdsl_wide('first', '{}', TRUE, ts)", "fdsl_wide(kind STRING, params STRING, condition BOOLEAN, ts BIGINT, "),
    ],
)
def test_a_wrong_call_is_refused_when_it_is_planned(call: str, message: str, tmp_path: Path) -> None:
    environment = environment_of([], {}, tmp_path)
    with pytest.raises(Exception, match="fdsl_wide") as refused:
        environment.explain_sql(f"SELECT {call} FROM t GROUP BY k")
    assert message in str(refused.value)
