"""Replays the week: asks the service for every decision, and sends what the log says happened.

Everything goes out in event-time order, although several requests are in flight: answers are taken in the
order of the questions. A click is sent when the replay has reached the click's own time.

A replay is a thousand times faster than the week was. So that the features served are those of the week, it never
runs ahead of the feature job by more than `LEAD` decisions.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from examples.open_bandit import events
from examples.open_bandit.client import ServiceClient
from examples.open_bandit.dataset import Decision
from examples.open_bandit.sender import Sender
from examples.open_bandit.timeline import CATALOG_LEAD_US, SECOND_US, Timeline
from featuredsl.errors import DependencyError
from schemas import topics

DENSE = (topics.IMPRESSIONS, topics.EXPOSURES, topics.AUCTIONS)
SPARSE = (topics.CLICKS, topics.ACTIVATIONS, topics.CATALOG)
TOPICS = (*DENSE, *SPARSE, topics.PREDICTIONS)
BREAKABLE = (*DENSE, *SPARSE, topics.PREDICTIONS)
BEAT_EVERY_US = 300 * SECOND_US
SPREAD_US = 300 * SECOND_US
LEAD = 100
LOOK_EVERY = 25
LOOK_AGAIN_S = 0.01
CATCH_UP_S = 300.0
Progress = Callable[[int], None]
Visible = Callable[[Decision], bool]


@dataclass(slots=True)
class ReplayCounts:
    """What happened so far; `versions` counts answers by the model version that gave them."""

    decisions: int = 0
    clicks: int = 0
    late_clicks: int = 0
    failures: int = 0
    degraded: int = 0
    versions: dict[str, int] = field(default_factory=dict)


def send_catalog(timeline: Timeline, sender: Sender) -> None:
    """Send all items, dated just before the first decision."""
    ts_us = timeline.first_us - CATALOG_LEAD_US
    for item in timeline.items:
        sender.send(topics.CATALOG, events.catalog(item, ts_us))
    sender.beat([topics.CATALOG], ts_us)
    sender.flush()


def send_broken_lines(timeline: Timeline, sender: Sender) -> None:
    """One torn record on every topic that a job reads."""
    sample = events.decide_request(timeline.decisions[0], [item.action_id for item in timeline.items])
    for name in BREAKABLE:
        sender.send_broken(name, sample)


class Replay:
    """A position in the timeline that only moves forward."""

    def __init__(
        self,
        timeline: Timeline,
        sender: Sender,
        client: ServiceClient,
        visible: Visible = lambda _: True,
        *,
        concurrency: int = 8,
    ) -> None:
        self._timeline = timeline
        self._sender = sender
        self._client = client
        self._visible = visible
        self._unseen: deque[Decision] = deque()
        self._concurrency = concurrency
        self._ids = [item.action_id for item in timeline.items]
        self._candidates = [{"action_id": name} for name in self._ids]
        self._next_decision = 0
        self._next_click = 0
        self._last_beat_us = 0
        self.counts = ReplayCounts()

    async def advance(self, until_us: int, progress: Progress | None = None) -> None:
        """Replay all decisions and clicks before `until_us`; returns when Kafka has them."""
        pending: deque[tuple[Decision, asyncio.Task[dict[str, Any]]]] = deque()
        decisions = self._timeline.decisions
        try:
            while self._next_decision < len(decisions) and decisions[self._next_decision].ts_us < until_us:
                decision = decisions[self._next_decision]
                while pending and self._is_full(pending, decision):
                    await self._finish(*pending.popleft(), progress)
                pending.append((decision, asyncio.create_task(self._ask(decision))))
                self._next_decision += 1
            while pending:
                await self._finish(*pending.popleft(), progress)
        finally:
            for _, task in pending:
                task.cancel()
        self._send_clicks(until_us)
        self._sender.flush()

    def beat(self, ts_us: int) -> None:
        """Tell every topic that all events before `ts_us` have been sent."""
        self._sender.beat(TOPICS, ts_us)
        self._sender.flush()

    def _is_full(self, pending: deque[Any], decision: Decision) -> bool:
        """Too many questions in flight, or too far apart in event time (their log would be out of order)."""
        oldest: Decision = pending[0][0]
        return len(pending) >= self._concurrency or decision.ts_us - oldest.ts_us > SPREAD_US

    async def _ask(self, decision: Decision) -> dict[str, Any]:
        """The service's answer; an empty one, counted as a failure, when it did not answer."""
        payload = orjson.dumps(events.decide_request(decision, self._ids))
        try:
            reply = await self._client.post("/v1/decide", payload)
        except DependencyError:
            self.counts.failures += 1
            return {}
        if reply.status != 200:
            self.counts.failures += 1
            return {}
        answer: dict[str, Any] = orjson.loads(reply.body)
        return answer

    async def _finish(self, decision: Decision, task: asyncio.Task[dict[str, Any]], progress: Progress | None) -> None:
        answer = await task
        self._send_clicks(decision.ts_us)
        if decision.ts_us - self._last_beat_us >= BEAT_EVERY_US:
            self._sender.beat(SPARSE, decision.ts_us)
            self._last_beat_us = decision.ts_us
        features = answer.get("features", {})
        self._sender.send(topics.IMPRESSIONS, events.impression(decision, self._candidates, features))
        self._sender.send(topics.EXPOSURES, events.exposure(decision))
        self._sender.send(topics.AUCTIONS, events.auction(decision))
        self._count(answer)
        await self._keep_pace(decision)
        if progress is not None:
            progress(self.counts.decisions)

    async def _keep_pace(self, sent: Decision) -> None:
        """Wait until the exposure sent `LEAD` decisions ago can be read online."""
        self._unseen.append(sent)
        if len(self._unseen) < LEAD + LOOK_EVERY:
            return
        for _ in range(LOOK_EVERY):
            oldest = self._unseen.popleft()
        deadline = time.monotonic() + CATCH_UP_S
        while not self._visible(oldest):
            if time.monotonic() > deadline:
                msg = f"{oldest.event_id} is not in the online store after {CATCH_UP_S:g} s: the feature job is stuck"
                raise DependencyError(msg)
            await asyncio.sleep(LOOK_AGAIN_S)

    def _send_clicks(self, until_us: int) -> None:
        clicks = self._timeline.clicks
        while self._next_click < len(clicks) and clicks[self._next_click].ts_us < until_us:
            click = clicks[self._next_click]
            self._sender.send(topics.CLICKS, events.click(click))
            self._next_click += 1
            self.counts.clicks += 1
            self.counts.late_clicks += click.late

    def _count(self, answer: dict[str, Any]) -> None:
        self.counts.decisions += 1
        version = str(answer.get("model_version"))
        self.counts.versions[version] = self.counts.versions.get(version, 0) + 1
        self.counts.degraded += any(flag != "no_model" for flag in answer.get("fallback", ()))
