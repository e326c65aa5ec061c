"""The statement of a feature job that counts events by outcome (see `featuredsl.online.progress`), as Flink SQL.

One small aggregation over the scan that the other statements share: exact across restarts, because its counts are
state of the job. Writes are one per mini-batch; a job with a `unique=` source has none, and there the sink merges them.
"""

from __future__ import annotations

from featuredsl.compilers.flink_unique import seen_of
from featuredsl.compilers.scalar import FLINK
from featuredsl.online.progress import (
    ACCEPTED,
    COUNT_FIELD,
    FUTURE_TIME,
    HEARTBEAT,
    LATE,
    NEWEST_FIELD,
    NULL_ENTITY,
    WIDTH,
    key_prefix,
)
from featuredsl.sources import EventSource
from featuredsl.tiles import MAX_AHEAD_S
from featuredsl.times import SECOND

RECORD_TIME = "`_ktime` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL"
AGE = "fdsl_age(`_ts`, `_ktime`)"
"""Against the time of the Kafka record, never a clock: a replay decides alike."""
IS_AHEAD = f"{AGE} < {-MAX_AHEAD_S * SECOND}"
AHEAD = f"`_ahead` AS {IS_AHEAD}"
KEPT = "/*+ STATE_TTL('e' = '0 ms') */"
"""The counts never expire, unlike the tiles of the job: a reason may be seldom."""


def reason(no_key: str) -> str:
    """The reason of a record that is no event of every group; null for one that is, and for a heartbeat."""
    return (
        f"CASE WHEN `_reject` IS NOT NULL THEN `_reject` WHEN `_heartbeat` IS TRUE THEN CAST(NULL AS STRING) "
        f"WHEN `_ahead` IS TRUE THEN {FLINK.text(FUTURE_TIME)} WHEN {no_key} THEN {FLINK.text(NULL_ENTITY)} END"
    )


def progress_sink(source: EventSource, redis: str, group_id: str) -> str:
    """The table of the counts."""
    options = {
        "connector": "featuredsl-redis",
        "mode": "fields",
        "url": redis,
        "key-prefix": key_prefix(group_id),
        "fields": f"{COUNT_FIELD};{NEWEST_FIELD}",
    }
    body = ",\n  ".join(f"{FLINK.text(name)} = {FLINK.text(value)}" for name, value in options.items())
    columns = "`k` STRING,\n  `ts` BIGINT,\n  `n` STRING,\n  `t` STRING,\n  PRIMARY KEY (`k`) NOT ENFORCED"
    return f"CREATE TABLE {FLINK.ident(source.name + '__progress')} (\n  {columns}\n) WITH (\n  {body}\n)"


def progress_insert(source: EventSource, no_key: str, late_after_us: int | None) -> str:
    """Counts and newest event times by outcome; `no_key` is true where the key of some group is null."""
    repeated = "`_outcome`, " if source.unique else ""
    if late_after_us is not None:
        repeated += f"CASE WHEN {AGE} > {late_after_us} THEN {FLINK.text(LATE)} END, "
    outcome = (
        f"CASE WHEN `_heartbeat` IS TRUE THEN {FLINK.text(HEARTBEAT)} "
        f"ELSE COALESCE({reason(no_key)}, {repeated}{FLINK.text(ACCEPTED)}) END"
    )
    newest = "GREATEST(COALESCE(MAX(`_ts`), 0), 0)"
    return (
        f"INSERT INTO {FLINK.ident(source.name + '__progress')}\n"
        f"SELECT {KEPT} CONCAT({FLINK.text(source.name + '|')}, `outcome`), COALESCE(MAX(`_ts`), 0),\n"
        f"  {_digits('COUNT(*)')}, {_digits(newest)}\n"
        f"FROM (SELECT `_ts`, {outcome} AS `outcome` FROM {seen_of(source)}) AS `e`\n"
        "GROUP BY `outcome`"
    )


def _digits(number: str) -> str:
    return f"LPAD(CAST({number} AS STRING), {WIDTH}, '0')"
