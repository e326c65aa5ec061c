"""`featuredsl history --engine spark`: the training set of files, computed on Spark."""

from __future__ import annotations

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession

from featuredsl.compilers.scalar import DUCKDB
from featuredsl.dtypes import DType
from featuredsl.events import Loaded
from featuredsl.history import HistoryRequest, HistoryResult, add_on_demand, feature_types, label_keys, load_inputs
from featuredsl.labels import Labels, Row
from featuredsl.plan import GroupPlan
from featuredsl.settings import Settings
from jobs.spark.point_in_time import ARROW_TYPES, arrow_values, group_values, register
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
    loaded, tables = _load(request)
    rows = [dict(row) for row in request.labels.rows]
    types: dict[str, DType] = {}
    register({name: spark.createDataFrame(table) for name, table in tables.items()})
    for plan in request.groups.values():
        request.progress(f"computing {plan.name}")
        add_stored(spark, plan, request.labels, rows, request.as_known)
        add_on_demand(plan, rows, request.labels)
        types |= feature_types(plan)
    return HistoryResult(rows, types, loaded)


def add_stored(spark: SparkSession, plan: GroupPlan, labels: Labels, rows: list[Row], as_known: bool = True) -> None:
    """Add the stored features of a group to the rows, from the registered sources."""
    keys = label_keys(plan, labels)
    types: list[tuple[str, DType]] = [("label_id", "int"), *plan.entity, ("ts_us", "int")]
    columns = {name: pa.array([key[i] for key in keys], ARROW_TYPES[dtype]) for i, (name, dtype) in enumerate(types)}
    values = arrow_values(group_values(spark, plan, spark.createDataFrame(pa.table(columns)), as_known=as_known))
    for name, column in values.items():
        for row, value in zip(rows, column.to_pylist(), strict=True):
            row[name] = value


def _load(request: HistoryRequest) -> tuple[list[Loaded], dict[str, pa.Table]]:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    loaded = load_inputs(con, request)
    return loaded, {name: con.sql(f"SELECT * FROM {DUCKDB.ident(name)}").to_arrow_table() for name in request.inputs()}
