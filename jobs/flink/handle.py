"""A submitted Flink job: its state, its failures, and waiting for it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from featuredsl.errors import DependencyError, FeatureError, InputError
from jobs.flink.lag import behind
from jobs.flink.rest import call, root_cause
from jobs.kafka_offsets import Offsets, committed_offsets, end_offsets, readable_ends
from jobs.wait import wait_until

TERMINAL = ("FAILED", "CANCELED", "FINISHED", "SUSPENDED")
WATERMARK_S = 0.5
MIN_CHECKPOINT_S = 10.0


@dataclass(frozen=True, slots=True)
class JobHandle:
    """One job on a cluster. `group_id` and `topics` are what its Kafka sources read (for the lag)."""

    job_id: str
    name: str
    url: str
    kafka: str = ""
    group_id: str = ""
    topics: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """The job as the REST API shows it."""
        job: dict[str, Any] = call(self.url, f"/jobs/{self.job_id}")
        return job

    @property
    def state(self) -> str:
        """RUNNING, RESTARTING, FAILED …"""
        return str(self.describe()["state"])

    def exceptions(self) -> list[str]:
        """Root causes of the job's failures, newest first."""
        history = call(self.url, f"/jobs/{self.job_id}/exceptions?maxExceptions=10")
        return [root_cause(entry["stacktrace"]) for entry in history["exceptionHistory"]["entries"]]

    def check(self) -> None:
        """Raise FeatureError with the root cause when the job has failed or ended."""
        self._check(self.state)

    def wait_running(self, timeout_s: float = 120.0) -> None:
        """Wait until every task runs. Raises at once when the job fails, with the root cause."""
        wait_until(self._not_running, timeout_s, f"the job {self.name} is not running", 0.2)

    def wait_lag_zero(self, timeout_s: float = 120.0, topics: Sequence[str] | None = None) -> None:
        """Wait until everything that its topics hold now has been processed and written.

        The end offsets are taken at the call. Once all sources have handed on all records before them, a
        checkpoint that is triggered later must complete: operators and sinks flush before its barrier. It is
        triggered no earlier than `WATERMARK_S` after the sources were there, so that what the last records
        set free by moving event time is written too. Raises FeatureError with the root cause when the job
        fails, DependencyError after `timeout_s`.
        """
        watched = tuple(topics or self.topics)
        if not (self.kafka and self.group_id and watched):
            msg = f"the job {self.name} has no Kafka group and topics to wait for"
            raise InputError(msg)
        targets = readable_ends(self.kafka, end_offsets(self.kafka, watched))
        deadline = time.monotonic() + timeout_s
        wait_until(lambda: self._lag(targets, watched), timeout_s, f"the job {self.name} is behind")
        reached = time.monotonic()
        while True:
            triggered = time.monotonic()
            self.checkpoint(max(deadline - triggered, MIN_CHECKPOINT_S))
            if triggered >= reached + WATERMARK_S:
                return

    def checkpoint(self, timeout_s: float = 60.0) -> int:
        """Trigger a checkpoint, wait until it is complete, and return its id."""
        deadline = time.monotonic() + max(timeout_s, 1.0)
        while True:
            self.check()
            answer = call(self.url, f"/jobs/{self.job_id}/checkpoints", "POST", {"checkpointType": "CONFIGURED"})
            operation = self._await_operation("checkpoints", answer["request-id"], deadline)
            if "checkpointId" in operation:
                return int(operation["checkpointId"])
            cause = operation.get("failureCause", {}).get("stack-trace", "")
            self._expire(deadline, f"could not make a checkpoint: {root_cause(cause)}")
            time.sleep(0.2)

    def stop(self, timeout_s: float = 120.0) -> str:
        """Stop the job with a savepoint, wait for its end, and return the savepoint's path.

        Raises FeatureError with the root cause when the savepoint fails; the job then goes on.
        """
        deadline = time.monotonic() + timeout_s
        answer = call(self.url, f"/jobs/{self.job_id}/stop", "POST", {"drain": False})
        operation = self._await_operation("savepoints", answer["request-id"], deadline)
        if "location" not in operation:
            cause = root_cause(operation.get("failure-cause", {}).get("stack-trace", ""))
            msg = f"the job {self.name} could not make a savepoint, and goes on: {cause}"
            raise FeatureError(msg)
        wait_until(self._not_terminal, timeout_s, f"the job {self.name} does not end", 0.2)
        return str(operation["location"])

    def cancel(self, timeout_s: float = 60.0) -> None:
        """Cancel the job and wait for its end; a job that has ended stays as it is."""
        if self.state in TERMINAL:
            return
        call(self.url, f"/jobs/{self.job_id}?mode=cancel", "PATCH")
        wait_until(self._not_terminal, timeout_s, f"the job {self.name} does not end", 0.2)

    def _lag(self, targets: Offsets, topics: Sequence[str]) -> str | None:
        state = self.state
        self._check(state)
        if state == "RUNNING":
            late = behind(self.url, self.job_id, targets, committed_offsets(self.kafka, self.group_id, topics))
            if late is None:
                return None
        else:
            late = f"it is {state}"
        failures = self.exceptions()
        return f"{late}; last failure: {failures[0]}" if failures else late

    def _await_operation(self, kind: str, request: str, deadline: float) -> dict[str, Any]:
        while True:
            answer = call(self.url, f"/jobs/{self.job_id}/{kind}/{request}")
            if answer["status"]["id"] == "COMPLETED":
                operation: dict[str, Any] = answer["operation"]
                return operation
            self._expire(deadline, f"has not completed one of its {kind}")
            time.sleep(0.05)

    def _expire(self, deadline: float, what: str) -> None:
        if time.monotonic() < deadline:
            return
        failures = self.exceptions()
        cause = f"; last failure: {failures[0]}" if failures else ""
        msg = f"the job {self.name} {what}{cause}"
        raise DependencyError(msg)

    def _check(self, state: str) -> None:
        if state in ("RUNNING", "CREATED", "INITIALIZING", "RESTARTING"):
            return
        failures = self.exceptions()
        cause = failures[0] if failures else "no failure was recorded"
        msg = f"the Flink job {self.name} is {state}: {cause}"
        raise FeatureError(msg)

    def _not_running(self) -> str | None:
        job = self.describe()
        self._check(job["state"])
        waiting = [vertex["name"][:80] for vertex in job["vertices"] if vertex["status"] != "RUNNING"]
        if job["state"] == "RUNNING" and job["vertices"] and not waiting:
            return None
        failures = self.exceptions()
        cause = f"; last failure: {failures[0]}" if failures else ""
        return f"it is {job['state']}, {len(waiting)} tasks wait{cause}"

    def _not_terminal(self) -> str | None:
        state = self.state
        return None if state in TERMINAL else f"it is {state}"


def find_jobs(url: str, name: str | None = None) -> list[tuple[str, str, str]]:
    """(job id, name, state) of the cluster's jobs, of one name where given."""
    jobs = call(url, "/jobs/overview")["jobs"]
    return [(job["jid"], job["name"], job["state"]) for job in jobs if name in (None, job["name"])]
