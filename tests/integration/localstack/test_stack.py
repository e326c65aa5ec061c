"""The local stack itself: started on free ports, inspected, broken, mended, ended without a trace."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from redis import Redis

from featuredsl.cli.main import run
from localstack.process import descendants
from tests.support.stack import JARS
from tests.support.wait import until

WELL_KNOWN = {9092, 9093, 6379, 6066, 6123, 7077, 8080, 8081}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A stack home of the test's own, ended whatever happens."""
    monkeypatch.setenv("FEATUREDSL_HOME", str(tmp_path))
    monkeypatch.setenv("FEATUREDSL_JARS", str(JARS))
    yield tmp_path
    run(["down"])


def state(home: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((home / "stack.json").read_text())
    return document


def records(home: Path) -> list[dict[str, Any]]:
    return [record for part in state(home)["processes"].values() for record in part]


def parts(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    capsys.readouterr()
    run(["status", "--json"])
    return {part["part"]: part for part in json.loads(capsys.readouterr().out)["parts"]}


def ports(home: Path) -> set[int]:
    found = {urlsplit(f"//{address.rpartition('//')[2]}").port for address in state(home)["endpoints"].values()}
    return {port for port in found if port is not None}


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_part_of_the_stack(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["up", "--only", "kafka,redis"]) == 0
    first = state(home)
    assert set(first["endpoints"]) == {"kafka", "redis"}
    assert all(listens(port) for port in ports(home))
    assert not ports(home) & WELL_KNOWN
    shown = parts(capsys)
    assert {name: part["state"] for name, part in shown.items()} == {
        "kafka": "running",
        "redis": "running",
        "flink": "stopped",
        "spark": "stopped",
    }

    assert run(["up", "--only", "redis"]) == 0
    assert state(home) == first, "a second `up` starts nothing"

    open_ports, tags = ports(home), {record["tag"] for record in records(home)}
    assert run(["down"]) == 0
    assert not (home / "stack.json").exists()
    assert descendants(tags) == []
    assert not any(listens(port) for port in open_ports)
    assert run(["down"]) == 0, "a second `down` is harmless"


def test_a_crashed_part_is_shown_and_mended(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["up", "--only", "redis"]) == 0
    (redis,) = records(home)
    address = parts(capsys)["redis"]["address"]
    client = Redis.from_url(address)
    client.set("kept", "1")
    os.kill(redis["pid"], signal.SIGKILL)
    until(lambda: parts(capsys)["redis"]["state"] == "broken")
    assert run(["status"]) == 1
    assert "redis has ended" in capsys.readouterr().err
    assert run(["up", "--only", "redis"]) == 0
    assert records(home)[0]["pid"] != redis["pid"]
    assert parts(capsys)["redis"]["state"] == "running"
    assert parts(capsys)["redis"]["address"] == address, "jobs and readers that run know no other"
    assert client.get("kept") == b"1"
    client.close()


def test_a_part_that_cannot_start_leaves_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "kafka" / "data").mkdir(parents=True)
    (home / "kafka" / "data" / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=77\n")
    assert run(["up", "--only", "kafka,redis"]) == 4
    stderr = capsys.readouterr().err
    assert "kafka ended during its start" in stderr
    assert str(home / "logs" / "kafka.log") in stderr
    assert not (home / "stack.json").exists()


def test_missing_jars_say_what_to_do(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FEATUREDSL_JARS", str(home / "nowhere"))
    assert run(["up", "--only", "kafka"]) == 4
    assert "run `./run setup` or set FEATUREDSL_JARS" in capsys.readouterr().err
    assert run(["doctor"]) == 1
    assert "jars" in capsys.readouterr().err


def test_doctor_is_content_here(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["java"]["ok"]
    assert "2.2" in checks["pyflink"]["detail"]


@pytest.mark.timeout(600)
def test_whole_stack_after_a_kill_leaves_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["up"]) == 0
    assert {part["state"] for part in parts(capsys).values()} == {"running"}
    assert not ports(home) & WELL_KNOWN
    tags = {record["tag"] for record in records(home)}
    taskmanager = next(record for record in records(home) if record["name"] == "flink-taskmanager")
    os.kill(taskmanager["pid"], signal.SIGKILL)
    assert run(["down"]) == 0
    assert descendants(tags) == []
