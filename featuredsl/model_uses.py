"""Which models were trained on which versions of the feature groups, from the manifests of their artefacts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featuredsl.errors import InputError

MANIFEST = "manifest.json"
POINTER = "current.json"


@dataclass(frozen=True, slots=True)
class ModelUse:
    """A model and the group versions that it was trained on."""

    model: str
    version: str
    groups: Mapping[str, str]


def model_uses(root: Path) -> tuple[ModelUse, ...]:
    """The champions under a folder (`<model>/current.json`), and artefacts that lie in it; sorted by model.

    Raises InputError for a file that cannot be read.
    """
    found = [_champion(pointer) for pointer in sorted(root.glob(f"*/{POINTER}"))]
    artefacts = sorted((*root.glob(MANIFEST), *root.glob(f"*/{MANIFEST}")))
    found += [_use(_json(manifest), "") for manifest in artefacts]
    return tuple(sorted(found, key=lambda use: (use.model, use.version)))


def users_of(group: str, uses: Iterable[ModelUse]) -> tuple[ModelUse, ...]:
    """The models that were trained with a group."""
    return tuple(use for use in uses if group in use.groups)


def _champion(pointer: Path) -> ModelUse:
    current = _json(pointer)
    try:
        return _use(_json(pointer.parent / str(current["path"]) / MANIFEST), str(current["version"]))
    except KeyError as error:
        raise InputError(f"{pointer} is no pointer to a champion: {error} is missing") from None


def _use(manifest: Mapping[str, Any], version: str) -> ModelUse:
    groups = {str(name): str(value) for name, value in (manifest.get("fingerprints") or {}).items()}
    return ModelUse(str(manifest.get("model", "?")), version, groups)


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a JSON object")
    return data
