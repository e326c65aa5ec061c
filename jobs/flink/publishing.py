"""Moving readers to the store versions that a feature job has filled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from featuredsl.errors import DependencyError, InputError
from featuredsl.horizon import HISTORY, history_columns
from featuredsl.online.meta import StoreMeta
from featuredsl.online.progress import StreamNote, streams_key
from featuredsl.online.store import OnlineStore
from featuredsl.plan import GroupPlan
from featuredsl.settings import Settings
from featuredsl.tiles import BATCH_TIERS, batch_features, closed_mark_names
from featuredsl.times import format_time
from jobs.flink.handle import JobHandle
from jobs.flink.records import JobRecord
from jobs.wait import wait_until

Say = Callable[[str], None]
POLL_S = 0.5


def publish(store: OnlineStore, namespace: str, record: JobRecord, say: Say) -> None:
    """Move readers to the job's versions. Raises InputError when another start has taken its place meanwhile."""
    found = store.replies([("HGET", streams_key(namespace), record.name)])[0]
    if found and StreamNote.from_json(found).job_id != record.job_id:
        msg = f"another start of {record.name} has replaced the job {record.job_id}; readers stay with that one"
        raise InputError(msg)
    for group, version in record.versions.items():
        store.set_current(group, version)
    say(f"readers follow {', '.join(f'{group}@{version}' for group, version in record.versions.items())}")


def wait_closed(
    store: OnlineStore,
    plans: Sequence[GroupPlan],
    handle: JobHandle,
    versions: Mapping[str, str],
    wait_s: float,
    say: Say,
) -> None:
    """Wait until the deferred tiers of the new versions are closed as far as those that readers follow were at the
    call: a job may have read everything, and still wait for the event time of a quiet partition or table.

    Raises FeatureError when the job fails, DependencyError after `wait_s` seconds.
    """
    meta = store.meta()
    wanted = {plan.name: _followed_us(plan.name, meta) for plan in plans if closed_mark_names(plan)}

    def missing() -> str | None:
        now = store.meta()
        for plan in plans:
            goal = wanted.get(plan.name, 0)
            found = _closed_us(plan, versions[plan.name], now) if goal else 0
            if found < goal:
                handle.check()
                upto = f"is closed up to {format_time(found)}" if found else "has nothing closed yet"
                return f"{plan.name} {upto}, what readers follow up to {format_time(goal)}"
        return None

    if reason := missing():
        say(f"waiting for event time (heartbeats move it): {reason}")
        wait_until(missing, wait_s, "the new store version is behind", POLL_S)


def _followed_us(group: str, meta: StoreMeta) -> int:
    """How far all deferred tiers of the version that readers follow are closed; 0 where there are none."""
    marks = meta.closed_marks(group, meta.versions.get(group, ""))
    return min((max(times, default=0) for times in marks.values()), default=0)


def _closed_us(plan: GroupPlan, version: str, meta: StoreMeta) -> int:
    """How far all deferred tiers of a version are closed; 0 where one is not."""
    marks = meta.closed_marks(plan.name, version)
    return min(max(marks.get(name, ()), default=0) for name in closed_mark_names(plan))


def fill_batches(
    store: OnlineStore, settings: Settings, plans: Sequence[GroupPlan], versions: Mapping[str, str], say: Say
) -> None:
    """Run the batch job for groups whose live version has batch values that the new one lacks.

    Raises DependencyError when there is no Spark, or the batch job does not fill them.
    """
    behind = _behind(plans, versions, store.meta())
    if not behind:
        return
    lacking = f"the batch tiers of {', '.join(behind)} are not filled for the new store version"
    if not settings.spark:
        msg = f"{lacking} and no Spark is configured: run `featuredsl run batch` where one is, then this command again"
        raise DependencyError(msg)
    say(f"filling the batch tiers of {', '.join(behind)}")
    command = [sys.executable, "-m", "featuredsl.cli.main", "run", "batch", "--groups", ",".join(behind)]
    environment = os.environ | settings.environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or _behind(plans, versions, store.meta()):
        msg = f"{lacking}: `featuredsl run batch` ended with {done.returncode}: {done.stderr.strip()[-500:]}"
        raise DependencyError(msg)


def _behind(plans: Sequence[GroupPlan], versions: Mapping[str, str], meta: StoreMeta) -> list[str]:
    return [plan.name for plan in plans if _lacks_batches(plan, versions[plan.name], meta)]


def _lacks_batches(plan: GroupPlan, version: str, meta: StoreMeta) -> bool:
    """True when a batch tier of a version is behind that of the version which readers follow, or the history of its
    lifetimes is not there."""
    live = meta.versions.get(plan.name)
    if live is None or live == version:
        return False
    was, now = meta.batch_marks(plan.name, live), meta.batch_marks(plan.name, version)
    tiers = [tier for tier in BATCH_TIERS if batch_features(plan, tier)]
    if history_columns(plan) is not None:
        if HISTORY not in now:
            return True
        tiers.append(HISTORY)
    return any(max(now.get(tier, ()), default=0) < max(was.get(tier, ()), default=0) for tier in tiers)
