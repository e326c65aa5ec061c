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
from featuredsl.tiles import BATCH_TIERS, batch_features
from jobs.flink.records import JobRecord

Say = Callable[[str], None]


def publish(store: OnlineStore, namespace: str, record: JobRecord, say: Say) -> None:
    """Move readers to the job's versions. Raises InputError when another start has taken its place meanwhile."""
    found = store.replies([("HGET", streams_key(namespace), record.name)])[0]
    if found and StreamNote.from_json(found).job_id != record.job_id:
        msg = f"another start of {record.name} has replaced the job {record.job_id}; readers stay with that one"
        raise InputError(msg)
    for group, version in record.versions.items():
        store.set_current(group, version)
    say(f"readers follow {', '.join(f'{group}@{version}' for group, version in record.versions.items())}")


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
