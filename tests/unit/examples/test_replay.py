"""The order and the count of what a replay sends, against a recording service and a recording Kafka."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest

from examples.open_bandit import events
from examples.open_bandit.clicks import DelayPlan
from examples.open_bandit.client import Reply
from examples.open_bandit.dataset import Dataset, Decision
from examples.open_bandit.replay import (
    BREAKABLE,
    LEAD,
    LOOK_EVERY,
    SPARSE,
    TOPICS,
    Replay,
    send_broken_lines,
    send_catalog,
)
from examples.open_bandit.timeline import ReplayPlan, Timeline, build_timeline
from featuredsl.errors import DependencyError
from schemas import records

NOW_US = 1_800_000_000_000_000


class RecordingKafka:
    """What a `Sender` would have sent, in order."""

    def __init__(self) -> None:
        self.log: list[tuple[str, dict[str, Any]]] = []
        self.beats: list[tuple[str, int]] = []
        self.broken: Counter[str] = Counter()

    def send(self, name: str, record: Mapping[str, Any]) -> None:
        self.log.append((name, dict(record)))

    def send_broken(self, name: str, record: Mapping[str, Any]) -> None:
        self.broken[name] += 1

    def beat(self, names: Iterable[str], ts_us: int) -> None:
        self.beats += [(name, ts_us) for name in names]
        self.log += [(name, events.heartbeat(ts_us)) for name in names]

    def flush(self) -> None:
        return

    def of(self, name: str) -> list[dict[str, Any]]:
        return [record for topic, record in self.log if topic == name and "heartbeat" not in record]


class RecordingService:
    """Answers later requests first, and fails for the ids in `failing`."""

    def __init__(self, failing: frozenset[str] = frozenset()) -> None:
        self.asked: list[dict[str, Any]] = []
        self.failing = failing
        self.inflight = 0
        self.most_inflight = 0

    async def post(self, path: str, payload: bytes) -> Reply:
        body = orjson.loads(payload)
        self.asked.append(body)
        self.inflight += 1
        self.most_inflight = max(self.most_inflight, self.inflight)
        for _ in range(5 if len(self.asked) % 2 else 1):
            await asyncio.sleep(0)
        self.inflight -= 1
        if body["request_id"] in self.failing:
            message = "gone"
            raise DependencyError(message)
        answer = {"model_version": "7", "features": {"segment__views_1h": len(self.asked)}, "fallback": []}
        return Reply(200, orjson.dumps(answer))


@pytest.fixture
def timeline(dataset: Dataset) -> Timeline:
    """The first 300 decisions, every second one clicked."""
    head = tuple(replace(one, clicked=at % 2 == 0) for at, one in enumerate(dataset.decisions[:300]))
    plan = ReplayPlan(delays=DelayPlan(quiet_tail_s=900, late_share=0.1))
    return build_timeline(replace(dataset, decisions=head), plan, NOW_US)


def run(timeline: Timeline, service: RecordingService, stops: Iterable[int]) -> tuple[RecordingKafka, Replay]:
    kafka = RecordingKafka()
    replay = Replay(timeline, kafka, service, concurrency=8)  # type: ignore[arg-type]

    async def advance() -> None:
        send_catalog(timeline, kafka)  # type: ignore[arg-type]
        for stop in stops:
            await replay.advance(stop)
            replay.beat(stop)

    asyncio.run(advance())
    return kafka, replay


def test_every_decision_is_asked_and_sent_once_in_order(timeline: Timeline) -> None:
    service = RecordingService()
    kafka, replay = run(timeline, service, [timeline.at_hour(1), timeline.closing_us])
    ids = [one.event_id for one in timeline.decisions]
    assert [body["request_id"] for body in service.asked] == ids
    for name in ("impressions", "exposures", "auctions"):
        assert [record["event_id"] for record in kafka.of(name)] == ids
    assert replay.counts.decisions == 300
    assert 1 < service.most_inflight <= 8


def test_every_topic_is_in_order_of_event_time_and_behind_its_heartbeats(timeline: Timeline) -> None:
    kafka, _ = run(timeline, RecordingService(), [timeline.at_hour(1), timeline.closing_us])
    for name in TOPICS:
        beaten_ms = 0
        last_ms = 0
        for topic, record in kafka.log:
            if topic != name:
                continue
            if "heartbeat" in record:
                beaten_ms = record["ts"]
            else:
                assert record["ts"] >= max(beaten_ms, last_ms), (name, record)
                last_ms = record["ts"]


def test_a_click_is_sent_only_when_the_replay_has_reached_its_time(timeline: Timeline) -> None:
    stop = timeline.at_hour(1)
    kafka, replay = run(timeline, RecordingService(), [stop])
    due = [click for click in timeline.clicks if click.ts_us < stop]
    assert 0 < len(due) < len(timeline.clicks)
    assert [record["ts"] for record in kafka.of("clicks")] == [click.ts_us // 1000 for click in due]
    assert replay.counts.clicks == len(due)


def test_at_the_end_all_clicks_are_out_and_late_ones_are_counted(timeline: Timeline) -> None:
    kafka, replay = run(timeline, RecordingService(), [timeline.closing_us])
    assert len(kafka.of("clicks")) == replay.counts.clicks == 150
    assert replay.counts.late_clicks == sum(click.late for click in timeline.clicks) > 0


def test_impressions_carry_the_logged_choice_and_the_features_as_served(timeline: Timeline) -> None:
    kafka, _ = run(timeline, RecordingService(), [timeline.closing_us])
    for decision, record in zip(timeline.decisions, kafka.of("impressions"), strict=True):
        slot = record["slots"][0]
        assert (slot["chosen"], slot["probability"]) == (decision.item_id, decision.probability)
        assert record["context"]["affinity"] == decision.affinity
        assert record["context"]["segment__views_1h"] > 0
        assert len(record["candidates"]) == 80


def test_records_meet_the_event_schemas(timeline: Timeline) -> None:
    kafka, _ = run(timeline, RecordingService(), [timeline.closing_us])
    kinds = {"impressions": "impression", "exposures": "exposure", "clicks": "click", "auctions": "auction",
             "catalog": "catalog"}  # fmt: skip
    for name, kind in kinds.items():
        assert kafka.of(name)
        for record in kafka.of(name):
            records.validate(kind, record)


def test_a_failed_answer_is_counted_and_the_log_is_still_sent(timeline: Timeline) -> None:
    failing = frozenset(one.event_id for one in timeline.decisions[10:13])
    kafka, replay = run(timeline, RecordingService(failing), [timeline.closing_us])
    assert replay.counts.failures == 3
    assert len(kafka.of("impressions")) == 300
    assert replay.counts.versions == {"7": 297, "None": 3}


def test_sparse_topics_get_heartbeats_all_along(timeline: Timeline) -> None:
    kafka, _ = run(timeline, RecordingService(), [timeline.closing_us])
    for name in SPARSE:
        times = [ts for topic, ts in kafka.beats if topic == name]
        gaps = [b - a for a, b in itertools.pairwise(times) if a >= timeline.first_us]
        decisions = [one.ts_us for one in timeline.decisions]
        quiet = max(b - a for a, b in itertools.pairwise(decisions))
        assert max(gaps[:-1]) <= 300_000_000 + quiet
        assert times == sorted(times)


def test_the_replay_waits_for_the_online_store(timeline: Timeline) -> None:
    kafka = RecordingKafka()
    ahead: list[int] = []
    looks: Counter[str] = Counter()

    def visible(decision: Decision) -> bool:
        looks[decision.event_id] += 1
        ahead.append(len(kafka.of("exposures")) - 1 - position[decision.event_id])
        return looks[decision.event_id] > 3

    position = {one.event_id: at for at, one in enumerate(timeline.decisions)}
    replay = Replay(timeline, kafka, RecordingService(), visible, concurrency=8)  # type: ignore[arg-type]
    asyncio.run(replay.advance(timeline.closing_us))
    assert len(kafka.of("exposures")) == 300
    assert len(looks) == (300 - LEAD) // LOOK_EVERY
    assert set(looks.values()) == {4}
    assert max(ahead) == LEAD


def test_one_torn_line_for_each_topic_that_a_job_reads(timeline: Timeline) -> None:
    kafka = RecordingKafka()
    send_broken_lines(timeline, kafka)  # type: ignore[arg-type]
    assert kafka.broken == dict.fromkeys(BREAKABLE, 1)
