"""Slowly changing tables in the tier of closed minutes, on a session cluster: Kafka to Redis, read back.

The tests share one job, which begins with records in its topics, and run in their order. Values are counted from
everything that was sent.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from featuredsl.online.progress import parse_progress, read_commands
from featuredsl.online.store import OnlineStore
from featuredsl.reader import FeatureReader, Registry
from featuredsl.registry import apply
from featuredsl.settings import Settings
from featuredsl.times import MINUTE, SECOND
from jobs.flink.handle import JobHandle
from jobs.flink.heartbeats import beat, beaten
from jobs.flink.stream import start_stream
from jobs.flink.tuning import Tuning
from jobs.kafka import ensure_topics, producer, read_all
from tests.support import table_groups
from tests.support.stack import TestStack
from tests.support.table_oracle import BOUGHT, START, Record, Sent, bought, by_kind
from tests.support.wait import until

pytestmark = pytest.mark.timeout(600)

GROUPS = "bought,by_kind"
TOPICS = ("buys", "copies", "items", "makers")
CENTURY = -2_208_988_800_000_000  # 1900-01-01
USERS, KINDS = "abcd", ("book", "toy", "food")


@dataclass
class Running:
    """The job, and what it was sent."""

    settings: Settings
    registry: Registry
    sent: Sent = field(default_factory=Sent)
    jobs: list[JobHandle] = field(default_factory=list)

    @property
    def job(self) -> JobHandle:
        return self.jobs[-1]

    def start(self, parallelism: int, *, fresh: bool = False) -> None:
        self.jobs.append(start_stream(self.settings, GROUPS, Tuning(parallelism=parallelism), fresh=fresh))

    def send(self, **records: list[Record]) -> None:
        """Send records in turn to the two partitions of their topics, in the order that they are given."""
        out = producer(self.settings.require("kafka"))
        for topic, listed in records.items():
            for number, record in enumerate(listed):
                out.produce(self.settings.prefix + topic, json.dumps(record).encode(), partition=number % 2)
            getattr(self.sent, topic).extend(r for r in listed if "heartbeat" not in r)
        out.flush(30)

    def close(self, at: int, topics: tuple[str, ...] = TOPICS) -> None:
        """Heartbeats that close the minutes before a time."""
        time = START + at + 30 * SECOND
        for topic in topics:
            name = "ts" if topic in ("buys", "copies") else "since"
            self.send(**{topic: [{name: time, "heartbeat": True}] * 2})

    def publish(self, at: int, topics: tuple[str, ...] = TOPICS) -> None:
        """The same, and wait until they are published."""
        self.close(at, topics)
        self.job.wait_lag_zero()

    def counts(self, source: str) -> dict[str, int]:
        with OnlineStore(self.settings.redis, namespace=self.settings.prefix) as store:
            return dict(
                parse_progress([source], store.replies(read_commands(self.job.group_id, [source])))[source].counts
            )

    def read_all(self, tables: tuple[str, ...]) -> bool:
        """True when the job has seen every row that was sent."""
        return all(self.counts(table)["accepted"] == len(getattr(self.sent, table)) for table in tables)

    def marks(self) -> set[int]:
        with OnlineStore(self.settings.redis, namespace=self.settings.prefix) as store:
            meta = store.meta()
        groups = GROUPS.split(",")
        found = [time for g in groups for times in meta.closed_marks(g, meta.versions[g]).values() for time in times]
        return {time - START for time in found}

    def wrong(self, at: int) -> list[tuple[Any, ...]]:
        """What reads at the close of a minute give that is not the value as of it."""
        as_of = START + at
        asked = [("bought", u) for u in USERS] + [("by_kind", kind) for kind in KINDS]
        with OnlineStore(self.settings.redis, namespace=self.settings.prefix) as store:
            rows = FeatureReader(store, self.registry).get([(g, (k,)) for g, k in asked], as_of + 30 * SECOND)
        wrong: list[tuple[Any, ...]] = []
        for (group, key), row in zip(asked, rows, strict=True):
            right = bought(self.sent, key, as_of) if group == "bought" else by_kind(self.sent, key, as_of)
            wrong += [(key, name, value, row[name]) for name, value in right.items() if row[name].value != value]
        return wrong


def buy(at: int, u: str | None, x: int | None, n: int = 1) -> Record:
    return {"ts": START + at, "u": u, "x": x, "n": n}


def item(since: int, x: int | None, price: int | None, kind: str | None, *tags: str) -> Record:
    return {"since": START + since, "x": x, "price": price, "kind": kind, "tags": list(tags)}


FIRST = {
    "buys": [
        buy(9_999_999, "a", 1),
        buy(10_000_000, "a", 1, 10),
        buy(20_000_000, "a", 1, 100),
        buy(20_000_001, "a", 2),
        buy(20_000_002, "a", None),
        buy(20_000_003, "b", 1),
    ],
    "copies": [{"ts": START + 30_000_000 - i, "u": "b", "x": 1, "n": 2 - i, "id": "one"} for i in (0, 1)],
    "items": [
        item(20_000_000, 1, 7, "book", "new"),
        item(10_000_000, 1, 5, "book"),
        item(10_000_000, 1, 5, "toy"),
        item(20_000_000, 1, None, "zoo"),
        item(20_000_001 + MINUTE, 1, 1_000, "later"),
    ],
    "makers": [
        {"since": CENTURY, "kind": "toy", "country": "there"},
        {"since": START, "kind": "book", "country": "here"},
    ],
}


@pytest.fixture(scope="module")
def running(stack: TestStack) -> Iterator[Running]:
    settings = stack.need("kafka", "redis", "flink")
    apply(settings.registry, Path(table_groups.__file__), store_suffix="it")
    made = Running(settings, Registry.load(settings.registry))
    ensure_topics(settings.require("kafka"), [settings.prefix + topic for topic in TOPICS])
    made.send(**FIRST)
    made.close(MINUTE)
    made.start(parallelism=2)
    try:
        yield made
    finally:
        made.job.cancel()


def test_an_event_has_the_row_that_was_valid_at_its_time(running: Running) -> None:
    assert running.marks() == {MINUTE}
    as_of = START + MINUTE
    assert bought(running.sent, "a", as_of) == {
        "spend": 5 * 10 + 7 * 100,
        "books": 1,
        "unknown": 3,
        "kinds": ["book", "toy"],
        "last_tags": None,
        "visit": 12,
        "foreign": 1,
        "sold": 12,
    }
    assert (bought(running.sent, "b", as_of)["sold"], bought(running.sent, "b", as_of)["last_tags"]) == (14, ["new"])
    assert (by_kind(running.sent, "book", as_of), by_kind(running.sent, "toy", as_of)["n"]) == ({"n": 2, "made": 1}, 1)
    assert running.wrong(MINUTE) == []


def test_a_broken_row_is_a_dead_letter_and_a_row_without_a_key_too(running: Running) -> None:
    out = producer(running.settings.require("kafka"))
    for line in (b'{"x": 1, "since"', json.dumps(item(MINUTE, None, 1, "k")).encode()):
        out.produce(running.settings.prefix + "items", line, partition=0)
    out.flush(30)
    running.publish(2 * MINUTE)
    letters = read_all(running.settings.require("kafka"), f"{running.settings.prefix}items.dlq")
    assert [json.loads(letter.value or b"")["reason"] for letter in letters] == ["bad_json", "null_entity"]
    assert running.counts("items") == {"accepted": 5, "heartbeat": 4, "bad_json": 1, "null_entity": 1}
    assert running.wrong(2 * MINUTE) == []


def test_a_quiet_table_holds_minutes_open_until_heartbeats_come(running: Running) -> None:
    running.send(buys=[buy(150_000_000, "c", 1)])
    running.publish(4 * MINUTE, ("buys", "copies"))
    assert running.marks() == {2 * MINUTE}
    plans = [running.registry.groups[name] for name in GROUPS.split(",")]
    topics = [running.settings.prefix + name for name in beaten(plans, sources=False)]
    assert beat(running.settings.require("kafka"), topics, (START + 4 * MINUTE + 30 * SECOND) // 1000) == 4
    running.job.wait_lag_zero()
    assert running.marks() == {4 * MINUTE}
    assert running.wrong(4 * MINUTE) == []


def disordered(rng: random.Random, records: list[Record], name: str, seconds: int) -> list[Record]:
    return sorted(records, key=lambda record: int(record[name]) + rng.randrange(seconds * SECOND))


def random_rows(rng: random.Random, start: int, end: int) -> dict[str, list[Record]]:
    """Rows of both tables, many with the same time."""
    seconds = range(start // SECOND, end // SECOND)

    def since() -> int:
        return rng.choice(seconds) * SECOND

    made = [
        item(since(), rng.randrange(6), rng.choice([None, 1, 2]), rng.choice(KINDS), rng.choice("xyz"))
        for _ in range(60)
    ]
    makers = [
        {"since": START + since(), "kind": rng.choice(KINDS), "country": rng.choice(("here", "there"))}
        for _ in range(20)
    ]
    return {"items": disordered(rng, made, "since", 15), "makers": disordered(rng, makers, "since", 15)}


def random_events(rng: random.Random, start: int, end: int) -> dict[str, list[Record]]:
    """Events, some at the very times of rows; those of `buys` differ in time."""
    made = []
    for number, time in enumerate(rng.sample(range(start, end), 150)):
        at = time if number % 2 else time // SECOND * SECOND + number
        made.append(buy(at, rng.choice(USERS), rng.choice([None, *range(7)]), rng.randrange(9)))
    copies = [
        buy(time // SECOND * SECOND, rng.choice(USERS), rng.randrange(7), rng.randrange(5))
        | {"id": f"{start}-{time % 20}"}
        for time in rng.sample(range(start, end), 40)
    ]
    return {"buys": disordered(rng, made, "ts", 30), "copies": disordered(rng, copies, "ts", 30)}


def test_random_events_and_rows(running: Running) -> None:
    rng = random.Random(3)
    end = 4 * MINUTE
    for minutes in (7, 6):
        start, end = end + MINUTE, end + MINUTE + minutes * MINUTE
        running.send(**random_rows(rng, start, end))
        until(lambda: running.read_all(("items", "makers")), 60, "the rows of the tables")
        running.send(**random_events(rng, start, end))
        running.publish(end)
        assert running.marks() == {end}
        assert running.wrong(end) == []
    spends = {bought(running.sent, u, START + end)["spend"] for u in USERS}
    assert len(spends) == len(USERS)
    assert None not in spends
    assert running.job.exceptions() == []


@pytest.mark.slow
def test_a_job_that_goes_on_knows_the_rows_of_before(running: Running) -> None:
    (before,) = running.marks()
    running.job.cancel()
    running.start(parallelism=1)
    pairs = [(u, x) for u in USERS for x in range(6)]
    running.send(buys=[buy(before + MINUTE + i, u, x, 3) for i, (u, x) in enumerate(pairs)])
    running.publish(before + 2 * MINUTE)
    assert running.marks() == {before + 2 * MINUTE}
    assert running.wrong(before + 2 * MINUTE) == []


assert set(BOUGHT) == {f.name for f in table_groups.Bought.plan.features} - {"live"}  # type: ignore[attr-defined]


@pytest.mark.slow
def test_readers_move_when_a_new_job_has_closed_what_the_old_one_had(running: Running) -> None:
    (before,) = running.marks()
    running.start(parallelism=2, fresh=True)
    assert running.marks() == {before}
    assert running.wrong(before) == []
