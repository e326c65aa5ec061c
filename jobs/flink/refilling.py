"""What a feature job that begins empty takes from the landed history, and which refill topics are needed no more."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from featuredsl.compilers.flink_sources import tables_read
from featuredsl.plan import GroupPlan
from featuredsl.settings import Settings
from featuredsl.sources import EventSource
from featuredsl.tiles import kept_us, remembered_us, streamed_readers
from jobs.flink.publishing import Say
from jobs.flink.records import JobRecord, Records
from jobs.kafka import topic_config
from jobs.refill import Wanted, refill, remove_refills


def refills(
    settings: Settings,
    plans: Sequence[GroupPlan],
    sources: Sequence[EventSource],
    going_on: Callable[[], None],
    say: Say,
) -> dict[str, str]:
    """Topic to a topic with what it has forgotten, where it has and the history has that."""
    found: dict[str, str] = {}
    token = str(time.time_ns() // 1000)
    for topic in dict.fromkeys(source.topic for source in sources):
        mine = [source for source in sources if source.topic == topic]
        full = settings.prefix + topic
        if len(mine) > 1:
            names = ", ".join(source.name for source in mine)
            say(f"{full} has several sources ({names}), so what it has forgotten is not taken from the landed history")
            continue
        wanted = Wanted(mine[0], needed_us(mine[0], plans), going_on)
        made = refill(settings.require("kafka"), settings.home, full, wanted, token, say)
        if made is not None:
            found[full] = made
    return found


def needed_us(source: EventSource, plans: Sequence[GroupPlan]) -> int | None:
    """How far back from the newest event a stream of these groups looks, with what only keeps a key; None: no limit,
    as for a table, whose rows are valid until the next one."""
    if any(source == table.records for plan in plans for table in plan.tables):
        return None
    longest = 0
    for plan, feature in streamed_readers(source, plans):
        reach_us = kept_us(feature)
        if reach_us is None:
            return None
        longest = max(longest, reach_us + plan.retention_us)
    return longest + remembered_us(source, plans)


def tell_forgetful(settings: Settings, plans: Sequence[GroupPlan], say: Say) -> None:
    """Say which tables lie in topics that lose rows: a job that begins empty has none for the events of their time."""
    for name in dict.fromkeys(settings.prefix + records.topic for plan in plans for records in tables_read(plan)):
        config = topic_config(settings.require("kafka"), name)
        limits = {"retention.ms": "after {} ms", "retention.bytes": "beyond {} bytes"}
        kept = [text.format(config[name]) for name, text in limits.items() if config.get(name, "-1") != "-1"]
        compacted = "compact" in config.get("cleanup.policy", "")
        if compacted or kept:
            why = "is compacted" if compacted else f"forgets records {' and '.join(kept)}"
            say(f"the table's topic {name} {why}: a job that begins anew lacks the rows that it lost, for old events")


def forget_replaced(settings: Settings, record: JobRecord) -> None:
    """After a job has taken over: the records of the jobs that it has replaced go, with their refill topics."""
    records = Records(settings)
    stale = set(record.stale_refills)
    for one in records.every():
        if one.name != record.name and one.job_id in record.before and record.versions.keys() >= one.versions.keys():
            stale.update(one.refills.values(), one.stale_refills)
            records.remove(one.name)
    kept = {name for one in records.every() for name in (*one.refills.values(), *one.stale_refills)} - stale
    remove_refills(settings.require("kafka"), stale - kept, kept, time.time_ns() // 1000)
