"""The only place that loads Vowpal Wabbit: one task per process, described by a JSON file.

Started as a script by `jobs.training.vw`; imports nothing of featuredsl, because malformed input can end this process
with a signal. Tasks: `train` (examples file -> model), `inspect` (model -> arguments, weights), `predict`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import vowpalwabbit

Task = dict[str, Any]


def train(task: Task) -> Task:
    """Learn from `data` with `arguments`, write `model`; returns the progressive validation loss.

    Options that Vowpal Wabbit refuses end in {"refused": its words} before any example is read.
    """
    try:
        vowpalwabbit.Workspace(f"{task['arguments']} --quiet").finish()
    except RuntimeError as error:
        return {"refused": str(error)}
    learner = vowpalwabbit.Workspace(f"{task['arguments']} --quiet -d {task['data']} -f {task['model']}")
    weight = learner.get_weighted_examples()
    loss = learner.get_sum_loss() / weight if weight else None
    learner.finish()
    return {"progressive_loss": loss, "examples": weight}


def inspect(task: Task) -> Task:
    """Reload `model` read-only; write its dense weights to `weights` (npy); returns arguments and header."""
    header = Path(task["header"])
    reader = vowpalwabbit.Workspace(f"-i {task['model']} -t --quiet --readable_model {header}")
    entries = json.loads(reader.json_weights())["weights"]
    weights = np.zeros(reader.num_weights(), dtype=np.float32)
    for entry in entries:
        weights[entry["index"]] = entry["value"]
    np.save(task["weights"], weights)
    result = {"arguments": reader.get_arguments(), "stride": reader.get_stride(), "weights": len(weights)}
    reader.finish()
    lines = header.read_text(encoding="utf-8", errors="replace").splitlines()
    return {**result, "header": [line for line in lines[:200] if not line[:1].isdigit()]}


def predict(task: Task) -> Task:
    """Raw costs and probabilities of the examples in `texts` under `model`: per text, one entry per slot."""
    reader = vowpalwabbit.Workspace(f"-i {task['model']} -t --quiet")
    results = [_predict_slots(reader, text) for text in task["texts"]]
    reader.finish()
    return {"predictions": results}


def _predict_slots(reader: Any, text: str) -> list[Task]:
    """Slot by slot, because raw costs are only kept for the last slot of a prediction."""
    lines = text.split("\n")
    first = next(at for at, line in enumerate(lines) if line.startswith("ccb slot"))
    slots = []
    for end in range(first + 1, len(lines) + 1):
        examples = reader.parse("\n".join(lines[:end]))
        last = reader.predict(examples)[-1]
        costs = [example.get_partial_prediction() for example in examples[1:first]]
        reader.finish_example(examples)
        slots.append({"ranking": last, "costs": [costs[action] for action, _ in last]})
    return slots


def main(path: str) -> None:
    """Run the task in the JSON file `path` and write its result beside it (suffix `.result`)."""
    tasks: dict[str, Callable[[Task], Task]] = {"train": train, "inspect": inspect, "predict": predict}
    source = Path(path)
    task = json.loads(source.read_text(encoding="utf-8"))
    result = tasks[task["task"]](task)
    source.with_suffix(".result").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
