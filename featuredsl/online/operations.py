"""What can be asked of the online store in Redis, as steps (`exchange.py`) that either store runs over its own wire.

A read of any number of (group, entity) pairs is one round trip (to each node): one MGET of the rings and one HMGET per
hash go out together.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1
from importlib import resources
from typing import Any, Final

from featuredsl.errors import DependencyError
from featuredsl.online.address import parse_address
from featuredsl.online.cluster import ClusterNodes
from featuredsl.online.exchange import TROUBLE, Command, OneNode, ReplyError, Steps
from featuredsl.online.layout import StoreLayout
from featuredsl.online.meta import MetaKeys, StoreMeta, mark_field, outdated, parse_meta, parse_read
from featuredsl.online.request import EntityRef, EntityState, ReadRequest


class Operations:
    """What can be asked of a store, as steps; knows the address and the namespace, no connection.

    Raises InputError for a URL that is no address of Redis.
    """

    def __init__(self, url: str, namespace: str) -> None:
        self.address = parse_address(url)
        self.keys = MetaKeys(namespace)
        self._nodes = ClusterNodes(self.address.nodes) if self.address.cluster else OneNode(self.address.nodes[0])

    def request(self, commands: Sequence[Command]) -> Steps[list[Any]]:
        """Replies, errors among them as ReplyError. Raises DependencyError when Redis does not answer."""
        return (yield from self._answered(self._nodes.request(commands)))

    def everywhere(self, *command: str | bytes | int) -> Steps[list[Any]]:
        """The reply of every node to one command. Raises DependencyError for an error, too."""
        replies = yield from self._answered(self._nodes.everywhere(command))
        return [self.checked(reply, str(command[0])) for reply in replies]

    def _answered(self, steps: Steps[list[Any]]) -> Steps[list[Any]]:
        try:
            return (yield from steps)
        except ReplyError as error:
            raise self._refused(error) from error
        except TROUBLE as error:
            reason = str(error) or type(error).__name__
            raise DependencyError(
                f"Redis at {self.address.text} does not answer ({reason}); start it with `featuredsl up` or check "
                "the address"
            ) from error

    def command(self, *command: str | bytes | int) -> Steps[Any]:
        """The reply to one command. Raises DependencyError for an error, too."""
        (reply,) = yield from self.request([command])
        return self.checked(reply)

    def checked(self, reply: Any, command: str = "") -> Any:
        """The reply, unless it is an error: DependencyError, which names the command where one is given."""
        if isinstance(reply, ReplyError):
            raise self._refused(reply, command) from reply
        return reply

    def _refused(self, error: ReplyError, command: str = "") -> DependencyError:
        return DependencyError(f"Redis at {self.address.text} refused{command and f' {command}'}: {error}")

    def read(self, entities: Sequence[EntityRef]) -> Steps[list[EntityState]]:
        """See `OnlineStore.read`."""
        if not entities:
            return []
        request = ReadRequest(entities)
        return request.parse((yield from self.request(request.commands)))

    def current(self, groups: Sequence[str]) -> Steps[dict[str, str]]:
        """See `OnlineStore.current`."""
        return (yield from self._versions(self.keys.current, groups))

    def filling(self, groups: Sequence[str]) -> Steps[dict[str, str]]:
        """See `OnlineStore.filling`."""
        return (yield from self._versions(self.keys.filling, groups))

    def set_current(self, group: str, version: str) -> Steps[None]:
        """See `OnlineStore.set_current`."""
        before = (yield from self.current([group])).get(group)
        commands: list[Command] = [("HSET", self.keys.current, group, version), ("HDEL", self.keys.filling, group)]
        if before not in (None, version):
            marks = (yield from self.meta()).marks
            gone = outdated(marks, group, [version, before])
            commands += [("HDEL", self.keys.marks, *gone)] if gone else []
        for reply in (yield from self.request(commands)):
            self.checked(reply)

    def _versions(self, key: str, groups: Sequence[str]) -> Steps[dict[str, str]]:
        if not groups:
            return {}
        reply = yield from self.command("HMGET", key, *groups)
        return {g: version.decode() for g, version in zip(groups, reply, strict=True) if version is not None}

    def meta(self) -> Steps[StoreMeta]:
        """See `OnlineStore.meta`."""
        return self.parsed_meta((yield from self.request(self.keys.commands)))

    def parsed_meta(self, replies: Sequence[Any]) -> StoreMeta:
        """The replies to the commands of `keys`."""
        return parse_meta([self.checked(reply) for reply in replies])

    def parsed_read(self, fields: Sequence[str], closed: Sequence[str], replies: Sequence[Any]) -> StoreMeta:
        """The replies to the commands of `keys.read_commands`."""
        return parse_read(fields, closed, [self.checked(reply) for reply in replies])

    def mark_batch(self, layout: StoreLayout, tier: str, as_of_us: int) -> Steps[None]:
        """See `OnlineStore.mark_batch`."""
        name = mark_field(layout.group, layout.version, tier)
        yield from self._script("mark", [self.keys.marks], [name, as_of_us])

    def snapshots(self, keys: Sequence[str], args: Sequence[str | bytes | int]) -> Steps[list[int]]:
        """Counts of one call of the script that writes batch snapshots."""
        return (yield from self._script("snapshot", keys, args))

    def _script(self, name: str, keys: Sequence[str], args: Sequence[str | bytes | int]) -> Steps[list[int]]:
        """The counts that a script gives; it is sent where the server does not know it."""
        text, sha = _SCRIPTS[name]
        (reply,) = yield from self.request([("EVALSHA", sha, len(keys), *keys, *args)])
        if isinstance(reply, ReplyError) and reply.code == "NOSCRIPT":
            (reply,) = yield from self.request([("EVAL", text, len(keys), *keys, *args)])
        return [int(count) for count in self.checked(reply)]


def _script(name: str) -> tuple[str, str]:
    """The text of a script and its SHA-1."""
    text = resources.files("featuredsl.online").joinpath(f"lua/{name}.lua").read_text("utf-8")
    return text, sha1(text.encode(), usedforsecurity=False).hexdigest()


_SCRIPTS: Final = {name: _script(name) for name in ("mark", "snapshot")}
