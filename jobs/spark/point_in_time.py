"""Feature values at label times, on Spark: runs the SQL that `featuredsl.compilers.offline` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from featuredsl.compilers.offline import point_in_time
from featuredsl.compilers.scalar import SPARK
from featuredsl.plan import GroupPlan
from jobs.spark.arrow_types import ARROW_TYPES as ARROW_TYPES
from jobs.spark.arrow_types import SPARK_TYPES as SPARK_TYPES
from jobs.spark.wide import with_wide


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
    values = spark.sql(point_in_time(plan, SPARK, labels=view, features=features, as_known=as_known))
    wide = [feature for feature in plan.wide if features is None or feature.name in features]
    if not wide:
        return values
    asked = labels.select("label_id", *(SPARK.ident(name) for name, _ in plan.entity), "ts_us")
    found = with_wide(spark, plan, asked, wide, as_known=as_known)
    names = [f"{plan.name}__{f.name}" for f in plan.features if features is None or f.name in features]
    added = found.select("label_id", *(f"{plan.name}__{feature.name}" for feature in wide))
    return values.join(added, "label_id").select("label_id", *names)


def arrow_values(values: DataFrame) -> dict[str, pa.ChunkedArray]:
    """The columns of `group_values`, ordered by `label_id`, without it."""
    table = values.toArrow().sort_by("label_id")
    return {name: table.column(name) for name in table.column_names if name != "label_id"}
