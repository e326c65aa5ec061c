"""The Kafka tables that the join job writes. Text only: no engine is imported."""

from __future__ import annotations

from jobs.flink.join_config import StreamJoinConfig
from jobs.flink.sql_options import sql_options
from schemas.topics import CCB_EXAMPLES, JOIN_COUNTS, LATE_CLICKS, dead_letter, topic

TRANSACTION_TIMEOUT_MS = 600_000
MAX_REQUEST_BYTES = 8 * 1024 * 1024
_DEAD_LETTER = (
    "`topic` STRING, `partition` INT, `offset` BIGINT, `ts` BIGINT,"
    " `reason` STRING, `detail` STRING, `payload` STRING, `sha256` STRING"
)


def sinks(config: StreamJoinConfig) -> list[str]:
    """All tables that the job writes."""
    letters = [_dead_letter_sink(name, config) for name in config.topics]
    return [*letters, _examples_sink(config), _late_sink(config), _counts_sink(config)]


def _sink(table: str, columns: str, options: dict[str, str], config: StreamJoinConfig) -> str:
    full = {
        "connector": "kafka",
        "properties.bootstrap.servers": config.kafka,
        "properties.max.request.size": str(MAX_REQUEST_BYTES),
        **options,
    }
    return f"CREATE TEMPORARY TABLE `{table}` (\n  {columns}\n) WITH (\n  {sql_options(full)}\n)"


def _delivery(name: str, config: StreamJoinConfig) -> dict[str, str]:
    if config.delivery == "at-least-once":
        return {"sink.delivery-guarantee": "at-least-once"}
    return {
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": f"{config.group_id}-{name}",
        "properties.transaction.timeout.ms": str(TRANSACTION_TIMEOUT_MS),
    }


def _dead_letter_sink(name: str, config: StreamJoinConfig) -> str:
    options = {"topic": dead_letter(topic(config.prefix, name)), "format": "json"}
    return _sink(f"{name}_dlq", _DEAD_LETTER, options, config)


def _examples_sink(config: StreamJoinConfig) -> str:
    options = {
        "topic": topic(config.prefix, CCB_EXAMPLES),
        "key.format": "raw",
        "key.fields": "event_id",
        "value.format": "raw",
        "value.fields-include": "EXCEPT_KEY",
        **_delivery(CCB_EXAMPLES, config),
    }
    return _sink("examples_out", "event_id STRING, body STRING", options, config)


def _late_sink(config: StreamJoinConfig) -> str:
    columns = (
        "event_id STRING, slot_id STRING, ts BIGINT, `value` DOUBLE, impression_ts BIGINT, delay_ms BIGINT,"
        " reason STRING"
    )
    options = {
        "topic": topic(config.prefix, LATE_CLICKS),
        "key.format": "raw",
        "key.fields": "event_id",
        "value.format": "json",
        **_delivery(LATE_CLICKS, config),
    }
    return _sink("late_out", columns, options, config)


def _counts_sink(config: StreamJoinConfig) -> str:
    options = {
        "connector": "upsert-kafka",
        "topic": topic(config.prefix, JOIN_COUNTS),
        "key.format": "raw",
        "value.format": "json",
    }
    return _sink("counts_out", "name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED", options, config)
