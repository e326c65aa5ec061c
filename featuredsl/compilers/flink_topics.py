"""Kafka topics of a feature job in Flink SQL: what is read, dead letters, late rows."""

from __future__ import annotations

from collections.abc import Sequence

from featuredsl.compilers.flink_closed import late_rows
from featuredsl.compilers.flink_progress import RECORD_TIME, reason
from featuredsl.compilers.flink_sources import arrival_options, records_name, records_of
from featuredsl.compilers.flink_tables import StreamConfig, table
from featuredsl.compilers.scalar import FLINK
from featuredsl.plan import GroupPlan
from featuredsl.sources import EventSource
from featuredsl.tiles import MAX_AHEAD_S

PAYLOAD_CHARS = 955_732
"""Base64 of 700 KiB, as the format caps what it rejects: a dead letter fits a Kafka record of 1 MiB."""


def source_table(source: EventSource, config: StreamConfig, timed: Sequence[str]) -> str:
    """A topic; `timed` are the columns that say which rows are ahead of their time, and what event time is."""
    columns = [f"{FLINK.ident(name)} {FLINK.type_name(dtype)}" for name, dtype in source.columns]
    columns += [f"{FLINK.ident(source.arrival_time)} BIGINT"] if source.arrival_time else []
    columns += [
        "`_ts` BIGINT",
        "`_raw` STRING",
        "`_heartbeat` BOOLEAN",
        "`_reject` STRING",
        "`_detail` STRING",
        "`_payload` STRING",
        "`_sha256` STRING",
        "`_partition` INT METADATA FROM 'partition' VIRTUAL",
        "`_offset` BIGINT METADATA FROM 'offset' VIRTUAL",
        RECORD_TIME,
        *timed,
        *((config.topic_column,) if config.is_refilled(source.topic) else ()),
    ]
    first, last = source.time_range or ("none", "none")
    time_range = "none" if source.time_range is None else f"{first}/{last}"
    return table(
        records_name(source),
        columns,
        (
            ("connector", "kafka"),
            ("topic", config.topics_of(source.topic)),
            ("properties.bootstrap.servers", config.kafka),
            ("properties.group.id", config.group_id),
            ("properties.isolation.level", "read_committed"),
            ("scan.startup.mode", "earliest-offset"),
            ("format", "featuredsl-json"),
            ("featuredsl-json.event-time", source.event_time),
            ("featuredsl-json.time-unit", source.time_unit),
            ("featuredsl-json.time-range", time_range),
            *arrival_options(source),
        ),
    )


def _kafka_sink(name: str, topic: str, columns: Sequence[str], config: StreamConfig) -> str:
    options = (
        ("connector", "kafka"),
        ("topic", config.prefix + topic),
        ("properties.bootstrap.servers", config.kafka),
        ("format", "json"),
    )
    return table(name, columns, options)


def dead_letter_table(source: EventSource, kind: str, config: StreamConfig) -> str:
    """The topic of the source's dead letters, or of its late rows."""
    columns = (
        "`topic` STRING",
        "`partition` INT",
        "`offset` BIGINT",
        "`ts` BIGINT",
        "`reason` STRING",
        "`detail` STRING",
        "`payload` STRING",
        "`sha256` STRING",
    )
    return _kafka_sink(f"{source.name}__{kind}", f"{source.topic}.{kind}", columns, config)


def dead_letters(source: EventSource, no_key: str, config: StreamConfig) -> str:
    """Rejected rows, events that lack the entity of a group (a null never matches a key), events from the future."""
    topic = FLINK.text(config.prefix + source.topic)
    ahead = f"CASE WHEN `_ahead` IS TRUE THEN 'event time is over {MAX_AHEAD_S} s ahead of the record''s time' END"
    return (
        f"INSERT INTO {FLINK.ident(source.name + '__dlq')}\n"
        f"SELECT {topic}, `_partition`, `_offset`, `_ts` / 1000, `_why`, COALESCE(`_detail`, {ahead}),\n"
        f"  COALESCE(`_payload`, SUBSTRING(TO_BASE64(`_raw`), 1, {PAYLOAD_CHARS})),\n"
        "  COALESCE(`_sha256`, SHA256(`_raw`))\n"
        f"FROM (SELECT *, {reason(no_key)} AS `_why` FROM {records_of(source)})\n"
        f"WHERE `_why` IS NOT NULL{config.own_records(source.topic)}"
    )


def late_letters(source: EventSource, plans: Sequence[GroupPlan], config: StreamConfig) -> str:
    """Rows that came when their minute could be closed already."""
    topic = FLINK.text(config.prefix + source.topic)
    return (
        f"INSERT INTO {FLINK.ident(source.name + '__late')}\n"
        f"SELECT {topic}, `_partition`, `_offset`, `_ts` / 1000, 'late', CAST(NULL AS STRING),\n"
        f"  SUBSTRING(TO_BASE64(`_raw`), 1, {PAYLOAD_CHARS}), SHA256(`_raw`)\n"
        f"{late_rows(source, plans)}{config.own_records(source.topic)}"
    )
