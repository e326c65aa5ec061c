"""Requests to a cluster without a network: the steps answered by a table of slots of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from featuredsl.online.cluster import SLOTS, ClusterNodes, key_slot
from featuredsl.online.exchange import Answer, Command, ConnectionLost, Leg, Pause, ReplyError

A, B = ("a", 1), ("b", 2)
HALF = SLOTS // 2
Answering = Callable[[Leg], Answer]


def table(*ranges: tuple[int, int, tuple[str, int]]) -> list[Any]:
    return [[low, high, [node[0].encode(), node[1], b"id"]] for low, high, node in ranges]


HALVES = table((0, HALF - 1, A), (HALF, SLOTS - 1, B))


def drive(nodes: ClusterNodes, commands: list[Command], answer: Answering) -> tuple[list[Any], list[list[Leg]]]:
    """The replies, and the exchanges (without those that ask for slots)."""
    steps, exchanges = nodes.request(commands), []
    asked = next(steps)
    while True:
        try:
            if isinstance(asked, Pause):
                asked = steps.send(())
                continue
            if asked[0].commands != [("CLUSTER", "SLOTS")]:
                exchanges.append(list(asked))
            asked = steps.send([answer(leg) for leg in asked])
        except StopIteration as done:
            return done.value, exchanges


def key_in(low: bool, number: int = 0) -> str:
    """A key of the lower or upper half of the slots."""
    found = [f"k{i}" for i in range(200) if (key_slot(f"k{i}") < HALF) == low]
    return found[number]


def echo(leg: Leg) -> list[Any]:
    return [f"{leg.node[0]}:{command[1]}" if command[0] != "CLUSTER" else HALVES for command in leg.commands]


def test_values_of_several_nodes_come_back_in_order() -> None:
    low, high, other = key_in(True), key_in(False), key_in(True, 1)
    commands: list[Command] = [("MGET", high, low, other), ("HMGET", high, "f"), ("PING", "x")]
    replies, exchanges = drive(ClusterNodes([A]), commands, echo)
    assert replies == [[f"b:{high}", f"a:{low}", f"a:{other}"], f"b:{high}", "a:x"]
    assert [sorted(leg.node[0] for leg in legs) for legs in exchanges] == [["a", "b"]]


def test_counts_of_a_script_are_added_and_arguments_follow_their_keys() -> None:
    keys = [key_in(True), key_in(False), key_in(True, 1)]
    seen = []

    def answer(leg: Leg) -> list[Any]:
        if leg.commands[0][0] == "CLUSTER":
            return [HALVES]
        seen.extend(leg.commands)
        return [[int(command[2]), 10, 0] for command in leg.commands]

    command: Command = ("EVALSHA", "sha", 3, *keys, "field", 5, "v0", "v1", "v2")
    replies, _ = drive(ClusterNodes([A]), [command], answer)
    assert replies == [[3, 30, 0]]
    assert {c[3]: c[4:] for c in seen} == {key: ("field", 5, f"v{i}") for i, key in enumerate(keys)}


def test_moved_and_ask_are_followed_for_the_commands_concerned_only() -> None:
    low, other = key_in(True), key_in(True, 1)
    slot = key_slot(low)
    for redirect in (f"MOVED {slot} b:2", f"ASK {slot} b:2", f"MOVED {slot} :2"):
        nodes, asked = ClusterNodes([A]), []

        def answer(leg: Leg, redirect: str = redirect, asked: list[Leg] = asked) -> list[Any]:
            asked.append(leg)
            if leg.node == A:
                return [ReplyError(redirect) if c[1] == low else echo(leg)[i] for i, c in enumerate(leg.commands)]
            return ["OK" if c == ("ASKING",) else f"new:{c[1]}" for c in leg.commands]

        replies, exchanges = drive(nodes, [("MGET", low, other)], answer)
        assert replies == [[f"new:{low}", f"a:{other}"]]
        asking = [("ASKING",)] if "ASK" in redirect else []
        assert exchanges[1] == [Leg(("a" if " :" in redirect else "b", 2), [*asking, ("GET", low)])]
        _, again = drive(nodes, [("GET", low)], answer)
        assert len(again) == (2 if "ASK" in redirect else 1)  # only MOVED is remembered


def test_a_node_that_went_away_is_replaced() -> None:
    low, alive = key_in(True), {A: True}

    def answer(leg: Leg) -> Answer:
        if leg.node == A:
            return echo(leg) if alive[A] else ConnectionLost("gone")
        if leg.commands[0][0] == "CLUSTER":
            return [table((0, SLOTS - 1, B))]
        return [f"new:{c[1]}" for c in leg.commands]

    nodes = ClusterNodes([A, B])
    assert drive(nodes, [("GET", low)], answer)[0] == [f"a:{low}"]
    alive[A] = False
    assert drive(nodes, [("GET", low)], answer)[0] == [f"new:{low}"]


def test_after_a_node_was_silent_the_others_are_asked_who_serves_its_slots() -> None:
    low, silent, asked = key_in(True), [False], []

    def answer(leg: Leg) -> Answer:
        asked.append(leg.node)
        if leg.node == A:
            return TimeoutError() if silent[0] else echo(leg)
        return [table((0, SLOTS - 1, B))] if leg.commands[0][0] == "CLUSTER" else [f"new:{c[1]}" for c in leg.commands]

    nodes = ClusterNodes([A])
    assert drive(nodes, [("GET", low), ("GET", key_in(False))], answer)[0][0] == f"a:{low}"
    silent[0] = True
    with pytest.raises(TimeoutError):
        drive(nodes, [("GET", low)], answer)
    asked.clear()
    assert drive(nodes, [("GET", low)], answer)[0] == [f"new:{low}"]
    assert asked == [B, B]
    asked.clear()
    assert drive(nodes, [("GET", low)], answer)[0] == [f"new:{low}"]
    assert asked == [B]


def test_what_is_no_redirection_is_a_reply_or_an_end() -> None:
    low = key_in(True)
    wrong = ReplyError("WRONGTYPE Operation against a key")

    def refusing(leg: Leg) -> list[Any]:
        return [HALVES if c[0] == "CLUSTER" else wrong for c in leg.commands]

    assert drive(ClusterNodes([A]), [("MGET", low), ("GET", low)], refusing)[0] == [wrong, wrong]
    with pytest.raises(TimeoutError):
        drive(
            ClusterNodes([A]),
            [("GET", low)],
            lambda leg: echo(leg) if leg.commands[0][0] == "CLUSTER" else TimeoutError(),
        )
    with pytest.raises(ReplyError, match="cluster support disabled"):
        drive(
            ClusterNodes([A]), [("GET", low)], lambda _: [ReplyError("ERR This instance has cluster support disabled")]
        )
    with pytest.raises(ReplyError, match="CLUSTERDOWN"):
        drive(
            ClusterNodes([A]),
            [("GET", low)],
            lambda leg: [HALVES if leg.commands[0][0] == "CLUSTER" else ReplyError("CLUSTERDOWN Hash slot not served")],
        )
