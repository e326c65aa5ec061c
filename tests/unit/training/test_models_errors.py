"""`models …` and `trigger` with names and addresses that do not exist."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from featuredsl.ccb import channel
from featuredsl.cli.main import run
from featuredsl.errors import FeatureError
from featuredsl.settings import Settings
from jobs.training import cli, reach, vw
from jobs.training.models_cli import _follow, open_registry
from jobs.training.trigger import Trigger

LOCAL = "127.0.0.1"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEATUREDSL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FEATUREDSL_MLFLOW", raising=False)
    monkeypatch.setenv("no_proxy", LOCAL)
    return tmp_path / "home"


def failed(argv: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(argv) == code
    streams = capsys.readouterr()
    assert streams.out == ""
    (line,) = streams.err.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize("argv", [["list", "m"], ["show", "m"], ["promote", "m", "1"], ["rollback", "m"], ["list"]])
def test_reading_makes_no_registry(argv: list[str], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no model registry at sqlite:///" in failed(["models", *argv], 2, capsys)
    assert not home.exists()


def test_a_home_without_a_registry_lists_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home.mkdir()
    assert run(["models", "list", "--json"]) == 0
    streams = capsys.readouterr()
    assert streams.out == "[]\n"
    assert "no model has been registered yet" in streams.err
    assert list(home.iterdir()) == []


def test_unknown_models_are_named_with_those_that_exist(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    registry = open_registry(Settings.load())
    registry._ensure_model("ranker")
    for argv in (["list"], ["show"], ["rollback"], ["freeze"]):
        line = failed(["models", *argv, "rankr"], 2, capsys)
        assert "no model 'rankr'; models: ranker; did you mean 'ranker'?" in line
    for argv in (["show", "nope", "1"], ["promote", "nope", "1"]):
        assert "no model 'nope'; models: ranker" in failed(["models", *argv], 2, capsys)
    assert "has no version '1'; versions are none" in failed(["models", "promote", "ranker", "1"], 2, capsys)
    assert "no earlier champion" in failed(["models", "rollback", "ranker"], 2, capsys)
    assert run(["models", "freeze", "ranker"]) == 0
    assert channel.frozen(home / "champions", "ranker") == "frozen by hand"


def test_pinning_an_unknown_model(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no model 'nope'; models: none" in failed(["models", "pin-last-good", "nope"], 2, capsys)
    channel.freeze(home / "champions", "ranker", "why")
    assert "no model 'nope'; models: ranker" in failed(["models", "pin-last-good", "nope"], 2, capsys)


def test_a_published_model_is_frozen_without_the_registry(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FEATUREDSL_MLFLOW", f"http://{LOCAL}:1")
    channel.freeze(home / "champions", "ranker", "before")
    assert run(["models", "freeze", "ranker"]) == 0
    assert capsys.readouterr().err == ""
    assert run(["models", "freeze", "other"]) == 0
    assert "warning: 'other' was never published here" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["list"], ["show", "m"], ["rollback", "m"]])
def test_a_registry_that_does_not_answer_ends_with_4_at_once(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FEATUREDSL_MLFLOW", f"http://{LOCAL}:1")
    began = time.monotonic()
    line = failed(["models", *argv], 4, capsys)
    assert time.monotonic() - began < 20
    assert f"the model registry http://{LOCAL}:1 does not answer" in line
    assert "FEATUREDSL_MLFLOW" in line


def test_retries_of_mlflow_are_bounded_unless_somebody_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "77")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "")
    monkeypatch.delenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES")
    with socket.create_server((LOCAL, 0)) as server:
        reach.check_reachable(f"http://{LOCAL}:{server.getsockname()[1]}")
    assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "77"
    assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "2"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []

    def send(_: str, __: str, model: str, *___: object) -> Trigger:
        made.append(model)
        return Trigger("t", model, "MANUAL")

    monkeypatch.setenv("FEATUREDSL_KAFKA", f"{LOCAL}:1")
    monkeypatch.setattr(cli, "send_manual", send)
    return made


def test_a_trigger_for_an_unknown_model_is_sent_with_a_warning(
    home: Path, sent: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    channel.freeze(home / "champions", "ranker", "why")
    (home / "training" / "other").mkdir(parents=True)
    for model in ("ranker", "other"):
        assert run(["trigger", model]) == 0
        assert capsys.readouterr().err == ""
    assert run(["trigger", "nope"]) == 0
    stderr = capsys.readouterr().err
    assert "warning: no model 'nope' is known" in stderr
    assert "(models: other, ranker)" in stderr
    assert sent == ["ranker", "other", "nope"]
    assert run(["trigger", "../x"]) == 2
    assert sent == ["ranker", "other", "nope"]


class Failing:
    """A trainer and its reader: one trigger, whose training failed."""

    def __init__(self, bad_input: bool) -> None:
        self._report = {"status": "failed", "error": "no example to train on", "bad_input": bad_input}

    def poll(self) -> list[Trigger]:
        return [Trigger("t", "m", "MANUAL")]

    def handle(self, _: list[Trigger]) -> list[dict[str, object]]:
        return [self._report]


@pytest.mark.parametrize(("bad_input", "code"), [(True, 2), (False, 3)])
def test_a_training_that_failed_once_ends_by_its_cause(bad_input: bool, code: int) -> None:
    failing = Failing(bad_input)
    with pytest.raises(FeatureError, match="no example to train on") as raised:
        _follow(failing, failing, threading.Event(), 1.0)  # type: ignore[arg-type]
    assert raised.value.exit_code == code


def test_a_worker_that_died_says_one_line_and_keeps_the_rest_for_the_log() -> None:
    said = "Traceback (most recent call last):\n  File x\nRuntimeError: the last word\n"
    error = vw._failed("train", subprocess.CompletedProcess([], 1, "", said))
    assert str(error) == "Vowpal Wabbit (train) ended with exit code 1: RuntimeError: the last word"
    assert error.__notes__ == [said.strip()]
    assert "killed by SIGSEGV: no output" in str(vw._failed("train", subprocess.CompletedProcess([], -11, "", "")))
