"""May a job be submitted now? Asked before the client starts, which takes long to say less."""

from __future__ import annotations

from collections.abc import Collection

from featuredsl.errors import DependencyError, InputError
from featuredsl.online.store import OnlineStore
from jobs.flink.handle import TERMINAL, find_jobs
from jobs.flink.rest import call

ELASTIC = ("kubernetes", "yarn")
SAFE_POLICIES = ("noeviction", "volatile-ttl")
_ELASTIC_KEYS = ("kubernetes.cluster-id", "yarn.application.id")


def admit(url: str, name: str, parallelism: int, beside: Collection[str] = ()) -> None:
    """Check that no job of this name runs but those with the ids `beside`, and that `parallelism` slots are free.

    Raises InputError naming the job that runs, DependencyError when there are too few slots (retryable: they become
    free with the job that holds them) or the JobManager does not answer. Clusters that start TaskManagers on demand
    (Kubernetes and YARN sessions) have no fixed number of slots and are not asked for them.
    """
    for job_id, _, state in find_jobs(url, name):
        if state not in TERMINAL and job_id not in beside:
            msg = (
                f"the job {name} is {state} already on {url} (job id {job_id}); to start it anew, cancel it first: "
                f"`curl -X PATCH '{url}/jobs/{job_id}?mode=cancel'`; it begins with empty state then"
            )
            raise InputError(msg)
    overview = call(url, "/overview")
    free, total = int(overview["slots-available"]), int(overview["slots-total"])
    if free < parallelism and not _elastic(url):
        msg = (
            f"the job {name} needs {parallelism} task slots, one for each subtask; Flink at {url} has {total} slots, "
            f"{free} of them free: lower --parallelism, cancel another job or add a TaskManager"
        )
        raise DependencyError(msg)


def _elastic(url: str) -> bool:
    """True for a session cluster that asks its resource manager for TaskManagers."""
    config = {entry["key"]: entry["value"] for entry in call(url, "/jobmanager/config")}
    target = str(config.get("execution.target", ""))
    return target.startswith(ELASTIC) or any(key in config for key in _ELASTIC_KEYS)


def check_eviction(store: OnlineStore, url: str) -> None:
    """Raise InputError where a node of Redis may throw away values that still count: they would be missing without a
    word.

    `noeviction` refuses writes when memory is full, and the sink waits; `volatile-ttl` gives up what expires first.
    """
    policies = [_policy(_text(reply)) for reply in store.everywhere("INFO", "memory")]
    policy = next((policy for policy in policies if policy and policy not in SAFE_POLICIES), None)
    if policy is not None:
        msg = (
            f"Redis at {url.rpartition('@')[2]} has maxmemory-policy {policy}, which drops features that are in use; "
            f"set it to {' or '.join(SAFE_POLICIES)}: `redis-cli config set maxmemory-policy {SAFE_POLICIES[0]}`"
        )
        raise InputError(msg)


def _policy(text: str) -> str:
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return lines.get("maxmemory_policy", "")


def _text(reply: object) -> str:
    return reply.decode() if isinstance(reply, bytes) else ""
