"""Requests to a Redis Cluster: every key goes to the node that serves its slot, one leg for each node.

Follows MOVED and ASK; asks for the slots again when they have moved, when a node is away, and when none are known.
A command on several keys is split (`MGET` into GETs, a script into one call for each slot), its replies put together.
"""

from __future__ import annotations

from binascii import crc_hqx
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from featuredsl.online.address import Node
from featuredsl.online.exchange import Answer, Command, Leg, Pause, ReplyError, Steps

SLOTS: Final = 16384
_ATTEMPTS: Final = 64
_PAUSE_S: Final = 0.02
_ASKING: Final[Command] = ("ASKING",)
_SCRIPTS: Final = ("EVALSHA", "EVAL")
_ANYWHERE: Final = ("PING",)
_PASSING: Final = ("TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "LOADING")


def key_slot(key: str | bytes) -> int:
    """The slot of a key: of what stands in its first braces, where that is not empty."""
    data = key.encode() if isinstance(key, str) else key
    start = data.find(b"{")
    if start >= 0:
        end = data.find(b"}", start + 1)
        if end > start + 1:
            data = data[start + 1 : end]
    return crc_hqx(data, 0) % SLOTS


@dataclass(slots=True)
class _Part:
    """A command for one slot, which is (a part of) the command `index` of the request."""

    index: int
    command: Command
    slot: int | None
    places: tuple[int, ...] = ()
    ask: Node | None = None
    reply: Any = None


class ClusterNodes:
    """The steps of requests to a cluster; threads may share it. The deadline of a request ends its waiting."""

    def __init__(self, seeds: Sequence[Node]) -> None:
        self._seeds = tuple(seeds)
        self._table: dict[int, Node] = {}
        self._nodes: tuple[Node, ...] = ()
        self._silent: frozenset[Node] = frozenset()

    def request(self, commands: Sequence[Command]) -> Steps[list[Any]]:
        """The replies to the commands, one round trip to each node. Raises what went wrong on the way."""
        parts = [part for index, command in enumerate(commands) for part in split(index, command)]
        if not self._table or self._silent:
            yield from self._refresh(self._silent)
        waiting = parts
        for _ in range(_ATTEMPTS):
            legs, members = self._legs(waiting)
            answers = yield legs
            waiting, away, error = self._sorted(legs, members, answers)
            if not waiting:
                return joined(commands, parts)
            if error is not None:
                yield Pause(_PAUSE_S)
            if away or error is not None:
                yield from self._refresh(away)
        raise error or ReplyError("CLUSTERDOWN the slots of the cluster keep moving")

    def everywhere(self, command: Command) -> Steps[list[Any]]:
        """The reply of every node that serves slots. Raises what went wrong on the way."""
        yield from self._refresh(())
        replies = []
        for answer in (yield [Leg(node, [command]) for node in self._nodes]):
            if isinstance(answer, Exception):
                raise answer
            replies += answer
        return replies

    def _legs(self, parts: Sequence[_Part]) -> tuple[list[Leg], list[list[_Part]]]:
        members: dict[Node, list[_Part]] = {}
        for part in parts:
            members.setdefault(part.ask or self._home(part.slot), []).append(part)
        legs = [
            Leg(node, [c for part in of for c in ((_ASKING, part.command) if part.ask else (part.command,))])
            for node, of in members.items()
        ]
        return legs, list(members.values())

    def _home(self, slot: int | None) -> Node:
        if slot is None:
            return (self._nodes or self._seeds)[0]
        found = self._table.get(slot)
        return (self._nodes or self._seeds)[0] if found is None else found

    def _sorted(
        self, legs: Sequence[Leg], members: Sequence[list[_Part]], answers: Sequence[Answer]
    ) -> tuple[list[_Part], set[Node], Exception | None]:
        """What has to be asked again, nodes that are away, and the reason to wait, if any."""
        again: list[_Part] = []
        away: set[Node] = set()
        reason: Exception | None = None
        for leg, parts, answer in zip(legs, members, answers, strict=True):
            if isinstance(answer, Exception):
                if isinstance(answer, TimeoutError):  # no time is left; the next request asks who serves its slots now
                    self._silent = frozenset({leg.node})
                if isinstance(answer, TimeoutError | ReplyError):
                    raise answer
                again += parts
                away.add(leg.node)
                reason = answer
                continue
            replies = iter(answer)
            for part in parts:
                if part.ask:
                    next(replies)
                part.ask, part.reply = None, next(replies)
                if isinstance(part.reply, ReplyError) and (verdict := self._moved(part, leg.node)):
                    again.append(part)
                    if verdict == "wait":
                        reason = part.reply
        return again, away, reason

    def _moved(self, part: _Part, node: Node) -> str:
        """Why a refused command is asked again (``""``: it is not), and what that tells about the slots."""
        code, *rest = str(part.reply).split(" ")
        if code in ("MOVED", "ASK") and len(rest) >= 2:
            target = _node(rest[1], node)
            if code == "ASK":
                part.ask = target
            else:
                self._table[int(rest[0])] = target
                if target not in self._nodes:
                    self._nodes = (*self._nodes, target)
            return "elsewhere"
        return "wait" if code in _PASSING else ""

    def _refresh(self, away: Collection[Node]) -> Steps[None]:
        """Learn the slots from the first node that answers."""
        error: Exception = ReplyError("CLUSTERDOWN no node of the cluster is known")
        known = dict.fromkeys((*self._nodes, *self._seeds))
        for node in sorted(known, key=lambda one: one in away):
            (answer,) = yield (Leg(node, [("CLUSTER", "SLOTS")]),)
            if isinstance(answer, Exception):
                error = answer
            elif isinstance(answer[0], ReplyError):
                raise answer[0]
            elif answer[0]:
                self._learn(answer[0], node)
                return
        raise error

    def _learn(self, ranges: Sequence[Any], asked: Node) -> None:
        table: dict[int, Node] = {}
        for first, last, master, *_ in ranges:
            host = (master[0] or b"").decode()
            node = (asked[0] if host in ("", "?") else host, master[1])
            table.update(dict.fromkeys(range(first, last + 1), node))
        self._table, self._nodes = table, tuple(dict.fromkeys(table.values()))
        self._silent = frozenset()


def split(index: int, command: Command) -> list[_Part]:
    """The parts of a command, each on keys of one slot."""
    name = command[0]
    if name in _ANYWHERE:
        return [_Part(index, command, None)]
    if name == "MGET":
        return [_Part(index, ("GET", key), _slot(key), (i,)) for i, key in enumerate(command[1:])]
    if name in _SCRIPTS:
        return _split_script(index, command)
    return [_Part(index, command, _slot(command[1]))]


def _split_script(index: int, command: Command) -> list[_Part]:
    """One call for each slot. The arguments are `command[2]` keys, common arguments, then one argument for each key."""
    name, script, count, *rest = command
    number = int(count)
    keys, common, own = rest[:number], rest[number : len(rest) - number], rest[len(rest) - number :]
    by_slot: dict[int, list[int]] = {}
    for i, key in enumerate(keys):
        by_slot.setdefault(_slot(key), []).append(i)
    return [
        _Part(
            index,
            (name, script, len(places), *(keys[i] for i in places), *common, *(own[i] for i in places)),
            slot,
            tuple(places),
        )
        for slot, places in by_slot.items()
    ]


def joined(commands: Sequence[Command], parts: Sequence[_Part]) -> list[Any]:
    """The replies to whole commands: values of an MGET in order, counts of a script added; an error wins."""
    replies: list[Any] = [None] * len(commands)
    for part in parts:
        name, so_far = commands[part.index][0], replies[part.index]
        if isinstance(so_far, ReplyError):
            continue
        if isinstance(part.reply, ReplyError) or (name != "MGET" and name not in _SCRIPTS):
            replies[part.index] = part.reply
        elif name == "MGET":
            if so_far is None:
                so_far = replies[part.index] = [None] * (len(commands[part.index]) - 1)
            so_far[part.places[0]] = part.reply
        else:
            replies[part.index] = (
                part.reply if so_far is None else [a + b for a, b in zip(so_far, part.reply, strict=True)]
            )
    return replies


def _slot(key: str | bytes | int) -> int:
    return key_slot(str(key) if isinstance(key, int) else key)


def _node(text: str, answered: Node) -> Node:
    host, _, port = text.rpartition(":")
    return host or answered[0], int(port)
