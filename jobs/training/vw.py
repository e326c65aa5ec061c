"""Runs Vowpal Wabbit tasks in processes of their own, so that its crashes become errors."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featuredsl.errors import FeatureError, InputError

WORKER = Path(__file__).with_name("vw_worker.py")
TIMEOUT_S = 3600.0
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Inspection:
    """A saved model, reloaded read-only: its effective options, header lines and dense weights."""

    arguments: str
    header: tuple[str, ...]
    stride: int
    weights: NDArray[np.float32]


def train(arguments: str, data: Path, model: Path, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
    """Learn from the examples file `data`; returns {"progressive_loss", "examples"}.

    Raises InputError with Vowpal Wabbit's words when it refuses the options.
    """
    task = {"task": "train", "arguments": arguments, "data": str(data), "model": str(model)}
    result = _run(task, timeout_s)
    if "refused" in result:
        msg = f"Vowpal Wabbit refuses the options {arguments!r}: {_one_line(result['refused'])}"
        raise InputError(msg)
    return result


def inspect(model: Path, timeout_s: float = TIMEOUT_S) -> Inspection:
    """Options, header and weights of a saved model."""
    with tempfile.TemporaryDirectory(prefix="featuredsl-vw-") as folder:
        weights = Path(folder) / "weights.npy"
        task = {"task": "inspect", "model": str(model), "weights": str(weights), "header": f"{folder}/header"}
        found = _run(task, timeout_s)
        return Inspection(found["arguments"], tuple(found["header"]), found["stride"], np.load(weights))


def predict(model: Path, texts: Sequence[str], timeout_s: float = TIMEOUT_S) -> list[list[dict[str, Any]]]:
    """Per text and slot {"ranking": [[candidate position, probability], …], "costs": […]}, in ranking order."""
    found = _run({"task": "predict", "model": str(model), "texts": list(texts)}, timeout_s)
    predictions: list[list[dict[str, Any]]] = found["predictions"]
    return predictions


def _run(task: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
    """One worker process. Raises FeatureError when it dies, fails or takes longer than `timeout_s`."""
    with tempfile.TemporaryDirectory(prefix="featuredsl-vw-") as folder:
        request = Path(folder) / "task.json"
        request.write_text(json.dumps(task), encoding="utf-8")
        command = [sys.executable, str(WORKER), str(request)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            msg = f"Vowpal Wabbit ({task['task']}) took longer than {timeout_s:g} s and was stopped"
            raise FeatureError(msg) from error
        if done.returncode != 0:
            raise _failed(str(task["task"]), done)
        result: dict[str, Any] = json.loads(request.with_suffix(".result").read_text(encoding="utf-8"))
        return result


def _cause(code: int) -> str:
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _failed(task: str, done: subprocess.CompletedProcess[str]) -> FeatureError:
    """One line for the user; the note, which only logs show, is all that the worker said."""
    said = (done.stderr or done.stdout or "no output").strip()
    error = FeatureError(f"Vowpal Wabbit ({task}) {_cause(done.returncode)}: {said.splitlines()[-1][:_LONGEST]}")
    error.add_note(said)
    return error


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]
