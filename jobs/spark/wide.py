"""Wide features on Spark: rows of each entity go to Python workers, where the sweep of `featuredsl.wide` runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from featuredsl.compilers.scalar import SPARK
from featuredsl.compilers.wide import KNOWN, SOURCE, wide_rows
from featuredsl.plan import GroupPlan, WindowFeature
from featuredsl.wide.program import WideProgram, wide_program
from jobs.spark.arrow_types import ARROW_TYPES, SPARK_TYPES


def with_wide(
    spark: SparkSession,
    plan: GroupPlan,
    asked: DataFrame,
    features: Sequence[WindowFeature],
    at_us: int | None = None,
    *,
    as_known: bool = True,
) -> DataFrame:
    """`asked` with one more column `group__feature` for each of the wide features.

    `asked` has the entity columns and, unless all rows are asked at `at_us`, `ts_us`; rows come in any order. The
    rows of one entity must fit in the memory of a worker.
    """
    program = wide_program(plan, features)
    if program is None:
        return asked
    view = f"wide__{plan.name}"
    asked.createOrReplaceTempView(SPARK.ident(view))
    events = spark.sql(wide_rows(plan, program, SPARK, labels=view, ordered=False, as_known=as_known))
    keys = [name for name, _ in plan.entity]
    added = [T.StructField(f"{plan.name}__{f.name}", SPARK_TYPES[f.dtype]) for f in program.features]
    schema = T.StructType([*asked.schema.fields, *added])
    pairs = asked.groupBy(*keys).cogroup(events.groupBy(*keys))
    return pairs.applyInArrow(entity_filler(plan.name, program, at_us), schema)


def entity_filler(group: str, program: WideProgram, at_us: int | None) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """What a worker runs for one entity: its asked rows and its events to the asked rows with values."""

    def fill(asked: pa.Table, events: pa.Table) -> pa.Table:
        times = asked.column("ts_us").to_pylist() if at_us is None else [at_us] * asked.num_rows
        order = sorted(range(len(times)), key=times.__getitem__)
        sweep = program.start([times[i] for i in order])
        for row in _rows(events, program):
            sweep.push(row)
        values: list[dict[str, Any]] = [{}] * len(times)
        for i, found in zip(order, sweep.finish(), strict=True):
            values[i] = found
        for feature in program.features:
            column = pa.array([found[feature.name] for found in values], ARROW_TYPES[feature.dtype])
            asked = asked.append_column(f"{group}__{feature.name}", column)
        return asked

    return fill


def _rows(events: pa.Table, program: WideProgram) -> Iterator[tuple[Any, ...]]:
    ordered = events.sort_by("ts_us")
    names = [SOURCE, "ts_us", KNOWN, *(f"fdsl_c{i}" for i in range(len(program.types)))]
    return zip(*(ordered.column(name).to_pylist() for name in names), strict=True)
