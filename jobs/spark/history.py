"""`featuredsl history --engine spark`: the training set of files, computed on Spark."""

from __future__ import annotations

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession

from featuredsl import history
from featuredsl.compilers.scalar import DUCKDB
from featuredsl.history import HistoryRequest, HistoryResult
from featuredsl.labels import LABELS
from featuredsl.plan import GroupPlan, inputs_of
from featuredsl.settings import Settings
from jobs.spark.point_in_time import group_values, register
from jobs.spark.runtime import SparkConfig, session

LOCAL_MASTER = "local[2]"


def build(request: HistoryRequest) -> HistoryResult:
    """What `featuredsl.history.build` computes, on the cluster of the settings, else in this process.

    Files are read by the same rules as for DuckDB. Raises InputError for missing files, columns or bad labels.
    """
    settings = Settings.load()
    config = SparkConfig(settings.spark or LOCAL_MASTER, settings.home, app="featuredsl-history")
    request.inputs()
    with session(config) as spark:
        return compute(spark, request)


def compute(spark: SparkSession, request: HistoryRequest) -> HistoryResult:
    """`build` on a session that exists."""
    return history.build(request, OnSpark(spark))


class OnSpark:
    """Computes stored features on Spark; sources and labels go there, and values come back, as Arrow tables."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._sent: set[str] = set()

    def stored(self, con: duckdb.DuckDBPyConnection, plan: GroupPlan, table: str, as_known: bool) -> None:
        """Create `table` with `label_id` and `group__feature` for every row of `fdsl_labels`."""
        for name in inputs_of([plan]):
            if name not in self._sent:
                register({name: self._spark.createDataFrame(_arrow(con, name))})
                self._sent.add(name)
        labels = self._spark.createDataFrame(_arrow(con, LABELS))
        values = group_values(self._spark, plan, labels, as_known=as_known).toArrow()
        con.register("fdsl_from_spark", values)
        con.execute(f"CREATE OR REPLACE TABLE {DUCKDB.ident(table)} AS SELECT * FROM fdsl_from_spark")
        con.unregister("fdsl_from_spark")


def _arrow(con: duckdb.DuckDBPyConnection, table: str) -> pa.Table:
    return con.sql(f"SELECT * FROM {DUCKDB.ident(table)}").to_arrow_table()
