"""Processes are recognised, and end with everything that they started."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from localstack.process import ProcessRecord, descendants, free_ports, kept_ports, spawn, start_mark, stop
from tests.support.wait import until

SLEEPER = "import signal; signal.pause()"
# Ignores SIGTERM, and starts a child in a session of its own, which no signal to the group reaches.
STUBBORN = f"""
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", {SLEEPER!r}], start_new_session=True)
print(child.pid, flush=True)
signal.pause()
"""


def start(code: str, tmp_path: Path) -> ProcessRecord:
    return spawn("probe", (sys.executable, "-c", code), {}, tmp_path / "probe.log")


def test_stop_ends_a_process(tmp_path: Path) -> None:
    record = start(SLEEPER, tmp_path)
    assert record.alive
    stop([record])
    assert not record.alive
    assert descendants({record.tag}) == []


def test_stop_ends_stubborn_parents_and_their_children_elsewhere(tmp_path: Path) -> None:
    record = start(STUBBORN, tmp_path)
    child = int(until((tmp_path / "probe.log").read_text))
    assert sorted(descendants({record.tag})) == sorted([record.pid, child])
    stop([record], grace_s=0.2)
    assert not record.alive
    assert start_mark(child) is None


def test_children_of_a_dead_parent_are_found(tmp_path: Path) -> None:
    record = start(STUBBORN, tmp_path)
    child = int(until((tmp_path / "probe.log").read_text))
    os.kill(record.pid, signal.SIGKILL)
    until(lambda: not record.alive)
    stop([record])
    assert start_mark(child) is None


def test_another_process_with_the_same_pid_is_left_alone(tmp_path: Path) -> None:
    record = start(SLEEPER, tmp_path)
    impostor = ProcessRecord("old", record.pid, "1", "no such tag", record.log)
    assert not impostor.alive
    stop([impostor])
    assert record.alive
    stop([record])


def test_an_ended_child_is_not_alive(tmp_path: Path) -> None:
    record = start("pass", tmp_path)
    assert until(lambda: not record.alive)


def test_services_get_a_clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    record = start("import os; print(os.environ.get('PYTHONPATH'), flush=True)", tmp_path)
    until(lambda: not record.alive)
    assert (tmp_path / "probe.log").read_text() == "None\n"


def test_ports_are_kept_while_nobody_has_taken_them(tmp_path: Path) -> None:
    file = tmp_path / "ports"
    ports = kept_ports(file, 2)
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", ports[1]))
        server.listen()
        client = socket.create_connection(("127.0.0.1", ports[1]))
        served, _ = server.accept()
        served.close()  # the server closes first: its side of the connection lingers
    assert kept_ports(file, 2) == ports
    client.close()
    with socket.socket() as other:
        other.bind(("127.0.0.1", ports[0]))
        other.listen()
        moved = kept_ports(file, 2)
        assert not set(moved) & {ports[0]}
    assert kept_ports(file, 2) == moved
    for text in ("", "x", "1", "99999 -1"):
        file.write_text(text)
        assert kept_ports(file, 2) != ports
    assert len(kept_ports(file, 3)) == 3


def test_free_ports_are_distinct_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0
