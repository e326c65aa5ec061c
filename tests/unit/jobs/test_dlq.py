"""`dlq list` of files, and what a replay would do, without Kafka."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from featuredsl.errors import DependencyError, InputError
from jobs.dead_letters import plan_replay, selected
from jobs.dlq_cli import _check_confirmed, _place, list_letters, replay
from schemas.dead_letters import read_letter
from tests.unit.schemas.test_dead_letters import letter


def write(path: Path) -> Path:
    lines = [
        letter(partition=0, offset=n, reason="bad_json" if n % 2 else "bad_time", topic="events.jsonl")
        for n in range(5)
    ]
    path.write_bytes(b"\n".join([*lines, b"nonsense", b""]))
    return path


def test_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "rejected.jsonl")
    reply = CliRunner().invoke(list_letters, [str(path), "--json", "--limit", "2"], catch_exceptions=False)
    data = json.loads(reply.stdout)
    assert {(c["reason"], c["count"]) for c in data["counts"]} == {("bad_time", 3), ("bad_json", 2)}
    assert data["unreadable"] == 1
    assert [record["offset"] for record in data["records"]] == [3, 4]
    assert data["records"][0]["payload"] == '{"u": 1}'
    text = CliRunner().invoke(list_letters, [str(path), "--reason", "bad_time"], catch_exceptions=False)
    assert "bad_json" not in text.stdout
    assert "bad_time" in text.stdout


def test_letters_of_history_are_listed(tmp_path: Path) -> None:
    """The file has neither partition nor offset: equal lines are different records."""
    line = {"topic": "e.jsonl", "reason": "bad_time", "detail": None, "payload": "YQ==", "sha256": "0"}
    path = tmp_path / "out.rejected.jsonl"
    path.write_text("".join(json.dumps({**line, "line": number}) + "\n" for number in (7, 1234)))
    reply = CliRunner().invoke(list_letters, [str(path), "--json"], catch_exceptions=False)
    data = json.loads(reply.stdout)
    assert data["counts"] == [{"topic": "e.jsonl", "reason": "bad_time", "count": 2}]
    assert not data["records"][0]["replayable"]
    assert [record["line"] for record in data["records"]] == [7, 1234]
    text = CliRunner().invoke(list_letters, [str(path)], catch_exceptions=False).stdout
    (head,) = [line for line in text.splitlines() if "payload" in line]
    assert head.split() == ["topic", "line", "reason", "replayable", "payload"]
    assert "1234" in text


def test_plan() -> None:
    letters = [read_letter(letter(offset=n)) for n in (1, 2, 2, 3)] + [read_letter(letter(None, offset=9)), None]
    plans = plan_replay(letters, lambda topic: {"t/1/3"}, again=False)
    assert plans["t"].send == {"t/1/1", "t/1/2"}
    assert plans["t"].already == {"t/1/3"}
    assert set(plans["t"].refused) == {"t/1/9"}
    assert [one.place for one in selected(letters, plans["t"])] == ["t/1/1", "t/1/2"]
    assert plan_replay(letters, lambda topic: {"t/1/3"}, again=True)["t"].send == {"t/1/1", "t/1/2", "t/1/3"}


def test_confirmation() -> None:
    plans = plan_replay([read_letter(letter())], lambda topic: set(), again=False)
    _check_confirmed(1, plans, 1)
    with pytest.raises(InputError, match=r"1 records would be sent, not 2: 1 to t; nothing was sent"):
        _check_confirmed(1, plans, 2)
    with pytest.raises(InputError, match=r"add --confirm 1"):
        _check_confirmed(1, plans, None)


def test_places() -> None:
    assert _place("0:17") == (0, 17)
    with pytest.raises(InputError, match="PARTITION:OFFSET"):
        _place("17")


def test_without_kafka(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FEATUREDSL_HOME", str(tmp_path))
    monkeypatch.delenv("FEATUREDSL_KAFKA", raising=False)
    for command in (list_letters, replay):
        reply = CliRunner().invoke(command, [])
        assert isinstance(reply.exception, DependencyError)
        assert reply.exception.exit_code == 4


def test_a_file_is_not_mixed_with_topics(tmp_path: Path) -> None:
    reply = CliRunner().invoke(list_letters, [str(write(tmp_path / "a.jsonl")), "clicks"])
    assert isinstance(reply.exception, InputError)
    assert "give one file, or topics" in str(reply.exception)
