"""The configuration of the join job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from featuredsl.ccb.attribution import JoinConfig
from featuredsl.errors import InputError
from schemas.topics import ACTIVATIONS, AUCTIONS, CATALOG, CLICKS, IMPRESSIONS

INPUTS = (IMPRESSIONS, CLICKS, ACTIVATIONS, AUCTIONS, CATALOG)
DELIVERIES = ("exactly-once", "at-least-once")


@dataclass(frozen=True, slots=True)
class StreamJoinConfig:
    """Where the job reads and writes, and its rules; times in milliseconds.

    `max_ahead_ms`: a record whose time is further ahead of the broker's is refused, because it would push event time
    past everybody else. `topics` may leave out activations, auctions and the catalog: an input that is read must
    carry records or heartbeats on every partition, or (with an idle time-out) be quiet.
    """

    kafka: str
    prefix: str
    group_id: str
    topics: tuple[str, ...] = INPUTS
    window_ms: int = 1_800_000
    late_ms: int = 86_400_000
    watermark_delay_ms: int = 10_000
    max_ahead_ms: int = 86_400_000
    reward: str = "click"
    parallelism: int = 1
    delivery: str = "exactly-once"

    @staticmethod
    def read(config: Mapping[str, Any]) -> StreamJoinConfig:
        """From the job's JSON; keys that belong to the runtime are left alone. Raises InputError."""
        missing = [name for name in ("kafka", "prefix", "group_id") if name not in config]
        if missing:
            msg = f"the join job's configuration lacks {', '.join(missing)}"
            raise InputError(msg)
        inputs = tuple(config.get("inputs", INPUTS))
        if not {IMPRESSIONS, CLICKS} <= set(inputs) <= set(INPUTS):
            msg = f"inputs {', '.join(inputs)}: {IMPRESSIONS} and {CLICKS} are needed; known: {', '.join(INPUTS)}"
            raise InputError(msg)
        fields = StreamJoinConfig.__dataclass_fields__
        known = {name: config[name] for name in fields if name in config and name != "topics"}
        made = StreamJoinConfig(**known, topics=tuple(name for name in INPUTS if name in inputs))
        made.check()
        return made

    def check(self) -> None:
        """Raise InputError for rules that make no sense."""
        if self.delivery not in DELIVERIES:
            msg = f"unknown delivery {self.delivery!r}; deliveries: {', '.join(DELIVERIES)}"
            raise InputError(msg)
        if min(self.watermark_delay_ms, self.max_ahead_ms, self.parallelism - 1) < 0:
            msg = "watermark_delay_ms and max_ahead_ms must not be negative, parallelism must be positive"
            raise InputError(msg)
        self.rules()

    def rules(self) -> JoinConfig:
        """The rules of attribution."""
        return JoinConfig(window_us=self.window_ms * 1000, late_us=self.late_ms * 1000, reward=self.reward)
