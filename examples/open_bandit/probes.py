"""Requests beside the replay: the same decision over REST and gRPC, and steady questions during a swap."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
import orjson

from examples.open_bandit import events
from examples.open_bandit.client import ServiceClient
from examples.open_bandit.dataset import Decision
from featuredsl.errors import DependencyError
from serving.proto.featuredsl.v1 import scoring_pb2 as pb
from serving.proto.featuredsl.v1 import scoring_pb2_grpc

PROBE_INTERVAL_S = 0.1
GRPC_TIMEOUT_S = 10.0
TOLERANCE = 1e-12


def same_over_grpc(address: str, answer: dict[str, Any], request: dict[str, Any]) -> bool:
    """Ask the question of a REST answer again over gRPC: the same choice with the same probability?"""
    body = pb.DecideRequest(
        request_id=request["request_id"],
        ts=request["ts"],
        candidates=[pb.Candidate(action_id=name) for name in request["candidates"]],
        slots=[pb.Slot(slot_id=slot["slot_id"]) for slot in request["slots"]],
    )
    for name, value in request["context"].items():
        body.context[name].CopyFrom(_value(value))
    for name, value in request["entities"].items():
        body.entities[name].CopyFrom(_value(value))
    with grpc.insecure_channel(address) as channel:
        reply = scoring_pb2_grpc.ScoringStub(channel).Decide(body, timeout=GRPC_TIMEOUT_S)
    mine, theirs = answer["slots"][0], reply.slots[0]
    return bool(
        answer["model_version"] == reply.model_version
        and mine["chosen"] == theirs.chosen
        and abs(mine["probability"] - theirs.probability) <= TOLERANCE
    )


def _value(value: str | float) -> pb.Value:
    return pb.Value(text=value) if isinstance(value, str) else pb.Value(number=value)


@dataclass(slots=True)
class ProbeCounts:
    """Answers by model version, and failures."""

    versions: Counter[str] = field(default_factory=Counter)
    failures: int = 0

    @property
    def asked(self) -> int:
        """All questions."""
        return self.failures + sum(self.versions.values())


class SwapProbe:
    """Asks the service about ten times a second from a thread of its own, while models change.

    The questions go round `decisions`, which carry the event time to ask for: the prediction log keeps the usual
    mix of users, and its event time stands still.
    """

    def __init__(self, url: str, decisions: Sequence[Decision], candidates: list[str], label: str) -> None:
        self._url = url
        self._decisions = itertools.cycle(decisions)
        self._candidates = candidates
        self._label = label
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._ask()), name="swap probe", daemon=True)
        self.counts = ProbeCounts()

    def __enter__(self) -> SwapProbe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    async def _ask(self) -> None:
        client = ServiceClient(self._url, 1)
        number = 0
        while not self._stop.is_set():
            number += 1
            request = events.decide_request(next(self._decisions), self._candidates)
            request["request_id"] = f"probe-{self._label}-{number}"
            await self._one(client, orjson.dumps(request))
            await asyncio.sleep(PROBE_INTERVAL_S)
        await client.close()

    async def _one(self, client: ServiceClient, payload: bytes) -> None:
        try:
            reply = await client.post("/v1/decide", payload)
        except DependencyError:
            self.counts.failures += 1
            return
        if reply.status != 200:
            self.counts.failures += 1
            return
        self.counts.versions[str(orjson.loads(reply.body)["model_version"])] += 1
