"""Refusals before a job is submitted, against a JobManager's REST API that answers from a table."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from featuredsl.cli.main import run
from featuredsl.errors import DependencyError, InputError
from jobs.flink.admission import admit

JOB = "0123456789abcdef0123456789abcdef"
Answers = dict[str, Any]


@pytest.fixture
def answers() -> Answers:
    return {
        "/jobs/overview": {"jobs": []},
        "/overview": {"taskmanagers": 1, "slots-total": 4, "slots-available": 4},
        "/jobmanager/config": [{"key": "rest.port", "value": "8081"}],
    }


@pytest.fixture
def url(answers: Answers) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answers[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def job(name: str, state: str) -> dict[str, str]:
    return {"jid": JOB, "name": name, "state": state}


@pytest.mark.parametrize("state", ["RUNNING", "RESTARTING", "CREATED", "INITIALIZING", "CANCELLING"])
def test_a_job_of_the_name_that_runs_is_named(state: str, url: str, answers: Answers) -> None:
    answers["/jobs/overview"] = {"jobs": [job("other", "RUNNING"), job("drift", state)]}
    with pytest.raises(InputError, match=rf"the job drift is {state} already .*job id {JOB}.*cancel"):
        admit(url, "drift", 1)
    admit(url, "drift-2", 1)


@pytest.mark.parametrize("state", ["FAILED", "CANCELED", "FINISHED", "SUSPENDED"])
def test_a_job_that_has_ended_is_in_nobodys_way(state: str, url: str, answers: Answers) -> None:
    answers["/jobs/overview"] = {"jobs": [job("drift", state)]}
    admit(url, "drift", 4)


def test_too_few_slots_are_counted(url: str, answers: Answers) -> None:
    with pytest.raises(DependencyError, match=r"needs 5 task slots.* has 4 slots, 4 of them free"):
        admit(url, "n", 5)
    answers["/overview"]["slots-available"] = 1
    admit(url, "n", 1)
    with pytest.raises(DependencyError, match="has 4 slots, 1 of them free"):
        admit(url, "n", 2)


@pytest.mark.parametrize(
    ("key", "value"),
    [("kubernetes.cluster-id", "c"), ("execution.target", "yarn-session"), ("execution.target", "kubernetes-session")],
)
def test_a_cluster_that_grows_is_not_asked_for_slots(key: str, value: str, url: str, answers: Answers) -> None:
    answers["/overview"] = {"taskmanagers": 0, "slots-total": 0, "slots-available": 0}
    answers["/jobmanager/config"].append({"key": key, "value": value})
    admit(url, "n", 8)


def test_a_remote_target_is_fixed(url: str, answers: Answers) -> None:
    answers["/jobmanager/config"].append({"key": "execution.target", "value": "remote"})
    with pytest.raises(DependencyError, match="has 4 slots"):
        admit(url, "n", 8)


@pytest.fixture
def settings(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("HOME", tmp_path), ("FLINK", url), ("KAFKA", "127.0.0.1:1"), ("PREFIX", "p.")):
        monkeypatch.setenv(f"FEATUREDSL_{name}", str(value))


@pytest.mark.parametrize("command", ["join", "drift"])
def test_the_second_start_of_a_job_is_refused_with_one_line(
    command: str, settings: None, answers: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    answers["/jobs/overview"] = {"jobs": [job(f"p.{command}", "RUNNING")]}
    assert run(["run", command]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"the job p.{command} is RUNNING already" in line
    assert JOB in line


def test_too_few_slots_end_the_command_with_4(settings: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "join", "--parallelism", "9"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert "needs 9 task slots" in line


@pytest.mark.parametrize("found", ["0", '"2"', "1.5", "null"])
def test_a_wrong_parallelism_of_a_configuration_file(
    found: str, settings: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "drift.json"
    file.write_text(f'{{"parallelism": {found}}}')
    assert run(["run", "drift", "--config", str(file)]) == 2
    assert "give a whole number of at least 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv", [["stream", "--parallelism", "0"], ["join", "--parallelism", "-1"], ["drift", "--baseline-hours", "0"]]
)
def test_numbers_below_one_are_usage_errors(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", *argv]) == 2
    assert "is not in the range x>=1" in capsys.readouterr().err
