"""Kafka to Parquet history (see `landed`): bounded, idempotent batches of the rows of a source."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from featuredsl.errors import InputError
from featuredsl.sources import EventSource
from jobs.kafka_offsets import begin_offsets
from jobs.landed import Batch, History, Ranges, batch_name
from jobs.spark.decode import REASONS, decode_all
from jobs.spark.point_in_time import ARROW_TYPES, SPARK_TYPES

EARLIEST = -2
_POSITION = T.StructType(
    [
        T.StructField("_partition", T.IntegerType()),
        T.StructField("_offset", T.LongType()),
        T.StructField("_kafka_ts", T.LongType()),
        T.StructField("ts_us", T.LongType()),
        T.StructField("arrival_us", T.LongType()),
    ]
)
_OUTCOME = T.StructType([T.StructField("_reject", T.StringType()), T.StructField("_heartbeat", T.BooleanType())])


def land(spark: SparkSession, bootstrap: str, source: EventSource, history: History, ends: Mapping[int, int]) -> Batch:
    """Append what the topic holds beyond the landed offsets, up to `ends` (offset by partition).

    Returns the batch; its `ranges` are empty when there was nothing new. Rejected records are counted by
    reason and heartbeats are counted; neither is written.
    """
    with history.exclusive():
        ranges = history.pending(ends, begin_offsets(bootstrap, history.topic))
        if not ranges:
            return Batch(history.topic, {}, 0, 0)
        raw = read_topic(spark, bootstrap, history.topic, ranges)
        return land_records(raw, source, history, ranges)


def land_records(raw: DataFrame, source: EventSource, history: History, ranges: Ranges) -> Batch:
    """Decode `raw` (partition, offset, kafka_ts, value), write the rows and commit the batch."""
    observation = Observation("landing")
    decoded = raw.mapInArrow(_decoder(source), decoded_schema(source))
    counted = decoded.observe(observation, *_counters())
    rows = counted.where("_reject IS NULL AND NOT _heartbeat").drop("_reject", "_heartbeat")
    dated = rows.withColumn("event_date", F.expr("date_format(timestamp_micros(ts_us), 'yyyy-MM-dd')"))
    staging = history.data / f"{batch_name(ranges)}.staging"
    dated.write.mode("overwrite").partitionBy("event_date").parquet(str(staging))
    counts: dict[str, int] = observation.get
    batch = Batch(
        topic=history.topic,
        ranges={str(p): span for p, span in ranges.items()},
        rows=counts["rows"],
        heartbeats=counts["heartbeats"],
        rejected={reason: counts[reason] for reason in REASONS if counts[reason]},
    )
    history.commit(batch, staging)
    return batch


def read_topic(spark: SparkSession, bootstrap: str, topic: str, ranges: Ranges) -> DataFrame:
    """The committed records of the offset ranges: partition, offset, kafka_ts (ms), value."""
    starts = {str(p): begin or EARLIEST for p, (begin, _) in ranges.items()}
    stops = {str(p): end for p, (_, end) in ranges.items()}
    frame = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("kafka.isolation.level", "read_committed")
        .option("assign", json.dumps({topic: sorted(int(p) for p in ranges)}))
        .option("startingOffsets", json.dumps({topic: starts}))
        .option("endingOffsets", json.dumps({topic: stops}))
        .option("failOnDataLoss", "true")
        .load()
    )
    return frame.select("partition", "offset", F.expr("unix_millis(timestamp)").alias("kafka_ts"), "value")


def read_history(spark: SparkSession, history: History, source: EventSource) -> DataFrame:
    """All landed rows: the source's columns, `_partition`, `_offset`, `_kafka_ts`, `ts_us`, `arrival_us`.

    `arrival_us` is null where the source declares no arrival time. Rows that were landed before it declared one arrived
    when Kafka took them.
    """
    schema = rows_schema(source)
    paths = history.paths()
    reader = spark.read.schema(schema).option("recursiveFileLookup", "true")
    frame = reader.parquet(*paths) if paths else spark.createDataFrame([], schema)
    if source.arrival_time is None:
        return frame
    return frame.withColumn("arrival_us", F.coalesce("arrival_us", F.col("_kafka_ts") * 1000))


def rows_schema(source: EventSource) -> T.StructType:
    """The columns of a landed row. Raises InputError for a column whose name is taken."""
    taken = {"event_date", *(_POSITION.names), *(_OUTCOME.names)}
    clash = sorted(taken & set(source.column_names))
    if clash:
        msg = f"source {source.name!r}: the column name {clash[0]!r} is reserved; rename it"
        raise InputError(msg)
    return T.StructType([*(T.StructField(n, SPARK_TYPES[d]) for n, d in source.columns), *_POSITION.fields])


def decoded_schema(source: EventSource) -> T.StructType:
    """A landed row with what became of it."""
    return T.StructType([*rows_schema(source).fields, *_OUTCOME.fields])


def _decoder(source: EventSource) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield decode_batch(source, batch)

    return run


def decode_batch(source: EventSource, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Arrow in, Arrow out: the columns of `decoded_schema`."""
    decoded = decode_all(source, batch.column("value").to_pylist())
    columns = {
        name: pa.array([row.values[i] for row in decoded], ARROW_TYPES[dtype])
        for i, (name, dtype) in enumerate(source.columns)
    }
    columns |= {
        "_partition": batch.column("partition"),
        "_offset": batch.column("offset"),
        "_kafka_ts": batch.column("kafka_ts"),
        "ts_us": pa.array([row.ts_us for row in decoded], pa.int64()),
        "arrival_us": pa.array([row.arrival_us for row in decoded], pa.int64()),
        "_reject": pa.array([row.reject for row in decoded], pa.string()),
        "_heartbeat": pa.array([row.heartbeat for row in decoded], pa.bool_()),
    }
    return pa.RecordBatch.from_pydict(columns)


def _counters() -> list[Column]:
    counters = [
        F.expr("count_if(_reject IS NULL AND NOT _heartbeat)").alias("rows"),
        F.expr("count_if(_heartbeat)").alias("heartbeats"),
    ]
    return counters + [F.expr(f"count_if(_reject = '{reason}')").alias(reason) for reason in REASONS]
