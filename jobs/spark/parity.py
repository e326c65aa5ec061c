"""The offline side of parity: what Spark computes for logged reads, on-demand features included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from featuredsl.nodes import Value
from featuredsl.ondemand import compute_all, request_values
from featuredsl.parity import LoggedRead
from featuredsl.plan import GroupPlan
from jobs.spark.point_in_time import ARROW_TYPES, arrow_values, group_values


def offline_values(
    spark: SparkSession, plans: Mapping[str, GroupPlan], reads: Sequence[LoggedRead]
) -> list[dict[str, Value]]:
    """Feature name to value for every read, in order, from the registered sources."""
    result: list[dict[str, Value]] = [{} for _ in reads]
    for name in dict.fromkeys(read.group for read in reads):
        places = [place for place, read in enumerate(reads) if read.group == name]
        rows = _group_rows(spark, plans[name], [reads[place] for place in places])
        for place, row in zip(places, rows, strict=True):
            result[place] = row
    return result


def _group_rows(spark: SparkSession, plan: GroupPlan, reads: Sequence[LoggedRead]) -> list[dict[str, Value]]:
    labels = spark.createDataFrame(label_table(plan, reads))
    columns = arrow_values(group_values(spark, plan, labels))
    prefix = f"{plan.name}__"
    lists = {name.removeprefix(prefix): column.to_pylist() for name, column in columns.items()}
    stored = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return [with_on_demand(plan, read, row) for read, row in zip(reads, stored, strict=True)]


def label_table(plan: GroupPlan, reads: Sequence[LoggedRead]) -> pa.Table:
    """Reads of one group as labels: `label_id`, the entity columns, `ts_us`."""
    columns = {"label_id": pa.array(range(len(reads)), pa.int64())}
    for i, (name, dtype) in enumerate(plan.entity):
        columns[name] = pa.array([read.key[i] for read in reads], ARROW_TYPES[dtype])
    columns["ts_us"] = pa.array([read.at_us for read in reads], pa.int64())
    return pa.table(columns)


def with_on_demand(plan: GroupPlan, read: LoggedRead, stored: dict[str, Value]) -> dict[str, Value]:
    """The stored values and the on-demand ones computed from them and the read's request."""
    return stored | compute_all(plan, stored, request_values(plan, read.request))
