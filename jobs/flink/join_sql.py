"""The SQL of the join job. Text only: no engine is imported.

Event time. The time attribute of every source lies a century above the records' own time while the watermark
follows the latter: Flink drops rows at or behind the watermark before a process table function sees them, and
no record of a decision may be dropped unseen. `DecisionJoin` compares the records' times with the watermark itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jobs.flink.join_config import StreamJoinConfig
from jobs.flink.join_sinks import sinks
from jobs.flink.kafka_source import source_options
from jobs.flink.sql_options import sql_options, sql_text
from schemas.topics import ACTIVATIONS, AUCTIONS, CATALOG, CLICKS, IMPRESSIONS, topic

NEVER_LATE_MS = 3_155_760_000_000
KEPT_CHARACTERS = 180_000
"""Of a refused record; four bytes each, as base64, still fit a record of 1 MiB."""

_KINDS = {IMPRESSIONS: "impression", CLICKS: "click", AUCTIONS: "auction", ACTIVATIONS: "activation"}
_COLUMNS: dict[str, tuple[str, ...]] = {
    IMPRESSIONS: ("event_id",),
    CLICKS: ("event_id", "slot_id"),
    AUCTIONS: ("event_id",),
    ACTIVATIONS: ("event_id",),
    CATALOG: ("action_id",),
}
_DEEP = {IMPRESSIONS: "impression", CATALOG: "catalog"}
_REASON = "SUBSTRING(verdict, 1, POSITION(':' IN verdict) - 1)"
_DETAIL = "SUBSTRING(verdict, POSITION(':' IN verdict) + 2)"
_EXAMPLES = "INSERT INTO examples_out\nSELECT event_id, body FROM labelled WHERE kind = 'example'"
_LATE = (
    "INSERT INTO late_out\n"
    "SELECT event_id, slot_id, click_ts / 1000, click_value, ts / 1000, (click_ts - ts) / 1000, kind\n"
    "FROM joined WHERE kind IN ('late_click', 'straggler_click')"
)
_FUNCTIONS = (
    "CREATE TEMPORARY SYSTEM FUNCTION DecisionJoin AS 'dev.featuredsl.flink.join.DecisionJoin' LANGUAGE JAVA",
    "CREATE TEMPORARY SYSTEM FUNCTION CatalogLookup AS 'dev.featuredsl.flink.join.CatalogLookup' LANGUAGE JAVA",
    "CREATE TEMPORARY SYSTEM FUNCTION ccb_check AS 'jobs.flink.join_udf.check' LANGUAGE PYTHON",
    "CREATE TEMPORARY SYSTEM FUNCTION ccb_label AS 'jobs.flink.join_udf.label' LANGUAGE PYTHON",
)


def statements(values: Mapping[str, Any]) -> list[str]:
    """The SQL of the job in order: functions, sources, views, sinks, INSERTs.

    For the keys of `values` see `StreamJoinConfig`. Raises InputError.
    """
    config = StreamJoinConfig.read(values)
    sources = [part for name in config.topics for part in (_source(name, config), _checked(name, config))]
    return [
        *_FUNCTIONS,
        *sources,
        _records(config),
        _joined(config),
        _lookups(config),
        _enriched(config),
        _labelled(config),
        *sinks(config),
        *(_dead_letters(name, config) for name in config.topics),
        _EXAMPLES,
        _LATE,
        _counts(config),
    ]


def _source(name: str, config: StreamJoinConfig) -> str:
    """One topic. A row too far ahead of the broker's clock does not move event time."""
    columns = [f"`{column}` STRING" for column in _COLUMNS[name]]
    if name == CLICKS:
        columns.append("`value` DOUBLE")
    if name == CATALOG:
        columns.append("`features` STRING")
    options = source_options(config.kafka, config.group_id, topic(config.prefix, name), _COLUMNS[name])
    return (
        f"CREATE TEMPORARY TABLE `{name}_in` (\n  {', '.join(columns)},\n"
        "  `_raw` STRING, `_reject` STRING, `_detail` STRING, `_payload` STRING, `_sha256` STRING,\n"
        "  `_heartbeat` BOOLEAN, `_ts` BIGINT,\n"
        "  `_partition` INT METADATA FROM 'partition' VIRTUAL,\n"
        "  `_offset` BIGINT METADATA FROM 'offset' VIRTUAL,\n"
        "  `_ktime` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,\n"
        f"  `rt` AS TO_TIMESTAMP_LTZ(COALESCE(`_ts`, 0) / 1000 + {NEVER_LATE_MS}, 3),\n"
        f"  WATERMARK FOR `rt` AS TO_TIMESTAMP_LTZ(CASE WHEN {_ahead(config)} THEN 0"
        f" ELSE COALESCE(`_ts`, 0) / 1000 END - {config.watermark_delay_ms}, 3)\n"
        f") WITH (\n  {sql_options(options)}\n)"
    )


def _ahead(config: StreamJoinConfig) -> str:
    return f"TO_TIMESTAMP_LTZ(`_ts` / 1000, 3) > TIMESTAMPADD(SECOND, {config.max_ahead_ms // 1000}, `_ktime`)"


def _checked(name: str, config: StreamJoinConfig) -> str:
    """Records without heartbeats; `verdict` is null, or `reason: detail`."""
    more = "event_id"
    if name == CLICKS:
        more = "event_id, slot_id, `value` AS click_value"
    if name == CATALOG:
        more = "action_id, features"
    rows = f"`{name}_in`"
    if name in _DEEP:
        rows += f", LATERAL TABLE(ccb_check('{_DEEP[name]}', `_raw`)) AS v (problem)"
    return (
        f"CREATE TEMPORARY VIEW `{name}_checked` AS\n"
        f"SELECT {more}, `_ts` AS ts, `_raw` AS record_text, `_payload` AS original, `_sha256` AS digest,\n"
        f"  `_partition` AS source_partition, `_offset` AS source_offset, rt,\n  {_verdict(name, config)} AS verdict\n"
        f"FROM {rows}\nWHERE `_heartbeat` IS NOT TRUE"
    )


def _verdict(name: str, config: StreamJoinConfig) -> str:
    cases = [
        "WHEN `_reject` IS NOT NULL THEN `_reject` || ': ' || COALESCE(`_detail`, '')",
        f"WHEN {_ahead(config)} THEN 'future_time: the time is too far ahead of the broker''s clock'",
    ]
    for column in _COLUMNS[name]:
        cases.append(f"WHEN {column} = '' THEN 'empty: {column} is empty'")
        cases.append(f"WHEN CHAR_LENGTH({column}) > 512 THEN 'too_large: {column} is longer than 512'")
    last = "problem" if name in _DEEP else "CAST(NULL AS STRING)"
    return "CASE " + "\n    ".join(cases) + f"\n    ELSE {last} END"


def _records(config: StreamJoinConfig) -> str:
    """Everything that belongs to decisions, in one table."""
    parts = []
    for name in (IMPRESSIONS, CLICKS, AUCTIONS, ACTIVATIONS):
        if name not in config.topics:
            continue
        click = "slot_id, click_value" if name == CLICKS else "CAST(NULL AS STRING), CAST(NULL AS DOUBLE)"
        payload = "record_text" if name in (IMPRESSIONS, AUCTIONS) else "CAST(NULL AS STRING)"
        parts.append(
            f"SELECT '{_KINDS[name]}', event_id, ts, {payload}, {click}, source_partition, source_offset, rt\n"
            f"FROM `{name}_checked` WHERE verdict IS NULL"
        )
    names = "kind, event_id, ts, payload, slot_id, click_value, source_partition, source_offset, rt"
    return f"CREATE TEMPORARY VIEW records ({names}) AS\n" + "\nUNION ALL ".join(parts)


def _joined(config: StreamJoinConfig) -> str:
    rules = config.rules()
    return (
        "CREATE TEMPORARY VIEW joined AS\nSELECT * FROM DecisionJoin(input => TABLE records PARTITION BY event_id,"
        f" windowUs => CAST({rules.window_us} AS BIGINT), lateUs => CAST({rules.late_us} AS BIGINT),"
        " on_time => DESCRIPTOR(rt), uid => 'decision-join')"
    )


def _lookups(config: StreamJoinConfig) -> str:
    """Closed decisions, spread over shards, and the catalog, copied to every shard."""
    shards = config.parallelism
    names = (
        "shard, kind, event_id, action_id, ts, payload, source_partition, source_offset,"
        " clicks, auction, activation, rt"
    )
    view = (
        f"CREATE TEMPORARY VIEW lookups ({names}) AS\n"
        f"SELECT CAST(MOD(source_offset, {shards}) AS INT), 'decision', event_id, CAST(NULL AS STRING), ts, payload,\n"
        "  source_partition, source_offset, clicks, auction, activation, rowtime\n"
        "FROM joined WHERE kind = 'decision'"
    )
    if CATALOG not in config.topics:
        return view
    copies = [
        f"SELECT {shard}, 'catalog', CAST(NULL AS STRING), action_id, ts, features,\n"
        "  CAST(NULL AS INT), CAST(NULL AS BIGINT), CAST(NULL AS STRING), CAST(NULL AS STRING),"
        " CAST(NULL AS BIGINT), rt\n"
        "FROM catalog_checked WHERE verdict IS NULL"
        for shard in range(shards)
    ]
    return "\nUNION ALL ".join([view, *copies])


def _enriched(config: StreamJoinConfig) -> str:
    keep_us = 2 * (config.window_ms + config.late_ms) * 1000
    return (
        "CREATE TEMPORARY VIEW enriched AS\nSELECT * FROM CatalogLookup(input => TABLE lookups PARTITION BY shard,"
        f" keepUs => CAST({keep_us} AS BIGINT), on_time => DESCRIPTOR(rt), uid => 'catalog-lookup')"
    )


def _labelled(config: StreamJoinConfig) -> str:
    """One row for each closed decision: an example, a refusal, or inactive."""
    rules = json.dumps({"window_ms": config.window_ms, "late_ms": config.late_ms, "reward": config.reward})
    return (
        "CREATE TEMPORARY VIEW labelled AS\n"
        "SELECT event_id, ts, payload, source_partition, source_offset, l.kind, l.body, l.clicked, l.stray\n"
        f"FROM enriched, LATERAL TABLE(ccb_label(payload, clicks, auction, activation, catalog, {sql_text(rules)}))"
        " AS l (kind, body, clicked, stray)"
    )


def _dead_letters(name: str, config: StreamJoinConfig) -> str:
    source = sql_text(topic(config.prefix, name))
    insert = (
        f"INSERT INTO `{name}_dlq`\n"
        f"SELECT {source}, source_partition, source_offset, ts / 1000,\n  {_REASON}, {_DETAIL},\n"
        f"  COALESCE(original, {_kept('record_text')}), COALESCE(digest, SHA256(record_text))\n"
        f"FROM `{name}_checked` WHERE verdict IS NOT NULL"
    )
    if name != IMPRESSIONS:
        return insert
    return (
        f"{insert}\nUNION ALL SELECT {source}, source_partition, source_offset, ts / 1000,\n"
        "  'too_late', 'the decision is older than the time for which decisions are remembered',"
        f" {_kept('payload')}, SHA256(payload)\nFROM joined WHERE kind = 'too_late'\n"
        f"UNION ALL SELECT {source}, source_partition, source_offset, ts / 1000,\n"
        f"  {_REASON.replace('verdict', 'body')}, {_DETAIL.replace('verdict', 'body')},"
        f" {_kept('payload')}, SHA256(payload)\nFROM labelled WHERE kind = 'rejected'"
    )


def _kept(column: str) -> str:
    return f"TO_BASE64(SUBSTRING({column}, 1, {KEPT_CHARACTERS}))"


def _counts(config: StreamJoinConfig) -> str:
    """Counts since the job's first start, by name; see docs for the identity that they obey."""
    counted = [
        "SELECT kind || CASE WHEN kind LIKE '%_click' OR kind = 'duplicate' THEN 's' ELSE '' END AS name, 1 AS n\n"
        "FROM joined WHERE kind <> 'decision'",
        "SELECT CASE kind WHEN 'example' THEN 'examples' ELSE kind END, 1 FROM labelled",
        "SELECT 'clicked', 1 FROM labelled WHERE clicked",
        "SELECT 'orphan_clicks', stray FROM labelled WHERE stray > 0",
    ]
    for name in config.topics:
        counted.append(f"SELECT '{name}', 1 FROM `{name}_checked`")
        counted.append(f"SELECT 'invalid_{name}', 1 FROM `{name}_checked` WHERE verdict IS NOT NULL")
    union = "\nUNION ALL ".join(counted)
    return f"INSERT INTO counts_out\nSELECT name, CAST(SUM(n) AS BIGINT) FROM (\n{union}\n) GROUP BY name"
