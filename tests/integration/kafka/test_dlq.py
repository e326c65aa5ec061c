"""Dead letters on a real broker: listed, replayed once, replayed after an interruption."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from featuredsl.errors import CheckFailed, InputError
from featuredsl.settings import Settings
from jobs.dead_letters import Replayer, marker_topic
from jobs.dlq_cli import list_letters, replay
from jobs.kafka import Record, ensure_topics, producer, read_all
from schemas.dead_letters import REPLAYED_HEADER
from tests.support.stack import TestStack
from tests.unit.schemas.test_dead_letters import letter


@pytest.fixture
def settings(stack: TestStack, monkeypatch: pytest.MonkeyPatch) -> Settings:
    found = stack.need("kafka")
    for name in ("home", "registry", "prefix", "kafka"):
        monkeypatch.setenv(f"FEATUREDSL_{name.upper()}", str(getattr(found, name)))
    return found


def fill(settings: Settings, name: str) -> str:
    """A topic with five letters: two reasons, one capped, one of them twice."""
    topic = f"{settings.prefix}{name}"
    ensure_topics(settings.kafka, [topic, f"{topic}.dlq"])
    out = producer(settings.kafka)
    for number in (0, 1, 2, 2):
        reason = "future_time" if number else "bad_type"
        body = letter(b"payload %d" % number, topic=topic, partition=number % 2, offset=number, reason=reason)
        out.produce(f"{topic}.dlq", body, partition=0)
    out.produce(f"{topic}.dlq", letter(b"cut", topic=topic, offset=9, sha256="0" * 64), partition=1)
    out.flush(20)
    return topic


def arrived(settings: Settings, topic: str) -> list[tuple[int, bytes | None, bytes | None]]:
    def header(record: Record) -> bytes | None:
        return dict(record.headers)[REPLAYED_HEADER]

    return sorted((r.partition, r.value, header(r)) for r in read_all(settings.kafka, topic))


def test_list_and_replay(settings: Settings) -> None:
    topic = fill(settings, "events")
    shown = CliRunner().invoke(list_letters, ["events", "--json"], catch_exceptions=False)
    data = json.loads(shown.stdout)
    assert {(c["topic"], c["reason"]): c["count"] for c in data["counts"]} == {
        (topic, "bad_type"): 2,
        (topic, "future_time"): 2,
    }
    assert data["repeats"] == 1
    assert json.loads(CliRunner().invoke(list_letters, ["--since", "1h", "--json"]).stdout)["counts"] == data["counts"]
    old = CliRunner().invoke(list_letters, ["--since", "2030-01-01T00:00:00Z", "--json"], catch_exceptions=False)
    assert json.loads(old.stdout)["records"] == []

    future = ["events", "--reason", "future_time"]
    dry = CliRunner().invoke(replay, [*future, "--dry-run", "--json"], catch_exceptions=False)
    assert json.loads(dry.stdout) == {"sent": 0, "dry_run": True, "to": {topic: 2}, "already": 0, "refused": []}
    assert arrived(settings, topic) == []
    unconfirmed = CliRunner().invoke(replay, future)
    assert isinstance(unconfirmed.exception, InputError)
    assert "--confirm 2" in str(unconfirmed.exception)

    CliRunner().invoke(replay, [*future, "--confirm", "2"], catch_exceptions=False)
    once = [
        (0, b"payload 2", f"{topic}/0/2".encode()),
        (1, b"payload 1", f"{topic}/1/1".encode()),
    ]
    assert arrived(settings, topic) == once
    second = CliRunner().invoke(replay, [*future, "--confirm", "0"], catch_exceptions=False)
    assert "2 replayed before" in second.stdout
    assert arrived(settings, topic) == once

    one = CliRunner().invoke(replay, [*future, "--again", "--offset", "1:1", "--confirm", "1"], catch_exceptions=False)
    assert "1 sent" in one.stdout
    assert len(arrived(settings, topic)) == 3
    rest = CliRunner().invoke(replay, ["events", "--confirm", "1"])
    assert isinstance(rest.exception, CheckFailed)
    assert len(arrived(settings, topic)) == 4, "the capped record stays away, the others are sent"


def test_an_interrupted_replay_is_cleared_up(settings: Settings) -> None:
    """Killed after the marks: of two records that were being sent, one had arrived."""
    topic = fill(settings, "cut")
    places = [f"{topic}/1/1", f"{topic}/0/2"]
    ensure_topics(settings.kafka, [], compacted=[marker_topic(topic)])
    out = producer(settings.kafka)
    for place in places:
        mark = {"state": "sending", "ends": {"0": 0, "1": 0}}
        out.produce(marker_topic(topic), json.dumps(mark).encode(), key=place.encode())
    out.produce(topic, b"payload 1", headers=[(REPLAYED_HEADER, places[0].encode())], partition=1)
    out.flush(20)
    assert Replayer(settings.kafka).replayed(topic) == {places[0]}
    CliRunner().invoke(replay, ["cut", "--reason", "future_time", "--confirm", "1"], catch_exceptions=False)
    assert [place for _, _, place in arrived(settings, topic)] == [place.encode() for place in reversed(places)]


def test_unknown_topic(settings: Settings) -> None:
    fill(settings, "known")
    reply = CliRunner().invoke(list_letters, ["knwon"])
    assert isinstance(reply.exception, InputError)
    assert f"Did you mean '{settings.prefix}known.dlq'?" in str(reply.exception)
