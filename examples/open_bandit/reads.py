"""Online reads at the pauses: logged as JSON lines, compared later with what Spark computes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from examples.open_bandit.dataset import Decision
from examples.open_bandit.run import DemoRun
from examples.open_bandit.timeline import Timeline
from featuredsl.finalize import FeatureValue
from featuredsl.online.store import OnlineStore
from featuredsl.reader import FeatureReader
from featuredsl.registry import Registry
from featuredsl.settings import Settings

KEYS_PER_GROUP = 40
REQUEST = {"affinity": 1.0}
READ_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class ReadLog:
    """Reads the busiest segments and items of the replay so far, and appends them to a file."""

    settings: Settings
    path: Path

    def store(self) -> OnlineStore:
        """The store as readers of the run see it."""
        return OnlineStore(self.settings.require("redis"), READ_TIMEOUT_S, namespace=self.settings.prefix)

    def read(self, timeline: Timeline, at_us: int) -> int:
        """Read every feature of the keys at `at_us`; returns how many values were read."""
        keys = busiest(timeline, at_us)
        registry = Registry.load(self.settings.registry)
        with self.store() as store:
            rows = FeatureReader(store, registry).get(keys, at_us, REQUEST)
        with self.path.open("a", encoding="utf-8") as file:
            for (group, key), row in zip(keys, rows, strict=True):
                file.write(json.dumps(_logged(at_us, group, key, row), allow_nan=False) + "\n")
        return sum(len(row) for row in rows)


class Freshness:
    """Tells whether the feature job has written an exposure."""

    def __init__(self, settings: Settings, store: OnlineStore) -> None:
        self._reader = FeatureReader(store, Registry.load(settings.registry))

    def has(self, decision: Decision) -> bool:
        """True when the newest exposure of the decision's segment is at least as new.

        Asked of the latest value, not of a window: in quiet hours the tiles of an older decision may be gone.
        """
        ts_us = decision.ts_us // 1000 * 1000
        (row,) = self._reader.get([("segment", (decision.segment,))], ts_us + 1000)
        return (row["last_item"].event_time_us or 0) >= ts_us


def read_commands(run: DemoRun) -> str:
    """The commands that read the run's values of its busiest segment; they work while the stack is up."""
    settings = run.settings()
    group, (key,) = busiest(run.timeline, run.timeline.closing_us)[0]
    names = f"FEATUREDSL_PREFIX={settings.prefix} FEATUREDSL_REGISTRY={run.shown(Path(settings.registry))}"
    return f"{names} featuredsl get {group} {key} --json\n{names} featuredsl explain-read {group} {key}"


def busiest(timeline: Timeline, before_us: int) -> list[tuple[str, tuple[str, ...]]]:
    """(group, key) of the entities that were shown most before a time; ties by name."""
    segments: Counter[str] = Counter()
    items: Counter[str] = Counter()
    for decision in timeline.decisions:
        if decision.ts_us >= before_us:
            break
        segments[decision.segment] += 1
        items[decision.item_id] += 1
    named = [("segment", name) for name in _top(segments)] + [("item", name) for name in _top(items)]
    return [(group, (name,)) for group, name in named]


def _top(counts: Counter[str]) -> list[str]:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [name for name, _ in ordered[:KEYS_PER_GROUP]]


def _logged(at_us: int, group: str, key: tuple[str, ...], row: dict[str, FeatureValue]) -> dict[str, object]:
    features = {
        name: {
            "value": found.value,
            "status": found.status,
            "as_of": found.as_of_us,
            "event_time": found.event_time_us,
        }
        for name, found in row.items()
    }
    return {"at": at_us, "group": group, "key": list(key), "request": REQUEST, "features": features}
