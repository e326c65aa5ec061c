"""Training: examples -> artefact directory. Deterministic for the same examples, configuration and seed."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from featuredsl.ccb import artefact
from featuredsl.ccb.encode import action_line, training_text
from featuredsl.ccb.preprocess import ACTION, Preprocessor, Vocabulary, build_vocabulary
from featuredsl.ccb.types import Action, DecisionRequest, Example
from featuredsl.errors import InputError
from jobs.training import data, options, vw
from jobs.training.export import ExportSpec, export

DEFAULT_ARGUMENTS = "--cb_type mtr --quadratic CA --softmax --lambda 10 --epsilon 0.3"
DEFAULT_CLIP_P = 0.001
GOLDEN_CASES = 20


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """How a model is trained. `days` None = all examples; `holdout` = the last share, kept for the gate.

    `min_count` is the number of decisions in which a text must appear to be known by name; `clip_p` bounds the
    logged probabilities from below while learning, which limits the weight of a single decision.
    """

    model: str
    arguments: str = DEFAULT_ARGUMENTS
    holdout: float = 0.2
    days: float | None = None
    min_count: int = 2
    clip_p: float = DEFAULT_CLIP_P
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0.0 <= self.holdout < 1.0:
            msg = f"holdout is {self.holdout}: give a share of at least 0 and below 1"
            raise InputError(msg)
        if self.days is not None and not 0.0 < self.days < float("inf"):
            msg = f"days is {self.days}: give a number above 0, or leave it out for all examples"
            raise InputError(msg)
        if not 0.0 <= self.clip_p <= 1.0:
            msg = f"clip_p is {self.clip_p}: it bounds probabilities from below; give a number from 0 to 1"
            raise InputError(msg)
        if self.min_count < 1 or self.seed < 0:
            msg = f"min_count is {self.min_count} and seed is {self.seed}: give at least 1 and at least 0"
            raise InputError(msg)
        options.parse_given(self.arguments)


@dataclass(frozen=True, slots=True)
class Trained:
    """A finished artefact with the held-out examples that the gate judges it with."""

    directory: Path
    manifest: artefact.Manifest
    holdout: tuple[Example, ...]


def train(
    dataset: data.Dataset, config: TrainConfig, directory: Path, fingerprints: Mapping[str, str] | None = None
) -> Trained:
    """Train on `dataset` and write the artefact to `directory`, which appears only when it is complete.

    `fingerprints` are those of the feature groups that the examples carry; they go into the lineage.

    Raises InputError when there is too little to learn from or the directory is in use, and FeatureError when the
    learner crashed or learnt nothing.
    """
    _check_directory(directory)
    split = data.split_by_time(data.last_days(dataset.examples, config.days), config.holdout)
    if not split.training:
        msg = f"no example to train on: {len(dataset.examples)} valid, rejected {dict(dataset.rejected)}"
        raise InputError(msg)
    staging = _staging(directory)
    try:
        manifest = _train_into(staging, dataset, (split, config), fingerprints or {})
        staging.chmod(0o755)
        if directory.exists():
            directory.rmdir()
        staging.rename(directory)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Trained(directory, replace(manifest, directory=directory), split.holdout)


def _check_directory(directory: Path) -> None:
    """Raise InputError unless `directory` is new or an empty directory."""
    if directory.exists() and not directory.is_dir():
        msg = f"{directory} is a file; give a new directory"
        raise InputError(msg)
    if directory.exists() and any(directory.iterdir()):
        msg = f"{directory} is not empty; give a new directory"
        raise InputError(msg)


def _staging(directory: Path) -> Path:
    """A hidden folder beside `directory`. Raises InputError where none can be made."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".training-", dir=directory.parent))
    except OSError as error:
        msg = f"{directory} cannot be made: {error.strerror}"
        raise InputError(msg) from error


def _train_into(
    folder: Path, dataset: data.Dataset, plan: tuple[data.Split, TrainConfig], fingerprints: Mapping[str, str]
) -> artefact.Manifest:
    split, config = plan
    pre = Preprocessor(vocabulary(split.training, config.min_count))
    text = folder / "examples.txt"
    write_text(text, split.training, pre)
    learnt = vw.train(_arguments(config), text, folder / artefact.VW_MODEL)
    text.unlink()
    lineage = {
        "training": asdict(config),
        "data": _data_document(dataset, split),
        "schema": _feature_names(split.training),
        "preprocessor": pre.digest(),
        "fingerprints": dict(fingerprints),
        "metrics": {"progressive_loss": learnt["progressive_loss"], **_label_metrics(split)},
    }
    golden = _golden_requests(split.holdout or split.training)
    return export(folder, ExportSpec(config.model, pre, golden, lineage))


def vocabulary(examples: Sequence[Example], min_count: int) -> Vocabulary:
    """As `build_vocabulary`, but reads a candidate list that many decisions share only `min_count` times."""
    lists: dict[int, list[DecisionRequest]] = {}
    for example in examples:
        same = lists.setdefault(id(example.request.candidates), [])
        if len(same) < min_count:
            same.append(example.request)
    rest = [replace(example.request, candidates=()) for example in examples]
    words = build_vocabulary(rest, min_count)
    items = build_vocabulary(itertools.chain.from_iterable(lists.values()), min_count)
    return {**words, **{name: texts for name, texts in items.items() if name.startswith(f"{ACTION}.")}}


def write_text(path: Path, examples: Iterable[Example], pre: Preprocessor) -> None:
    """The examples as one Vowpal Wabbit text file. Lines of candidate objects that come back are reused."""
    lines: dict[int, tuple[Action, str]] = {}

    def write_action(action: Action, pre: Preprocessor) -> str:
        known = lines.get(id(action))
        if known is None:
            known = lines.setdefault(id(action), (action, action_line(action, pre)))
        return known[1]

    with path.open("w", encoding="utf-8") as file:
        for example in examples:
            file.write(training_text(example, pre, write_action))
            file.write("\n\n")


def _arguments(config: TrainConfig) -> str:
    given = options.parse_given(config.arguments)
    given.setdefault("cb_type", ["mtr"])
    return (
        f"--ccb_explore_adf {options.spelled(given)} --clip_p {config.clip_p:g} --random_seed {config.seed} "
        "--all_slots_loss"
    )


def _data_document(dataset: data.Dataset, split: data.Split) -> dict[str, Any]:
    everything = (*split.training, *split.holdout)
    return {
        "sha256": dataset.sha256,
        "valid": len(dataset.examples),
        "rejected": dict(dataset.rejected),
        "training": len(split.training),
        "holdout": len(split.holdout),
        "from_us": everything[0].ts_us,
        "to_us": everything[-1].ts_us,
        "holdout_from_us": split.holdout[0].ts_us if split.holdout else None,
    }


def _label_metrics(split: data.Split) -> dict[str, Any]:
    return {"training_reward": _mean_reward(split.training), "holdout_reward": _mean_reward(split.holdout)}


def _mean_reward(examples: Sequence[Example]) -> float | None:
    if not examples:
        return None
    return sum(-label.cost for example in examples for label in example.labels) / len(examples)


def _feature_names(examples: Sequence[Example]) -> Mapping[str, list[str]]:
    context: set[str] = set()
    action: set[str] = set()
    slot: set[str] = set()
    seen: set[int] = set()
    for example in examples:
        context.update(example.request.context)
        for place in example.request.slots:
            slot.update(place.features)
        for candidate in example.request.candidates:
            if id(candidate) not in seen:
                seen.add(id(candidate))
                action.update(candidate.features)
    return {"context": sorted(context), "action": sorted(action), "slot": sorted(slot)}


def _golden_requests(examples: Sequence[Example]) -> list[DecisionRequest]:
    step = max(1, len(examples) // GOLDEN_CASES)
    chosen = examples[::step][:GOLDEN_CASES]
    return [replace(example.request, seed=f"golden-{number}") for number, example in enumerate(chosen)]
