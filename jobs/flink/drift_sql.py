"""The SQL of the drift job: counts per model, version, series and event-time hour. Text only: no engine is imported.

Counts and dead letters leave the source through one view, so that there is one source and one watermark: whether a
record is late must be decided once. Mini-batches must be off, because their markers pass as watermarks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from featuredsl.errors import InputError
from jobs.flink.kafka_source import source_options
from jobs.flink.sql_options import sql_options, sql_text
from monitors.buckets import label_sql
from schemas.topics import DRIFT_EVENTS, PREDICTIONS, RETRAIN_TRIGGERS, dead_letter, topic

HOUR_MS = 3_600_000
MAX_REQUEST_BYTES = 8 * 1024 * 1024
COUNTED_VIEW = "counted"
ROWS_VIEW = "counted_rows"
OUTPUT_VIEW = "monitor_output"
EVENT, TRIGGER = "event", "trigger"
KEPT_CHARACTERS = 180_000
"""Of a late record; four bytes each, as base64, still fit a record of 1 MiB."""

_FUNCTION = (
    "CREATE TEMPORARY SYSTEM FUNCTION fdsl_observations AS 'dev.featuredsl.flink.monitor.Observations' LANGUAGE JAVA"
)
_HOUR_END = f"TO_TIMESTAMP_LTZ((_ts / 1000 / {HOUR_MS} + 1) * {HOUR_MS} - 1, 3)"
_LATE = f"CURRENT_WATERMARK(rt) IS NOT NULL AND {_HOUR_END} <= CURRENT_WATERMARK(rt)"


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """What the SQL needs of the job's configuration."""

    kafka: str
    prefix: str
    group_id: str
    watermark_delay_ms: int = 10_000
    max_ahead_ms: int = 600_000
    per_version: bool = False
    ignore: tuple[str, ...] = ()

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> StreamConfig:
        """From the job's JSON. Raises InputError that names a missing key."""
        for name in ("kafka", "group_id"):
            if not config.get(name):
                msg = f"the drift job's configuration has no {name!r}"
                raise InputError(msg)
        return cls(
            kafka=config["kafka"],
            prefix=config.get("prefix", ""),
            group_id=config["group_id"],
            watermark_delay_ms=int(config.get("watermark_delay_ms", 10_000)),
            max_ahead_ms=int(config.get("max_ahead_ms", 600_000)),
            per_version=bool(config.get("baseline_per_version", False)),
            ignore=tuple(config.get("ignore_series", ())),
        )


def statements(config: Mapping[str, Any]) -> list[str]:
    """All SQL of the job in order; `hour_rows` is read between the sources and the sinks. Raises InputError."""
    stream = StreamConfig.read(config)
    return [*source_statements(stream), hour_rows(), *sink_statements(stream)]


def source_statements(config: StreamConfig) -> list[str]:
    """The function, the prediction log, and the views up to `counted`: closed hours and dead letters."""
    return [_FUNCTION, _source(config), _checked(config), _observations(config), _bucket_counts(), _counted(config)]


def hour_rows() -> str:
    """The query for the monitor: (model, counts of one series in one closed hour)."""
    return f"SELECT model, ROW(version, series, body, closed_ms) AS counts FROM {ROWS_VIEW} WHERE series IS NOT NULL"


def sink_statements(config: StreamConfig) -> list[str]:
    """Sinks and INSERTs; they read the views that the job makes of `counted` and of the monitor's rows."""
    return [
        _dead_letter_sink(config),
        _keyed_sink(DRIFT_EVENTS, config),
        _keyed_sink(RETRAIN_TRIGGERS, config),
        f"INSERT INTO `{PREDICTIONS}_dlq`\nSELECT body FROM {ROWS_VIEW} WHERE series IS NULL",
        f"INSERT INTO `{DRIFT_EVENTS}_out`\nSELECT k, body FROM {OUTPUT_VIEW} WHERE kind = '{EVENT}'",
        f"INSERT INTO `{RETRAIN_TRIGGERS}_out`\nSELECT k, body FROM {OUTPUT_VIEW} WHERE kind = '{TRIGGER}'",
    ]


def _ahead(config: StreamConfig) -> str:
    return f"TO_TIMESTAMP_LTZ(`_ts` / 1000, 3) > TIMESTAMPADD(SECOND, {config.max_ahead_ms // 1000}, `_ktime`)"


def _source(config: StreamConfig) -> str:
    """The prediction log. A record too far ahead of the broker's clock does not move event time."""
    source = topic(config.prefix, PREDICTIONS)
    options = source_options(config.kafka, config.group_id, source, ("request_id", "model", "features"))
    return (
        f"CREATE TEMPORARY TABLE `{PREDICTIONS}_in` (\n"
        "  request_id STRING, model STRING, model_version STRING, features STRING, prediction STRING,\n"
        "  latency_ms DOUBLE, error STRING, fallback STRING,\n"
        "  `_raw` STRING, `_reject` STRING, `_detail` STRING, `_payload` STRING, `_sha256` STRING,\n"
        "  `_heartbeat` BOOLEAN, `_ts` BIGINT,\n"
        "  `_partition` INT METADATA FROM 'partition' VIRTUAL,\n"
        "  `_offset` BIGINT METADATA FROM 'offset' VIRTUAL,\n"
        "  `_ktime` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,\n"
        "  rt AS TO_TIMESTAMP_LTZ(COALESCE(`_ts`, 0) / 1000, 3),\n"
        f"  WATERMARK FOR rt AS TO_TIMESTAMP_LTZ(CASE WHEN {_ahead(config)} THEN 0"
        f" ELSE COALESCE(`_ts`, 0) / 1000 END - {config.watermark_delay_ms}, 3)\n"
        f") WITH (\n  {sql_options(options)}\n)"
    )


def _checked(config: StreamConfig) -> str:
    """Records without heartbeats; `verdict` is null for those to count, else the reason code."""
    return (
        "CREATE TEMPORARY VIEW checked AS\n"
        "SELECT *, CASE WHEN `_reject` IS NOT NULL THEN `_reject`\n"
        f"    WHEN {_ahead(config)} THEN 'future_time'\n"
        "    WHEN model = '' THEN 'empty'\n"
        "    WHEN SUBSTRING(features, 1, 1) <> '{' THEN 'bad_type'\n"
        f"    WHEN {_LATE} THEN 'late' END AS verdict\n"
        f"FROM `{PREDICTIONS}_in` WHERE `_heartbeat` IS NOT TRUE"
    )


def _observations(config: StreamConfig) -> str:
    own = "TRUE" if config.per_version else "o.per_version"
    ignored = ", ".join(sql_text(name) for name in config.ignore)
    wanted = f" AND o.series NOT IN ({ignored})" if ignored else ""
    return (
        "CREATE TEMPORARY VIEW observations AS\n"
        f"SELECT model, CASE WHEN {own} THEN COALESCE(model_version, '') ELSE '*' END AS version, o.series AS series,\n"
        f"  {label_sql('o.num', 'o.str', 'o.truth')} AS label, rt\n"
        "FROM checked, LATERAL TABLE(fdsl_observations(features, prediction, latency_ms, error, fallback))\n"
        "  AS o (series, per_version, num, str, truth)\n"
        f"WHERE verdict IS NULL{wanted}"
    )


def _bucket_counts() -> str:
    return (
        "CREATE TEMPORARY VIEW bucket_counts AS\n"
        "SELECT model, version, series, label, window_time AS closed, COUNT(*) AS n\n"
        "FROM TABLE(TUMBLE(TABLE observations, DESCRIPTOR(rt), INTERVAL '1' HOUR))\n"
        "GROUP BY model, version, series, label, window_start, window_end, window_time"
    )


def _counted(config: StreamConfig) -> str:
    """A row per series and hour, with the hour's last millisecond; and a row per dead letter, without a series."""
    raw = f"SUBSTRING(`_raw`, 1, {KEPT_CHARACTERS})"
    name = sql_text(topic(config.prefix, PREDICTIONS))
    return (
        f"CREATE TEMPORARY VIEW {COUNTED_VIEW} (model, version, series, body, closed_ms, `at`) AS\n"
        "SELECT model, version, series, JSON_OBJECTAGG(KEY label VALUE n),\n"
        "  CAST(EXTRACT(EPOCH FROM window_time) AS BIGINT) * 1000 + 999, CAST(window_time AS TIMESTAMP_LTZ(3))\n"
        "FROM TABLE(TUMBLE(TABLE bucket_counts, DESCRIPTOR(closed), INTERVAL '1' HOUR))\n"
        "GROUP BY model, version, series, window_start, window_end, window_time\n"
        "UNION ALL SELECT CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING), JSON_OBJECT(\n"
        f"    KEY 'topic' VALUE {name}, KEY 'partition' VALUE `_partition`, KEY 'offset' VALUE `_offset`,\n"
        "    KEY 'ts' VALUE `_ts` / 1000, KEY 'reason' VALUE verdict, KEY 'detail' VALUE CASE WHEN verdict = 'late'\n"
        "      THEN 'the hour of the record was closed before it came' ELSE `_detail` END,\n"
        f"    KEY 'payload' VALUE COALESCE(`_payload`, TO_BASE64({raw})),\n"
        "    KEY 'sha256' VALUE COALESCE(`_sha256`, SHA256(`_raw`))),\n"
        "  CAST(NULL AS BIGINT), CAST(rt AS TIMESTAMP_LTZ(3))\n"
        "FROM checked WHERE verdict IS NOT NULL"
    )


def _sink_options(name: str, config: StreamConfig) -> dict[str, str]:
    return {
        "connector": "kafka",
        "topic": name,
        "properties.bootstrap.servers": config.kafka,
        "properties.max.request.size": str(MAX_REQUEST_BYTES),
        "sink.delivery-guarantee": "at-least-once",
    }


def _dead_letter_sink(config: StreamConfig) -> str:
    options = _sink_options(dead_letter(topic(config.prefix, PREDICTIONS)), config) | {"format": "raw"}
    return f"CREATE TEMPORARY TABLE `{PREDICTIONS}_dlq` (body STRING) WITH (\n  {sql_options(options)}\n)"


def _keyed_sink(name: str, config: StreamConfig) -> str:
    options = _sink_options(topic(config.prefix, name), config) | {
        "key.format": "raw",
        "key.fields": "k",
        "value.format": "raw",
        "value.fields-include": "EXCEPT_KEY",
    }
    return f"CREATE TEMPORARY TABLE `{name}_out` (k STRING, body STRING) WITH (\n  {sql_options(options)}\n)"
