"""Retraining on triggers: read, train, judge, register, promote where the rules allow it, report."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from featuredsl.ccb.gate import GateConfig, GateResult
from featuredsl.ccb.scorer import CcbScorer
from featuredsl.errors import DependencyError, FeatureError, InputError
from jobs.training.data import Dataset
from jobs.training.judge import judge
from jobs.training.registry import ModelRegistry, Version
from jobs.training.train import TrainConfig, Trained, train
from jobs.training.trigger import Trigger

REPORTS = "reports.jsonl"

Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """What the trainer of one model works with.

    `inherit` takes the options of the champion where there is one; `fingerprints` are those of the feature groups.
    """

    train: TrainConfig
    folder: Path
    gate: GateConfig
    inherit: bool = True
    fingerprints: Mapping[str, str] = field(default_factory=dict)


class Trainer:
    """Handles triggers one by one; a trigger that has been handled is never trained again."""

    def __init__(self, config: ServiceConfig, registry: ModelRegistry, examples: Callable[[], Dataset]) -> None:
        self._config = config
        self._registry = registry
        self._examples = examples
        self._reports = config.folder / REPORTS
        config.folder.mkdir(parents=True, exist_ok=True)

    def handle(self, triggers: Sequence[Trigger]) -> Iterator[Report]:
        """Reports of the triggers that are new. Those that arrived together are answered by one training."""
        done = self._handled()
        fresh = [trigger for trigger in dict.fromkeys(triggers) if trigger.trigger_id not in done]
        for trigger in fresh[:-1]:
            yield self._record(trigger, {"status": "superseded", "by": fresh[-1].trigger_id})
        for trigger in fresh[-1:]:
            yield self._record(trigger, self._attempt(trigger))

    def _attempt(self, trigger: Trigger) -> Report:
        try:
            return self._retrain(trigger)
        except DependencyError:
            raise
        except FeatureError as error:
            bad_input = isinstance(error, InputError)
            return {"status": "failed", "error": str(error), "bad_input": bad_input, "promoted": False}

    def _retrain(self, trigger: Trigger) -> Report:
        champion = self._registry.champion(self._config.train.model)
        serving = None if champion is None else CcbScorer.load(self._registry.directory(champion))
        staging = self._config.folder / "work"
        shutil.rmtree(staging, ignore_errors=True)
        trained = train(self._examples(), self._train_config(serving), staging, self._config.fingerprints)
        scorer = CcbScorer.load(trained.directory)
        scorer.verify()
        tags = {"trigger_id": trigger.trigger_id, "reason": trigger.reason, "creator": "trainer"}
        version = self._registry.register(trained.directory, tags)
        result = judge(trained.holdout, scorer, serving, self._config.gate)
        version = self._registry.judged(version, result)
        refused = self._registry.promote_automatically(version)
        shutil.rmtree(staging, ignore_errors=True)
        return _report(trained, version, result, refused)

    def _train_config(self, serving: CcbScorer | None) -> TrainConfig:
        own = self._config.train
        if serving is None or not self._config.inherit:
            return own
        used = serving.manifest.document.get("training", {})
        return replace(own, arguments=used.get("arguments", own.arguments), clip_p=used.get("clip_p", own.clip_p))

    def _handled(self) -> set[str]:
        """Ids of triggers with a report, or with a version that the gate has judged."""
        versions = self._registry.versions(self._config.train.model)
        done = {entry.trigger_id for entry in versions if entry.trigger_id and entry.outcome is not None}
        if self._reports.exists():
            lines = self._reports.read_text(encoding="utf-8").splitlines()
            done.update(json.loads(line)["trigger_id"] for line in lines if line.endswith("}"))
        return done

    def _record(self, trigger: Trigger, result: Report) -> Report:
        report = {
            "trigger_id": trigger.trigger_id,
            "model": trigger.model,
            "reason": trigger.reason,
            **result,
        }
        with self._reports.open("a", encoding="utf-8") as file:
            file.write(json.dumps(report, allow_nan=False) + "\n")
        return report


def _report(trained: Trained, version: Version, result: GateResult, refused: str | None) -> Report:
    document = trained.manifest.document
    return {
        "status": "trained",
        "version": version.version,
        "outcome": result.outcome.value,
        "promoted": refused is None,
        "not_promoted_because": refused,
        "reasons": list(result.reasons),
        "examples": document["data"]["training"],
        "holdout": document["data"]["holdout"],
        "rejected": document["data"]["rejected"],
        "metrics": result.metrics,
    }
