"""What the statements of a feature job share: the tables' text, the key of a row, which rows count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from featuredsl.compilers.scalar import FLINK, floor_div
from featuredsl.online.layout import StoreLayout
from featuredsl.plan import GroupPlan
from featuredsl.sources import EventSource


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """Where a feature job reads and writes. `refills`: a source's topic to one beside it that is read too, both with
    the prefix."""

    kafka: str
    redis: str
    prefix: str
    group_id: str
    refills: Mapping[str, str] = field(default_factory=dict)

    topic_column: ClassVar[str] = "`_topic` STRING METADATA FROM 'topic' VIRTUAL"

    def is_refilled(self, topic: str) -> bool:
        """True for a topic (without the prefix) that has another one beside it."""
        return self.prefix + topic in self.refills

    def own_records(self, topic: str) -> str:
        """AND …: those of the topic itself; what was landed is a dead letter already where it is one."""
        return f" AND `_topic` = {FLINK.text(self.prefix + topic)}" if self.is_refilled(topic) else ""

    def topics_of(self, topic: str) -> str:
        """What the source of a topic (without the prefix) reads, as Flink's list."""
        full = self.prefix + topic
        return f"{full};{self.refills[full]}" if full in self.refills else full


@dataclass(frozen=True, slots=True)
class GroupTarget:
    """A group and the layout that its job fills."""

    plan: GroupPlan
    layout: StoreLayout


def table(name: str, columns: Iterable[str], options: Iterable[tuple[str, str]]) -> str:
    """CREATE TABLE."""
    body = ",\n  ".join(columns)
    listed = ",\n  ".join(f"{FLINK.text(key)} = {FLINK.text(value)}" for key, value in options)
    return f"CREATE TABLE {FLINK.ident(name)} (\n  {body}\n) WITH (\n  {listed}\n)"


def table_of(plan: GroupPlan, tier: str) -> str:
    """The name of the sink's table of a tier."""
    return f"{plan.name}__{tier.replace('/', '__').replace('@', '__')}"


def event_columns(source: EventSource) -> list[str]:
    """The columns of an event with its arrival where it has one, as names in SQL; its own time is `_ts` beside them."""
    arrival = [source.arrival_time] if source.arrival_time else []
    return [FLINK.ident(name) for name in (*source.column_names, *arrival)]


def null_keys(source: EventSource, plans: Iterable[GroupPlan]) -> list[str]:
    """For each of the groups, true for a record of a stream without a part of the entity. Parts that a joined table
    adds are not looked at: the record is whole without them."""
    names = [[name for name, _ in plan.entity if source.dtype(name) is not None] for plan in plans]
    return list(dict.fromkeys(f"({any_null(parts) or 'FALSE'})" for parts in names))


def any_null(names: Iterable[str]) -> str:
    """True for a row without one of these columns."""
    return " OR ".join(f"{FLINK.ident(name)} IS NULL" for name in names)


def key_is_null(plan: GroupPlan) -> str:
    """True for a row that lacks a part of the entity."""
    return any_null(name for name, _ in plan.entity)


def usable(plan: GroupPlan) -> str:
    """True for the rows that count."""
    return f"`_reject` IS NULL AND `_heartbeat` IS NOT TRUE AND `_ahead` IS NOT TRUE AND NOT ({key_is_null(plan)})"


def key_of(plan: GroupPlan) -> str:
    """The text of the entity's key."""
    return f"fdsl_key({', '.join(FLINK.ident(name) for name, _ in plan.entity)})"


def tile_of(hop_us: int) -> str:
    """The index of the tile of a row."""
    return floor_div("`_ts`", str(hop_us), FLINK)


def rowtime_of(columns: Iterable[str]) -> str:
    """The time attribute that a function adds to columns, which are names in SQL; Flink numbers a name that is there
    already."""
    return "`rowtime0`" if "`rowtime`" in columns else "`rowtime`"


def uid(kind: str, name: str) -> str:
    """Under which a function keeps its state: letters and digits; what else is in the name, by its code."""
    return f"{kind}-" + "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in name)
