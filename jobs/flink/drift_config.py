"""The monitor part of the drift job's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from featuredsl.errors import InputError
from monitors.policy import BaselinePlan, MonitorConfig, policy_from

DEFAULT_BASELINE_HOURS = 168


def monitor_config(config: Mapping[str, Any]) -> MonitorConfig:
    """From the job's JSON.

    `baseline`: {"from_ms", "to_ms"} (whole hours of event time that they touch), or {"hours"} from the first
    record of a series on; default the first week. `policy`: options of `monitors.policy.Policy` (kind, min_rows,
    fire_after, ...). `source`, `tenant` and `links` go into the events. Raises InputError.
    """
    span = dict(config.get("baseline", {}))
    hours = int(span.pop("hours", DEFAULT_BASELINE_HOURS))
    plan = None
    if span:
        if set(span) != {"from_ms", "to_ms"}:
            msg = f'baseline is {{"from_ms", "to_ms"}} or {{"hours"}}, not {sorted(span)}'
            raise InputError(msg)
        plan = BaselinePlan.covering(int(span["from_ms"]) * 1000, int(span["to_ms"]) * 1000)
    return MonitorConfig(
        baseline=plan,
        baseline_hours=hours,
        policy=policy_from(config.get("policy", {})),
        source=config.get("source", "featuredsl/drift"),
        tenant=config.get("tenant", ""),
        links=config.get("links", {}),
    )
