"""The model registry: MLflow for versions, aliases and lineage; the channel for what services load.

Every promotion also publishes the artefact to the channel, so that services never ask MLflow.
"""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlflow
from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from featuredsl.ccb import artefact, channel
from featuredsl.ccb.gate import GateResult, Outcome
from featuredsl.errors import DependencyError, InputError
from jobs.training import lifecycle
from jobs.training.lifecycle import Status
from jobs.training.reach import check_reachable

CHAMPION = "champion"
CANDIDATE = "candidate"
_HISTORY = "champions"
_FOLDER = "model"

logging.getLogger("mlflow").setLevel(logging.WARNING)
logging.getLogger("alembic").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Version:
    """A registered version; `outcome` is None until the gate has judged it."""

    model: str
    version: str
    status: Status
    outcome: Outcome | None
    aliases: tuple[str, ...]
    tags: Mapping[str, str]
    source: str

    @property
    def trigger_id(self) -> str | None:
        """The retrain trigger that made this version."""
        return self.tags.get("trigger_id")


class ModelRegistry:
    """Versions of models in MLflow at `uri`; artefacts under `artefacts`, champions published to `channel_root`."""

    def __init__(self, uri: str, artefacts: Path, channel_root: Path) -> None:
        self._uri = uri
        self._artefacts = artefacts
        self._channel = channel_root
        check_reachable(uri)
        try:
            self._client = MlflowClient(tracking_uri=uri, registry_uri=uri)
            self._client.search_registered_models(max_results=1)
        except Exception as error:
            reason = str(error).splitlines()[0][:200]
            msg = f"the model registry {uri} cannot be opened: {reason}; it is named by FEATUREDSL_MLFLOW"
            raise DependencyError(msg) from error

    def register(self, directory: Path, tags: Mapping[str, str]) -> Version:
        """Store a complete artefact as a new version with status REGISTERED and the alias `candidate`."""
        manifest = artefact.read_manifest(directory)
        manifest.verify_files()
        model = manifest.model
        run = self._client.create_run(self._experiment(model), run_name=model)
        self._client.log_artifacts(run.info.run_id, str(directory), _FOLDER)
        for name, value in _numbers(manifest.document.get("metrics", {})).items():
            self._client.log_metric(run.info.run_id, name, value)
        self._client.set_terminated(run.info.run_id)
        self._ensure_model(model)
        created = self._client.create_model_version(
            model,
            source=f"{run.info.artifact_uri}/{_FOLDER}",
            run_id=run.info.run_id,
            tags={**_lineage(manifest), **tags, "status": Status.REGISTERED.value},
        )
        self._client.set_registered_model_alias(model, CANDIDATE, created.version)
        return self.version(model, str(created.version))

    def judged(self, version: Version, result: GateResult) -> Version:
        """Record the gate's answer; the version becomes VALIDATED or FAILED."""
        self._set_status(version, Status.VALIDATING)
        self._tag(version, "gate", result.outcome.value)
        self._tag(version, "gate_result", json.dumps(result.to_json(), allow_nan=False)[:4900])
        return self._set_status(self.version(version.model, version.version), lifecycle.after_gate(result.outcome))

    def promote_automatically(self, version: Version) -> str | None:
        """Promote a judged version if the rules allow it; returns why not, or None when it now serves."""
        known = self.version(version.model, version.version)
        if known.outcome is None or known.status is not Status.VALIDATED:
            return f"version {known.version} is {known.status}"
        has_champion = self.champion(known.model) is not None
        frozen = channel.frozen(self._channel, known.model) is not None
        reason = lifecycle.refusal(known.outcome, has_champion, frozen)
        if reason is None:
            self._deploy(known)
        return reason

    def promote(self, model: str, version: str) -> Version:
        """Promote by hand a version that has passed the gate; CheckFailed when it has not."""
        wanted = self.version(model, version)
        if CHAMPION not in wanted.aliases:
            lifecycle.check_manual(version, wanted.status)
            self._deploy(wanted)
        return self.version(model, version)

    def rollback(self, model: str) -> Version:
        """Make the champion before the current one serve again.

        Raises InputError for a model that is not registered and when it has no earlier champion.
        """
        self.require(model)
        current = self.champion(model)
        earlier = [name for name in self._history(model) if current is None or name != current.version]
        if not earlier:
            msg = f"model {model!r} has no earlier champion to go back to"
            raise InputError(msg)
        self._deploy(self.version(model, earlier[-1]))
        self._client.set_registered_model_tag(model, _HISTORY, ",".join(earlier))
        return self.version(model, earlier[-1])

    def champion(self, model: str) -> Version | None:
        """The version with the alias `champion`."""
        try:
            return _version(self._client.get_model_version_by_alias(model, CHAMPION))
        except MlflowException:
            return None

    def version(self, model: str, version: str) -> Version:
        """One version; InputError with those that exist."""
        try:
            return _version(self._client.get_model_version(model, version))
        except MlflowException as error:
            self.require(model)
            known = ", ".join(entry.version for entry in self.versions(model)) or "none"
            msg = f"model {model!r} has no version {version!r}; versions are {known}"
            raise InputError(msg) from error

    def versions(self, model: str) -> list[Version]:
        """All versions of a model, oldest first, with their aliases."""
        found = self._client.search_model_versions(f"name='{model}'")
        numbers = sorted(int(entry.version) for entry in found)
        return [_version(self._client.get_model_version(model, str(number))) for number in numbers]

    def models(self) -> list[str]:
        """Names of all models."""
        return sorted(entry.name for entry in self._client.search_registered_models())

    def require(self, model: str) -> None:
        """Raise InputError with the names of all models, and the nearest, when there is none called `model`."""
        known = self.models()
        if model not in known:
            raise InputError(unknown_model(model, known))

    def directory(self, version: Version) -> Path:
        """The artefact directory of a version, on this machine."""
        return Path(mlflow.artifacts.download_artifacts(artifact_uri=version.source, tracking_uri=self._uri))

    def _deploy(self, version: Version) -> None:
        """Publish first, then move the alias: a service never sees an alias without an artefact."""
        previous = self.champion(version.model)
        source = self.directory(version)
        artefact.read_manifest(source).verify_files()
        self._set_status(version, Status.DEPLOYING)
        channel.publish(self._channel, version.model, version.version, source)
        self._client.set_registered_model_alias(version.model, CHAMPION, version.version)
        if previous is not None and previous.version != version.version:
            self._set_status(previous, Status.DEPRECATED)
        self._set_status(self.version(version.model, version.version), Status.SERVING)
        history = [name for name in self._history(version.model) if name != version.version]
        self._client.set_registered_model_tag(version.model, _HISTORY, ",".join([*history, version.version]))

    def _history(self, model: str) -> list[str]:
        tags = self._client.get_registered_model(model).tags
        return [name for name in tags.get(_HISTORY, "").split(",") if name]

    def _set_status(self, version: Version, status: Status) -> Version:
        lifecycle.check_transition(version.version, version.status, status)
        self._tag(version, "status", status.value)
        return self.version(version.model, version.version)

    def _tag(self, version: Version, name: str, value: str) -> None:
        self._client.set_model_version_tag(version.model, version.version, name, value)

    def _experiment(self, model: str) -> str:
        found = self._client.get_experiment_by_name(model)
        if found is not None:
            return str(found.experiment_id)
        location = (self._artefacts / model).absolute().as_uri()
        return str(self._client.create_experiment(model, artifact_location=location))

    def _ensure_model(self, model: str) -> None:
        try:
            self._client.get_registered_model(model)
        except MlflowException:
            self._client.create_registered_model(model)


def unknown_model(model: str, known: Sequence[str]) -> str:
    """The text for a model that does not exist."""
    near = difflib.get_close_matches(model, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"no model {model!r}; models: {', '.join(known) or 'none'}{hint}"


def _version(found: ModelVersion) -> Version:
    gate = found.tags.get("gate")
    return Version(
        model=found.name,
        version=str(found.version),
        status=Status(found.tags.get("status", Status.REGISTERED.value)),
        outcome=Outcome(gate) if gate else None,
        aliases=tuple(sorted(found.aliases)),
        tags=dict(found.tags),
        source=str(found.source),
    )


def _lineage(manifest: artefact.Manifest) -> dict[str, str]:
    document = manifest.document
    return {
        "artefact_sha256": manifest.sha256,
        "data_sha256": str(document.get("data", {}).get("sha256", "")),
        "preprocessor_sha256": str(document.get("preprocessor", "")),
        "feature_fingerprints": json.dumps(document.get("fingerprints", {}), sort_keys=True),
        "vw_arguments": str(document["vw"]["arguments"]),
        "metrics": json.dumps(document.get("metrics", {}), sort_keys=True),
        "format": f"ccb-onnx/{document['format']}",
        "hardware": "cpu,cuda",
    }


def _numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in metrics.items() if isinstance(value, int | float)}
