"""A trained model as a directory: what the trainer writes, the registry keeps and the scorer reads.

manifest.json    format, model, Vowpal Wabbit options, feature space, exploration, lineage, SHA-256 of every file
model.onnx       weights and the sum over them
vocabulary.json  the preprocessor
golden.json      requests with the costs and probabilities that Vowpal Wabbit itself gives for them
model.vw         the learner's own file, for retraining and audits
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featuredsl.ccb.explore import EpsilonGreedy, Exploration, Softmax, SquareCB
from featuredsl.ccb.features import FeatureSpace
from featuredsl.ccb.hashing import HashOptions
from featuredsl.errors import InputError

FORMAT = 1
MANIFEST = "manifest.json"
ONNX = "model.onnx"
VOCABULARY = "vocabulary.json"
GOLDEN = "golden.json"
VW_MODEL = "model.vw"

_RULES: Mapping[str, type[Exploration]] = {
    "epsilon_greedy": EpsilonGreedy,
    "softmax": Softmax,
    "squarecb": SquareCB,
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The checked content of manifest.json; `document` is the whole of it, `sha256` the digest of the file."""

    directory: Path
    document: Mapping[str, Any]
    sha256: str

    @property
    def model(self) -> str:
        """Name of the model."""
        return str(self.document["model"])

    @property
    def space(self) -> FeatureSpace:
        """How the model reads features."""
        found = self.document["features"]
        return FeatureSpace(HashOptions(**found["hashing"]), tuple(found["terms"]), bool(found["constant"]))

    @property
    def exploration(self) -> Exploration:
        """How the model explores."""
        found = dict(self.document["exploration"])
        return _RULES[found.pop("kind")](**found)

    def verify_files(self) -> None:
        """Raise InputError unless every file is there with the digest that the manifest says."""
        for name, expected in self.document["files"].items():
            found = digest(self.directory / name)
            if found != expected:
                msg = f"{self.directory / name}: SHA-256 is {found}, the manifest says {expected}; take another copy"
                raise InputError(msg)


def read_manifest(directory: Path) -> Manifest:
    """Read and check manifest.json; InputError when it is missing, damaged or of another format."""
    path = directory / MANIFEST
    try:
        content = path.read_bytes()
        document = json.loads(content)
        manifest = Manifest(directory, document, hashlib.sha256(content).hexdigest())
        if document["format"] != FORMAT:
            msg = f"{path}: artefact format {document['format']!r}; this release reads {FORMAT}"
            raise InputError(msg)
        _ = (manifest.model, manifest.space, manifest.exploration, document["files"].items())
    except OSError as error:
        msg = f"{directory} is not a model artefact: {MANIFEST} cannot be read ({error.strerror})"
        raise InputError(msg) from error
    except (KeyError, TypeError, AttributeError) as error:
        msg = f"{path} is damaged: {error!r}"
        raise InputError(msg) from error
    except json.JSONDecodeError as error:
        msg = f"{path} is not JSON: {error}"
        raise InputError(msg) from error
    return manifest


def space_document(space: FeatureSpace) -> dict[str, Any]:
    """The JSON form of a feature space."""
    hashing = space.hashing
    return {
        "hashing": {"bits": hashing.bits, "all_strings": hashing.all_strings, "seed": hashing.seed},
        "terms": list(space.terms),
        "constant": space.constant,
    }


def exploration_document(rule: Exploration) -> dict[str, Any]:
    """The JSON form of an exploration rule."""
    kind = next(name for name, cls in _RULES.items() if isinstance(rule, cls))
    return {"kind": kind, **{name: getattr(rule, name) for name in rule.__slots__}}


def digest(path: Path) -> str:
    """SHA-256 of a file in hex; InputError when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise InputError(msg) from error
