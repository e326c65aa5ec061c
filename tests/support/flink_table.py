"""Expression cases on Flink: the rows as a table of a batch environment in this process."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

from featuredsl.compilers.scalar import FLINK
from featuredsl.dtypes import DType


def as_json(value: Any) -> Any:
    """NaN and infinities as the strings that Flink's JSON format reads."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def environment_of(columns: Mapping[str, DType], rows: Sequence[Mapping[str, Any]], folder: Path) -> TableEnvironment:
    """A batch environment with the table `t` of all rows and their number `n`."""
    lines = [json.dumps({"n": n} | {k: as_json(v) for k, v in row.items()}) for n, row in enumerate(rows)]
    file = folder / "rows.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    for name, value in {
        "parallelism.default": "1",
        "table.local-time-zone": "UTC",
        "io.tmp.dirs": str(folder),
    }.items():
        made.get_config().set(name, value)
    typed = ", ".join(f"{FLINK.ident(name)} {FLINK.type_name(dtype)}" for name, dtype in columns.items())
    made.execute_sql(
        f"CREATE TABLE t (n BIGINT, {typed}) WITH ('connector' = 'filesystem', 'path' = '{file.as_uri()}', "
        "'format' = 'json')"
    )
    return made


def computed(environment: TableEnvironment, expressions: Sequence[str]) -> dict[int, tuple[Any, ...]]:
    """The values of SQL expressions over the table `t`, by row number."""
    selected = ", ".join(f"{text} AS e{i}" for i, text in enumerate(expressions))
    with environment.execute_sql(f"SELECT n, {selected} FROM t").collect() as results:
        return {row[0]: tuple(row)[1:] for row in results}
