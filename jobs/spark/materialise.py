"""Hourly and daily tiers: values of every entity as of q = floor(t - delay, period), to Parquet and Redis; and what
streamed lifetimes hold before a horizon.

Writing is idempotent: the Parquet copy of an as-of time is replaced as a whole (histories have none: each run holds all
entities), the store overwrites the snapshot of the same as-of time, and the tier is marked complete last. An entity
without events in the windows of a tier is not written; readers of a completed as-of time take its values as those of no
event.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from featuredsl.compilers.collapsed import collapsed
from featuredsl.compilers.scalar import SPARK
from featuredsl.compilers.snapshot import snapshot
from featuredsl.horizon import HISTORY, HORIZON, history_columns
from featuredsl.online.layout import StoreLayout
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan, StoredFeature
from featuredsl.tiles import BATCH_TIERS, batch_features
from featuredsl.windows import TIERS
from jobs.spark.wide import with_wide

STORE_TIMEOUT_S = 10.0
WRITTEN_SCHEMA = "tier string, written bigint, older bigint, wrong bigint"


@dataclass(frozen=True, slots=True)
class Target:
    """Where the values of a group go: its layout, the store's address and namespace, the folder of copies."""

    plan: GroupPlan
    layout: StoreLayout
    redis: str
    namespace: str
    copies: Path


@dataclass(frozen=True, slots=True)
class Materialised:
    """What one tier of a group became: entities written, refused as older, keys that hold something else."""

    group: str
    store_version: str
    tier: str
    as_of_us: int
    entities: int
    older: int
    wrong: int


@dataclass(frozen=True, slots=True)
class _TierWrite:
    name: str
    as_of_us: int
    columns: tuple[str, ...]


def materialise(spark: SparkSession, target: Target, at_us: int) -> list[Materialised]:
    """Compute what batch keeps of a group as of `at_us` from the registered sources, and publish it: the batch tiers,
    and the histories of streamed lifetimes."""
    plan = target.plan
    done = []
    tiers = [tier for tier in BATCH_TIERS if batch_features(plan, tier)]
    if tiers:
        features = [feature for tier in tiers for feature in batch_features(plan, tier)]
        writes = [_tier_write(plan, tier, at_us) for tier in tiers]
        done += _copied(snapshot_values(spark, plan, at_us, features), target, writes)
    history = history_columns(plan)
    if history is not None:
        horizon_us = HORIZON.query_time(at_us)
        write = _TierWrite(HISTORY, horizon_us, tuple(column.name for column in history.tier.columns))
        done += _publish(spark.sql(collapsed(plan, history, SPARK, horizon_us, at_us)), target, [write])
    return done


def _copied(values: DataFrame, target: Target, writes: Sequence[_TierWrite]) -> list[Materialised]:
    frame = values.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        for write in writes:
            _copy(frame, target, write)
        return _publish(frame, target, writes)
    finally:
        frame.unpersist()


def snapshot_values(spark: SparkSession, plan: GroupPlan, at_us: int, features: Sequence[StoredFeature]) -> DataFrame:
    """The entity columns and `group__feature` of every entity with an event in reach, as read at `at_us`."""
    values = spark.sql(snapshot(plan, SPARK, at_us, features))
    return with_wide(spark, plan, values, [feature for feature in plan.wide if feature in features], at_us)


def _tier_write(plan: GroupPlan, tier: str, at_us: int) -> _TierWrite:
    columns = tuple(f"{plan.name}__{feature.name}" for feature in batch_features(plan, tier))
    return _TierWrite(tier, TIERS[tier].query_time(at_us), columns)


def _copy(frame: DataFrame, target: Target, write: _TierWrite) -> None:
    folder = target.copies / f"{target.layout.group}@{target.layout.version}" / write.name
    final = folder / f"as_of_us={write.as_of_us}"
    staging = folder / f".staging-{write.as_of_us}"
    columns = [SPARK.ident(name) for name in (*(n for n, _ in target.plan.entity), *write.columns)]
    frame.select(*columns).write.mode("overwrite").parquet(str(staging))
    if final.exists():
        shutil.rmtree(final)
    staging.replace(final)


def _publish(frame: DataFrame, target: Target, writes: Sequence[_TierWrite]) -> list[Materialised]:
    counts = frame.mapInArrow(_writer(target, tuple(writes)), WRITTEN_SCHEMA).toArrow()
    done = []
    with OnlineStore(target.redis, STORE_TIMEOUT_S, namespace=target.namespace) as store:
        for write in writes:
            store.mark_batch(target.layout, write.name, write.as_of_us)
            mine = counts.filter(pc.field("tier") == write.name)
            sums = [pc.sum(mine.column(name)).as_py() or 0 for name in ("written", "older", "wrong")]
            done.append(Materialised(target.plan.name, target.layout.version, write.name, write.as_of_us, *sums))
    return done


def _writer(
    target: Target, writes: tuple[_TierWrite, ...]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What an executor runs: write its entities, return the counts. Holds only plain values, so it ships."""
    layout = {field.name: getattr(target.layout, field.name) for field in fields(StoreLayout) if field.init}
    entity = [name for name, _ in target.plan.entity]
    redis, namespace = target.redis, target.namespace

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with OnlineStore(redis, STORE_TIMEOUT_S, namespace=namespace) as store:
            for batch in batches:
                yield write_batches(store, StoreLayout(**layout), entity, writes, batch)

    return run


def write_batches(
    store: OnlineStore,
    layout: StoreLayout,
    entity: Sequence[str],
    writes: Sequence[_TierWrite],
    batch: pa.RecordBatch,
) -> pa.RecordBatch:
    """Write the entities of one Arrow batch for every tier; returns the counts per tier."""
    keys = _rows(batch, entity)
    counts: list[dict[str, Any]] = []
    for write in writes:
        rows = zip(keys, _rows(batch, write.columns), strict=True)
        done = store.write_batch(layout, write.name, write.as_of_us, rows)
        counts.append({"tier": write.name, "written": done.written, "older": done.older, "wrong": done.wrong})
    return pa.RecordBatch.from_pylist(counts)


def _rows(batch: pa.RecordBatch, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(batch.column(name).to_pylist() for name in columns), strict=True))
