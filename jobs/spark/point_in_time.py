"""Feature values at label times, on Spark: runs the SQL that `featuredsl.compilers.offline` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import SPARK
from featuredsl.dtypes import DType
from featuredsl.plan import GroupPlan

ARROW_TYPES: dict[DType, pa.DataType] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "str": pa.string(),
    "bool": pa.bool_(),
}
SPARK_TYPES: dict[DType, T.DataType] = {
    "int": T.LongType(),
    "float": T.DoubleType(),
    "str": T.StringType(),
    "bool": T.BooleanType(),
}


def register(sources: Mapping[str, DataFrame]) -> None:
    """Make sources visible to the queries as views of their names."""
    for name, frame in sources.items():
        frame.createOrReplaceTempView(SPARK.ident(name))


def group_values(
    spark: SparkSession,
    plan: GroupPlan,
    labels: DataFrame,
    features: Sequence[str] | None = None,
    *,
    as_known: bool = True,
) -> DataFrame:
    """`label_id` and `group__feature` of the stored features, for every row of `labels`.

    `labels` has `label_id` (unique BIGINT), the entity columns and `ts_us`; it is read more than once, so its
    ids must not depend on the evaluation. The sources must be registered.
    """
    view = f"labels__{plan.name}"
    labels.createOrReplaceTempView(SPARK.ident(view))
    return spark.sql(point_in_time(plan, SPARK, labels=view, features=features, as_known=as_known))


def arrow_values(values: DataFrame) -> dict[str, pa.ChunkedArray]:
    """The columns of `group_values`, ordered by `label_id`, without it."""
    table = values.toArrow().sort_by("label_id")
    return {name: table.column(name) for name in table.column_names if name != "label_id"}
