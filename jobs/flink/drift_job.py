"""The drift job: the prediction log -> hourly counts (SQL) -> monitor step (Python) -> drift events and triggers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

from jobs.flink.drift_config import monitor_config
from jobs.flink.drift_glue import HOUR_TYPE, OUTPUT_TYPE, MonitorFunction
from jobs.flink.drift_sql import (
    COUNTED_VIEW,
    OUTPUT_VIEW,
    ROWS_VIEW,
    StreamConfig,
    hour_rows,
    sink_statements,
    source_statements,
)
from jobs.flink.keyed import keyed_by_first
from jobs.flink.runtime import load_config, options


def main(argv: Sequence[str]) -> None:
    """Entry point on the cluster: `--config job.json`."""
    config = load_config(argv)
    environment, tables = _environment(config)
    stream = StreamConfig.read(config)
    for statement in source_statements(stream):
        tables.execute_sql(statement)
    counted = tables.to_data_stream(tables.from_path(COUNTED_VIEW))
    tables.create_temporary_view(ROWS_VIEW, tables.from_data_stream(counted, _with_watermarks()))
    judged = (
        keyed_by_first(tables.to_append_stream(tables.sql_query(hour_rows()), HOUR_TYPE))
        .process(MonitorFunction(monitor_config(config)), output_type=OUTPUT_TYPE)
        .name("monitor")
        .uid("monitor")
    )
    tables.create_temporary_view(OUTPUT_VIEW, tables.from_data_stream(judged))
    inserts = tables.create_statement_set()
    for statement in sink_statements(stream):
        if statement.startswith("INSERT"):
            inserts.add_insert_sql(statement)
        else:
            tables.execute_sql(statement)
    inserts.attach_as_datastream()
    environment.execute(config["name"])


def _with_watermarks() -> Schema:
    """The columns of the view of counted rows, and the stream's own watermarks."""
    builder = Schema.new_builder()
    for name in ("model", "version", "series", "body"):
        builder = builder.column(name, "STRING")
    builder = builder.column("closed_ms", "BIGINT").column("at", "TIMESTAMP_LTZ(3)")
    return builder.watermark("at", "SOURCE_WATERMARK()").build()


def _environment(config: Mapping[str, Any]) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    """An environment with our options; `add_jars` keeps the jar of Python operators that the client has put there."""
    values = Configuration()
    for name, value in options({**config, "mini_batch_ms": 0}).items():
        values.set_string(name, value)
    environment = StreamExecutionEnvironment.get_execution_environment(values)
    environment.add_jars(*config["jars"])
    return environment, StreamTableEnvironment.create(environment)


if __name__ == "__main__":
    main(sys.argv[1:])
